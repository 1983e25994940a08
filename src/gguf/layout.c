/* Where the tensors of one file lie in its data section: the sizes that only their neighbours tell,
 * and what is odd about the whole. Knows offsets and sizes, and touches no byte of the file.
 *
 * Nothing here refuses a file: a tensor is read where the table says, as far as the file goes. */
#include "gguf/parser.h"

/* Ids of types collide between programs, so a size from our table is a claim. Where tensors of a
 * type never end where the next begins, and one other size of a block, not above that of float32,
 * explains them all, that size is the truth and ours is not. */
typedef struct {
    bool is_confirmed; /* a tensor of this type ends where the next begins, but for padding */
    bool is_seen;
    uint64_t least, most; /* bytes of a block that explain all that was seen */
} type_evidence;

enum { N_EVIDENCE = 256 };

typedef struct {
    pn_parser *p;
    pn_gguf_tables *tables;
    const pn_gguf_shard *shard;
    uint32_t *order; /* the tensors by offset */
    uint64_t n;
    uint64_t *room; /* from each, in that order, to the next that begins later */
    type_evidence types[N_EVIDENCE];
} layout;

static const uint64_t no_next = UINT64_MAX;

static pn_tensor_entry *tensor_at(const layout *l, uint64_t i)
{
    return &l->tables->tensors.items[l->order[i]];
}

/* By offset; where that is equal the larger first, so that equal ranges are neighbours. */
static int compare(gconstpointer a, gconstpointer b, gpointer user)
{
    const layout *l = user;
    uint32_t ia = *(const uint32_t *)a, ib = *(const uint32_t *)b;
    const pn_tensor_entry *ta = &l->tables->tensors.items[ia];
    const pn_tensor_entry *tb = &l->tables->tensors.items[ib];

    if (ta->rel_offset != tb->rel_offset)
        return ta->rel_offset < tb->rel_offset ? -1 : 1;
    if (ta->nbytes != tb->nbytes)
        return ta->nbytes > tb->nbytes ? -1 : 1;
    return ia < ib ? -1 : ia > ib;
}

/* In nearly all files they are in order already. */
static void sort(layout *l)
{
    uint64_t i = 1;
    while (i < l->n && compare(&l->order[i - 1], &l->order[i], l) < 0)
        i++;
    if (i < l->n)
        g_qsort_with_data(l->order, (gint)l->n, sizeof *l->order, compare, l);
}

static void measure_room(layout *l)
{
    for (uint64_t i = l->n; i-- > 0;) {
        uint64_t here = tensor_at(l, i)->rel_offset;
        if (i + 1 == l->n)
            l->room[i] = no_next;
        else if (tensor_at(l, i + 1)->rel_offset == here)
            l->room[i] = l->room[i + 1];
        else
            l->room[i] = tensor_at(l, i + 1)->rel_offset - here;
    }
}

/* The evidence for the type of tensor i; NULL where there is nothing to doubt: plain numbers. */
static type_evidence *evidence_of(layout *l, uint64_t i, const pn_quant_traits **traits)
{
    *traits = pn_tensor_traits(l->tables, tensor_at(l, i));
    if (*traits == NULL || (*traits)->block_elems == 1 || tensor_at(l, i)->nbytes == 0 ||
        (uint32_t)(*traits)->id >= N_EVIDENCE)
        return NULL;
    return &l->types[(*traits)->id];
}

static void gather_evidence(layout *l)
{
    const pn_quant_traits *traits;

    for (uint64_t i = 0; i < l->n; i++) {
        type_evidence *e = evidence_of(l, i, &traits);
        uint64_t room = l->room[i], nbytes = tensor_at(l, i)->nbytes;
        if (e == NULL || room == no_next)
            continue;
        if (room >= nbytes && room - nbytes < l->shard->alignment) {
            e->is_confirmed = true;
            continue;
        }
        uint64_t n_blocks = nbytes / traits->block_bytes;
        uint64_t least_room = room - MIN(l->shard->alignment - 1, room);
        uint64_t least = least_room / n_blocks + (least_room % n_blocks != 0);
        uint64_t most = MIN(room / n_blocks, traits->block_elems * sizeof(float));
        e->least = e->is_seen ? MAX(e->least, least) : MAX(least, 1);
        e->most = e->is_seen ? MIN(e->most, most) : most;
        e->is_seen = true;
    }
}

/* Tensors of a type that our table gets wrong, and those of blocks that the next tensor cuts into,
 * lose their size. */
static bool doubt_sizes(layout *l)
{
    const pn_quant_traits *traits;

    for (uint64_t i = 0; i < l->n; i++) {
        const type_evidence *e = evidence_of(l, i, &traits);
        if (e == NULL)
            continue;
        pn_tensor_entry *t = tensor_at(l, i);
        bool is_other_type = e->is_seen && !e->is_confirmed && e->least <= e->most;
        if (!is_other_type && l->room[i] >= t->nbytes)
            continue;
        t->name.tag |= PN_TENSOR_UNSIZED;
        if (!pn_problem_add(l->tables, PN_PROBLEM_SIZE_CONTRADICTED, l->order[i], t->nbytes))
            return false;
    }
    return true;
}

/* An unsized tensor has what there is up to the next one, or to the end of the file. */
static void size_unsized(layout *l)
{
    const uint64_t too_large = UINT64_C(1) << 62;
    uint64_t data_bytes =
        l->shard->size > l->shard->data_start ? l->shard->size - l->shard->data_start : 0;

    for (uint64_t i = 0; i < l->n; i++) {
        pn_tensor_entry *t = tensor_at(l, i);
        if ((t->name.tag & PN_TENSOR_UNSIZED) == 0)
            continue;
        if (l->room[i] < too_large)
            t->nbytes = l->room[i];
        else
            t->nbytes = t->rel_offset < data_bytes ? data_bytes - t->rel_offset : 0;
    }
}

/* Whether all of a tensor's bytes are in the file. */
static bool is_whole(const layout *l, const pn_tensor_entry *t)
{
    uint64_t end;
    return t->nbytes == 0 ||
           (!__builtin_add_overflow(l->shard->data_start, t->rel_offset, &end) &&
            !__builtin_add_overflow(end, t->nbytes, &end) && end <= l->shard->size);
}

/* Notes tensors that do not follow each other as they should. end_out: where the last ends. */
static bool check_order(layout *l, uint64_t *end_out)
{
    uint64_t end = 0, owner = 0; /* where the furthest tensor so far ends, and which it is */
    const pn_tensor_entry *before = NULL;
    bool ok = true;

    for (uint64_t i = 0; i < l->n && ok; i++) {
        const pn_tensor_entry *t = tensor_at(l, i);
        uint64_t start = t->rel_offset;
        if (start % l->shard->alignment != 0)
            ok = pn_problem_add(l->tables, PN_PROBLEM_UNALIGNED, l->order[i], 0);
        if (!is_whole(l, t))
            ok = ok && pn_problem_add(l->tables, PN_PROBLEM_CUT, l->order[i], 0);
        if (t->nbytes == 0)
            continue;

        bool is_shared =
            before != NULL && before->rel_offset == start && before->nbytes == t->nbytes;
        before = t;
        if (is_shared)
            continue;
        if (start < end)
            ok = ok && pn_problem_add(l->tables, PN_PROBLEM_OVERLAP, l->order[i], owner);
        else if (start - end >= l->shard->alignment && is_whole(l, t))
            ok = ok && pn_problem_add(l->tables, PN_PROBLEM_GAP, l->order[i], start - end);

        uint64_t t_end = start > UINT64_MAX - t->nbytes ? UINT64_MAX : start + t->nbytes;
        if (t_end > end) {
            end = t_end;
            owner = l->order[i];
        }
    }
    *end_out = end;
    return ok;
}

/* Notes bytes after the last tensor and its padding. */
static bool check_end(layout *l, uint64_t rel_end)
{
    uint64_t mask = l->shard->alignment - 1;
    uint64_t end;

    if (__builtin_add_overflow(l->shard->data_start, rel_end, &end) || end > UINT64_MAX - mask)
        return true;
    end = (end + mask) & ~mask;
    return l->shard->size <= end ||
           pn_problem_add(l->tables, PN_PROBLEM_TRAILING, l->p->shard, l->shard->size - end);
}

static bool check(layout *l)
{
    uint64_t end;

    sort(l);
    measure_room(l);
    gather_evidence(l);
    if (!doubt_sizes(l))
        return false;
    size_unsized(l);
    sort(l); /* sizes have changed */
    return check_order(l, &end) && check_end(l, end);
}

bool pn_layout_check(pn_parser *p, uint64_t first, uint64_t last)
{
    layout l = {
        .p = p,
        .tables = p->tables,
        .shard = &p->tables->shards[p->shard],
        .n = last - first,
    };
    l.order = g_try_new(uint32_t, l.n);
    l.room = g_try_new(uint64_t, l.n);
    bool ok = l.n == 0 || (l.order != NULL && l.room != NULL);

    for (uint64_t i = 0; i < l.n && ok; i++)
        l.order[i] = (uint32_t)(first + i);
    ok = ok && check(&l);
    g_free(l.order);
    g_free(l.room);
    return ok || pn_refuse_memory(p);
}
