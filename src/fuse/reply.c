/* Answering a read: pieces of views put together to what the kernel asked for.
 *
 * A long piece that stands in the mapping goes to the kernel from there; short ones and those that
 * have to be made go through a buffer. A reply is never short but at the end of the
 * file, for the kernel takes a short one for the end, and cuts the file: what cannot be had whole
 * is EIO. The exception is a read from a file opened with direct_io, since part of it is lost for
 * good: that ends with the last byte that can be had.
 *
 * A source that is cut inside a page gives zeros up to the page's end. So before the reply, the
 * size of the source is compared with what each piece depends on. One that was changed may be cut
 * and made whole again while it is read: then the reply is a copy, and was made between two looks
 * at the sources that saw the same. One that holds another model by now gives nothing. */
#include "fuse/reply.h"

#include "fuse/guard.h"

#include <errno.h>
#include <string.h>

enum {
    MIN_DIRECT = 4096, /* shorter pieces are copied: one segment less for the kernel to walk */
    PAGE = 4096,       /* or a part of one */
    MAX_TRIES = 4,     /* to read a source that is being written */
};

/* One call through the gate. */
typedef struct {
    const reply *r;
    size_t len;
    bool copy; /* also a direct piece */
    view_piece piece;
} step;

/* Brings it into memory. A page that has to be waited for in the middle of a reply would keep the
 * kernel from unmounting, and one that cannot be had would spoil the reply. */
static void touch(const volatile uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i += PAGE)
        (void)bytes[i];
    (void)bytes[len - 1];
}

static int step_run(void *arg)
{
    step *st = arg;
    const reply *r = st->r;
    void *room = r->buffer + r->buffered;
    int error = tree_read(r->s->tree, r->ino, r->offset + r->filled, room, st->len,
                          &r->thread->scratch, &st->piece);
    view_piece *piece = &st->piece;
    if (error != 0 || piece->direct == NULL)
        return error;
    if (st->copy || piece->len < MIN_DIRECT) {
        memcpy(room, piece->direct, piece->len);
        piece->direct = NULL;
    } else if (r->is_due) {
        touch(piece->direct, piece->len);
    }
    return 0;
}

static claim_state state_of(const reply *r, const claim *c)
{
    if (c->shard >= r->s->sources->n)
        return CLAIM_LOST;
    const source_file *source = &r->s->sources->files[c->shard];
    if (source_compare(source) != SOURCE_CHANGED)
        return CLAIM_HOLDS;
    return c->source_end <= source_size_now(source) ? CLAIM_UNSURE : CLAIM_LOST;
}

/* The worst of all claims. */
static claim_state claims_state(const reply *r)
{
    claim_state worst = r->dropped;
    for (unsigned i = 0; i < r->n_claims && worst != CLAIM_LOST; i++)
        worst = MAX(worst, state_of(r, &r->claims[i]));
    return worst;
}

typedef struct {
    const server *s;
    unsigned shard;
    bool holds;
} header_check;

static int header_check_run(void *arg)
{
    header_check *check = arg;
    const server *s = check->s;
    check->holds = pn_gguf_shard_holds(view_model_gguf(s->model), check->shard,
                                       source_size_now(&s->sources->files[check->shard]));
    return 0;
}

/* Whether a source that was changed is the same model still, so that things stand where they did.
 * The last verdict is kept, with the stamp of the file it is on. */
static bool is_same_model(server *s, unsigned shard)
{
    enum { HOLDS = 1 }; /* the lowest bit of a verdict */
    const source_file *source = &s->sources->files[shard];
    if (source_compare(source) != SOURCE_CHANGED)
        return true;
    uint64_t stamp = source_file_stamp(source) | HOLDS;
    uint64_t verdict = atomic_load(&s->verdicts[shard]);
    if ((verdict | HOLDS) == stamp)
        return (verdict & HOLDS) != 0;
    header_check check = {s, shard, false};
    if (guard_run(header_check_run, &check) != 0)
        return false;
    if ((source_file_stamp(source) | HOLDS) == stamp)
        atomic_store(&s->verdicts[shard], check.holds ? stamp : stamp & ~(uint64_t)HOLDS);
    return check.holds;
}

static int add_claim(reply *r, const view_piece *piece)
{
    claim *last = r->n_claims > 0 ? &r->claims[r->n_claims - 1] : NULL;
    if (piece->source_end == 0)
        return 0;
    if (r->copies && piece->shard < r->s->sources->n && !is_same_model(r->s, piece->shard))
        return EIO;
    if (last != NULL && last->shard == piece->shard) {
        last->source_end = MAX(last->source_end, piece->source_end);
        return 0;
    }
    if (r->n_claims == REPLY_CLAIMS) {
        r->dropped = claims_state(r);
        r->has_dropped = true;
        if (r->dropped == CLAIM_LOST)
            return EIO;
        r->n_claims = 0;
    }
    r->claims[r->n_claims++] = (claim){r->filled, piece->shard, piece->source_end};
    return 0;
}

static void add_segment(reply *r, const view_piece *piece)
{
    void *data = piece->direct != NULL ? (void *)piece->direct : r->buffer + r->buffered;
    struct iovec *last = r->n_segments > 0 ? &r->segments[r->n_segments - 1] : NULL;
    if (last != NULL && (uint8_t *)last->iov_base + last->iov_len == (uint8_t *)data)
        last->iov_len += piece->len;
    else
        r->segments[r->n_segments++] = (struct iovec){data, piece->len};
    if (piece->direct == NULL)
        r->buffered += piece->len;
    r->filled += piece->len;
}

/* Puts together up to len bytes; less only at the end of the file. An errno when a byte cannot be
 * had; what is before it stands in the reply. */
static int fill(reply *r, size_t len)
{
    r->filled = r->buffered = 0;
    r->n_segments = 0;
    r->n_claims = 0;
    r->dropped = CLAIM_HOLDS;
    r->has_dropped = false;
    while (r->filled < len) {
        bool copy = r->copies || r->n_segments >= REPLY_SEGMENTS - 2;
        step st = {.r = r, .len = len - r->filled, .copy = copy};
        int error = guard_run(step_run, &st);
        if (error == 0 && st.piece.len > st.len)
            error = EIO;
        if (error == 0)
            error = add_claim(r, &st.piece);
        if (error != 0)
            return error;
        if (st.piece.len == 0)
            return 0;
        add_segment(r, &st.piece);
    }
    return 0;
}

/* Fills from sources that do not stand still. If they never do, as while one is downloaded, their
 * size has to do. */
static int fill_settled(reply *r, size_t len)
{
    r->copies = true;
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        uint64_t stamp = source_stamp(r->s->sources);
        int error = fill(r, len);
        if (error != 0)
            return error;
        if (claims_state(r) == CLAIM_LOST)
            return EIO;
        if (source_stamp(r->s->sources) == stamp)
            break;
    }
    return 0;
}

/* As fill, with bytes that are the source's. */
int reply_fill(reply *r, size_t len)
{
    r->copies = false;
    r->is_due = true;
    if (!atomic_load(&r->s->is_changed)) {
        int error = fill(r, len);
        claim_state state = claims_state(r);
        if (error != 0 || state == CLAIM_HOLDS)
            return error;
        atomic_store(&r->s->is_changed, true);
    }
    return fill_settled(r, len);
}

static bool fill_exactly(reply *r, size_t len)
{
    return reply_fill(r, len) == 0 && r->filled == len;
}

/* The most bytes that can be had of a file that lost some, up to len. It is found by trying, since
 * a view says of a whole piece what it depends on, not of each byte. */
static void fill_what_is_there(reply *r, size_t len)
{
    size_t good = 0, bad = len + 1;
    while (bad - good > 1) {
        size_t middle = good + (bad - good) / 2;
        if (fill_exactly(r, middle))
            good = middle;
        else
            bad = middle;
    }
    if (!fill_exactly(r, good))
        r->filled = 0;
}

int reply_fill_some(reply *r, size_t len)
{
    int error = reply_fill(r, len);
    if (error == 0)
        return 0;
    if (claims_state(r) != CLAIM_HOLDS || source_is_shorter(r->s->sources))
        fill_what_is_there(r, len);
    return r->filled > 0 ? 0 : EIO;
}

int reply_prepare(reply *r, size_t len)
{
    r->copies = false;
    r->is_due = false;
    return fill(r, len);
}

bool reply_holds(const reply *r)
{
    if (atomic_load(&r->s->is_changed) || r->has_dropped)
        return false;
    bool all_seen = r->n_claims > 0;
    for (unsigned i = 0; i < r->n_claims && all_seen; i++) {
        source_change change = source_compare(&r->s->sources->files[r->claims[i].shard]);
        all_seen = change == SOURCE_SAME || change == SOURCE_GONE;
    }
    return all_seen;
}

void reply_send(const reply *r, fuse_req_t req)
{
    if (r->n_segments == 1)
        fuse_reply_buf(req, r->segments[0].iov_base, r->segments[0].iov_len);
    else
        fuse_reply_iov(req, r->segments, r->n_segments);
}
