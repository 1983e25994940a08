/* A reader that goes through a file has a part in hand while the next one could be made: the time
 * in which it takes its pages, and in which the kernel wakes it, is free for that. Then most of a
 * read is the copy to the kernel. What stands in the mapping is not made, but only brought to the
 * processor's caches; where the kernel itself reads ahead there is no time for that.
 *
 * One range of one file, made by the thread that will be asked for it: with several at work there
 * is no free time. Each byte is given once, and soon, and if the source has not changed.
 *
 * The kernel asks for so many pages at most. What a program reads into memory that does not begin
 * with a page it asks for in two, a long part and the few bytes that are left: both are in the
 * range then. */
#include "fuse/ahead.h"

#include "fuse/loop.h"

#include <stdlib.h>

enum {
    CACHE_LINE = 64,
    MIN_SIZE = 32 << 10, /* of a read, to be worth it */
    MAX_AGE = 100000,    /* µs: a source may be written through a mapping, and nobody told */
};

struct ahead {
    atomic_bool is_taken; /* by the thread that looks at what follows */
    uint64_t ino, end;    /* the last read, where it ended, … */
    size_t size;          /* … and how much it asked for */
    uint64_t from;        /* what is made of that file begins here, … */
    size_t left;          /* … is this long, 0: nothing is, … */
    const uint8_t *at;    /* … stands here, … */
    bool has_end;         /* … and ends with the file */
    int64_t made_at;
    uint8_t *buffer; /* of the server's, once there was something to make */
    reply made;
};

ahead *ahead_new(void)
{
    return calloc(1, sizeof(ahead));
}

void ahead_free(ahead *a)
{
    free(a);
}

static bool take(ahead *a)
{
    return !atomic_exchange_explicit(&a->is_taken, true, memory_order_acquire);
}

static void give(ahead *a)
{
    atomic_store_explicit(&a->is_taken, false, memory_order_release);
}

/* Whether all that is asked for is made, and still what the source says. */
static bool has(const ahead *a, uint64_t ino, uint64_t offset, size_t size)
{
    return a->left > 0 && a->ino == ino && a->from == offset && (size <= a->left || a->has_end) &&
           g_get_monotonic_time() - a->made_at <= MAX_AGE && reply_holds(&a->made);
}

bool ahead_answer(ahead *a, fuse_req_t req, uint64_t ino, uint64_t offset, size_t size)
{
    if (!take(a))
        return false;
    bool answers = has(a, ino, offset, size);
    if (answers) {
        size_t n = MIN(size, a->left);
        fuse_reply_buf(req, (const char *)a->at, n);
        a->at += n;
        a->from += n;
        a->left -= n;
    }
    give(a);
    return answers;
}

/* Touches nothing: what is not in memory stays where it is. */
static void fetch(const struct iovec *segment)
{
    for (size_t i = 0; i < segment->iov_len; i += CACHE_LINE)
        __builtin_prefetch((const uint8_t *)segment->iov_base + i);
}

static void make(ahead *a, server *s, server_thread *thread, size_t size)
{
    if (a->buffer == NULL)
        a->buffer = buffers_take(&s->buffers);
    if (a->buffer == NULL)
        return;
    reply *r = &a->made;
    r->s = s;
    r->thread = thread;
    r->buffer = a->buffer;
    r->ino = a->ino;
    r->offset = a->from = a->end;
    a->made_at = g_get_monotonic_time();
    if (reply_prepare(r, size) != 0)
        return;
    if (r->buffered < r->filled) {
        for (int i = 0; i < r->n_segments && s->options.cache == CACHE_NEVER; i++)
            fetch(&r->segments[i]);
        return;
    }
    a->at = a->buffer;
    a->left = r->filled;
    a->has_end = r->filled < size;
}

/* Takes note of a read; what is to be made after it, 0: nothing. */
static size_t follow(ahead *a, uint64_t ino, uint64_t offset, size_t size)
{
    bool in_order = a->ino == ino && a->end == offset;
    if (!in_order && size < MIN_SIZE)
        return 0;
    size_t before = a->size;
    a->ino = ino;
    a->end = offset + size;
    a->size = size;
    if (in_order && a->from == a->end && a->left > 0)
        return 0;
    a->left = 0;
    if (!in_order || size < MIN_SIZE)
        return 0;
    return MIN(before < MIN_SIZE ? before + size : size, (size_t)SERVER_BUFFER);
}

void ahead_go_on(ahead *a, server *s, server_thread *thread, uint64_t ino, uint64_t offset,
                 size_t size)
{
    if (!take(a))
        return;
    size_t n = follow(a, ino, offset, size);
    if (n > 0 && loop_is_single(s->loop)) {
        loop_work_ahead(s->loop, true);
        make(a, s, thread, n);
        loop_work_ahead(s->loop, false);
    }
    give(a);
}
