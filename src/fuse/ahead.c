/* A reader that goes through a file has a part in hand while the next one could be made: the time
 * in which it takes its pages, and in which the kernel wakes it, is free for that. Then most of a
 * read is the copy to the kernel. What stands in the mapping is not made, so there is nothing to do
 * for it.
 *
 * One part of one file, made by the thread that will be asked for it: with several at work there is
 * no free time. It is used once, and soon, and if the source has not changed. */
#include "fuse/ahead.h"

#include "fuse/loop.h"

#include <stdlib.h>

enum {
    MIN_SIZE = 32 << 10, /* of a read, to be worth it */
    MAX_AGE = 100000,    /* µs: a source may be written through a mapping, and nobody told */
};

struct ahead {
    atomic_bool is_taken; /* by the thread that looks at what follows */
    uint64_t ino, end;    /* the last read, and where it ended, … */
    size_t asked;         /* … from where this much is made; 0: nothing */
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

bool ahead_answer(ahead *a, fuse_req_t req, uint64_t ino, uint64_t offset, size_t size)
{
    if (size < MIN_SIZE || !take(a))
        return false;
    bool answers = a->asked == size && a->ino == ino && a->end == offset &&
                   g_get_monotonic_time() - a->made_at <= MAX_AGE && reply_holds(&a->made);
    if (answers)
        reply_send(&a->made, req);
    a->asked = 0;
    give(a);
    return answers;
}

static bool make(ahead *a, server *s, server_thread *thread, size_t size)
{
    if (a->buffer == NULL)
        a->buffer = buffers_take(&s->buffers);
    if (a->buffer == NULL)
        return false;
    reply *r = &a->made;
    r->s = s;
    r->thread = thread;
    r->buffer = a->buffer;
    r->ino = a->ino;
    r->offset = a->end;
    a->made_at = g_get_monotonic_time();
    return reply_prepare(r, size) == 0 && r->filled > 0 && r->buffered == r->filled;
}

void ahead_go_on(ahead *a, server *s, server_thread *thread, uint64_t ino, uint64_t offset,
                 size_t size)
{
    if (size < MIN_SIZE || !take(a))
        return;
    bool in_order = a->ino == ino && a->end == offset;
    a->ino = ino;
    a->end = offset + size;
    a->asked = 0;
    if (in_order && loop_is_single(s->loop)) {
        loop_work_ahead(s->loop, true);
        if (make(a, s, thread, size))
            a->asked = size;
        loop_work_ahead(s->loop, false);
    }
    give(a);
}
