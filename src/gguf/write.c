/* The model as one GGUF file (write.h): first the plan, then the steps that make its header. Knows
 * how a header is written, and nothing of who reads it. */
#include "gguf/write.h"

#include "gguf/reader.h"

enum {
    STEP_BYTES = 16 * 1024,
    COUNTS_BYTES = 24, /* magic, version, counts */
    STRING_LEN = 8,
    ARRAY_HEAD = 4 + 8,
};

/* As much as an off_t holds. */
static const uint64_t max_size = G_MAXINT64;

typedef enum { KEY_KEPT, KEY_OF_SET, KEY_DUPLICATE } key_fate;

struct pn_writing {
    const pn_gguf_file *file;
    bool is_source;
    bool is_verbatim; /* keys and values stand in the source as they are written */
    uint64_t n_keys;  /* that are kept */
    uint8_t *keys;    /* of each key, its key_fate */
    uint64_t n_kept;
    uint32_t *kept;   /* the tensors that are kept, … */
    uint64_t *starts; /* … and the offset of each in the data section */
    uint64_t header_size;
    uint64_t data_start;
    uint64_t data_size;
    bool is_cut;
};

static uint64_t align_up(uint64_t n, uint64_t alignment)
{
    return (n + alignment - 1) & ~(alignment - 1);
}

/* The plan. */

/* Adds what n elements at the walk take when they are written, and moves it past them. False where
 * the source has changed. */
static bool add_elements(const pn_gguf_file *file, pn_gguf_walk *walk, pn_gguf_type elem,
                         uint64_t n, unsigned depth, uint64_t *size)
{
    const char *string;
    pn_gguf_type inner;
    uint64_t len;

    if (elem != PN_GGUF_STRING && elem != PN_GGUF_ARRAY) {
        uint64_t nbytes = n * pn_gguf_type_size(elem);
        if (nbytes > (uint64_t)(walk->end - walk->at))
            return false;
        walk->at += nbytes;
        *size += nbytes;
        return true;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (elem == PN_GGUF_STRING) {
            if (!pn_gguf_walk_string(file, walk, &string, &len))
                return false;
            *size += STRING_LEN + len;
            continue;
        }
        if (depth == PN_GGUF_MAX_NESTING || !pn_gguf_walk_array(file, walk, &inner, &len))
            return false;
        *size += ARRAY_HEAD;
        if (!add_elements(file, walk, inner, len, depth + 1, size))
            return false;
    }
    return true;
}

static bool value_size(const pn_gguf_file *file, const pn_gguf_kv *kv, uint64_t *size)
{
    if (kv->type == PN_GGUF_STRING) {
        *size = STRING_LEN + kv->nbytes;
    } else if (kv->type != PN_GGUF_ARRAY) {
        *size = kv->nbytes;
    } else if (file->version > 1) {
        *size = ARRAY_HEAD + kv->nbytes;
    } else if (kv->elem == PN_GGUF_STRING) { /* lengths of 4 bytes become 8 */
        *size = ARRAY_HEAD + kv->nbytes + kv->count * 4;
    } else {
        pn_gguf_walk walk = pn_gguf_walk_value(kv);
        *size = ARRAY_HEAD;
        return add_elements(file, &walk, kv->elem, kv->count, 1, size);
    }
    return true;
}

static key_fate fate_of(const pn_gguf_kv *kv)
{
    static const char set[] = "split.";
    if (kv->key_len >= strlen(set) && memcmp(kv->key, set, strlen(set)) == 0)
        return KEY_OF_SET;
    return kv->nth > 1 ? KEY_DUPLICATE : KEY_KEPT;
}

static bool plan_keys(pn_writing *w)
{
    w->keys = g_try_new0(uint8_t, w->file->n_kv);
    if (w->keys == NULL && w->file->n_kv > 0)
        return false;
    for (uint64_t i = 0; i < w->file->n_kv; i++) {
        pn_gguf_kv kv = pn_gguf_kv_at(w->file, i);
        uint64_t size;
        w->keys[i] = (uint8_t)fate_of(&kv);
        if (w->keys[i] != KEY_KEPT)
            continue;
        if (!value_size(w->file, &kv, &size))
            return false;
        w->header_size += STRING_LEN + kv.key_len + 4 + size;
        w->n_keys++;
    }
    return true;
}

/* Why a tensor cannot be in the file, whatever its size. */
static const char *tensor_fault(const pn_gguf_tensor *t)
{
    const pn_quant_traits *traits = pn_quant_traits_of(t->type_id);

    if (t->nth > 1)
        return "has the name of an earlier tensor";
    if (traits != NULL && t->ne[0] % traits->block_elems != 0)
        return "has rows that are no whole number of blocks";
    if (t->big_endian && (t->traits == NULL || !t->traits->be_defined))
        return "is of a type whose big-endian layout is not defined";
    return NULL;
}

static bool plan_tensors(pn_writing *w)
{
    uint64_t n = w->file->n_tensors;
    uint64_t alignment = w->file->alignment;

    w->kept = g_try_new(uint32_t, n);
    w->starts = g_try_new(uint64_t, n);
    if (n > 0 && (w->kept == NULL || w->starts == NULL))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        pn_gguf_tensor t = pn_gguf_tensor_at(w->file, i);
        uint64_t room = max_size / 2 - w->data_size; /* the other half is the header's */
        if (tensor_fault(&t) != NULL || t.nbytes > room || room - t.nbytes < alignment)
            continue;
        w->kept[w->n_kept] = (uint32_t)i;
        w->starts[w->n_kept] = w->data_size;
        w->n_kept++;
        w->data_size = align_up(w->data_size + t.nbytes, alignment);
        w->is_cut = w->is_cut || t.available < t.nbytes;
        w->header_size += STRING_LEN + t.name_len + 4 + t.n_dims * sizeof(uint64_t) + 4 + 8;
    }
    return true;
}

pn_writing *pn_writing_new(const pn_gguf_file *file)
{
    g_autoptr(pn_writing) w = g_new0(pn_writing, 1);

    w->file = file;
    w->is_source = file->n_shards == 1 && file->version == 3 && !file->big_endian;
    if (w->is_source)
        return g_steal_pointer(&w);

    w->is_verbatim = file->version > 1 && !file->big_endian;
    w->header_size = COUNTS_BYTES;
    if (!plan_keys(w) || !plan_tensors(w))
        return NULL;
    w->data_start = align_up(w->header_size, file->alignment);
    return g_steal_pointer(&w);
}

void pn_writing_free(pn_writing *w)
{
    if (w == NULL)
        return;
    g_free(w->keys);
    g_free(w->kept);
    g_free(w->starts);
    g_free(w);
}

bool pn_writing_is_source(const pn_writing *w)
{
    return w->is_source;
}

uint64_t pn_writing_size(const pn_writing *w)
{
    return w->is_source ? w->file->shards[0].size : w->data_start + w->data_size;
}

uint64_t pn_writing_data_start(const pn_writing *w)
{
    return w->data_start;
}

bool pn_writing_is_cut(const pn_writing *w)
{
    return w->is_cut;
}

const char *pn_writing_key_fault(const pn_writing *w, uint64_t i)
{
    if (w->is_source || w->keys[i] == KEY_KEPT)
        return NULL;
    return w->keys[i] == KEY_OF_SET ? "" : "has the name of an earlier key";
}

/* The kept tensor with the largest key that is not above the wanted one; keys ascend. */
static uint64_t kept_before(const pn_writing *w, uint64_t wanted, bool by_start)
{
    uint64_t low = 0, high = w->n_kept;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if ((by_start ? w->starts[middle] : w->kept[middle]) <= wanted)
            low = middle;
        else
            high = middle;
    }
    return low;
}

const char *pn_writing_tensor_fault(const pn_writing *w, uint64_t i)
{
    if (w->is_source)
        return NULL;
    pn_gguf_tensor t = pn_gguf_tensor_at(w->file, i);
    const char *fault = tensor_fault(&t);
    if (fault != NULL)
        return fault;
    bool is_kept = w->n_kept > 0 && w->kept[kept_before(w, i, false)] == i;
    return is_kept ? NULL : "is larger than a file may be";
}

pn_writing_place pn_writing_find(const pn_writing *w, uint64_t offset)
{
    /* Of several tensors at one offset, all but the last have no bytes. */
    uint64_t k = kept_before(w, offset, true);
    return (pn_writing_place){
        .tensor = w->kept[k],
        .start = w->starts[k],
        .nbytes = pn_gguf_tensor_at(w->file, w->kept[k]).nbytes,
        .end = k + 1 < w->n_kept ? w->starts[k + 1] : w->data_size,
    };
}

/* The steps. */

/* pn_writing_state.phase */
enum {
    COUNTS,
    PAIR,     /* `at` bytes of key `item` and its value were put as they stand in the source */
    KEY,      /* `at` bytes of the name of key `item` were put */
    VALUE,    /* the value's own head is next */
    ELEMENTS, /* the next element of the innermost open array is at `at` */
    STRING,   /* `rest` bytes from `at` are next */
    NAME,     /* `at` bytes of the name of kept tensor `item` were put */
    INFO,     /* the rest of its entry is next */
    PADDING,  /* `at` bytes of the padding were put */
};

typedef struct {
    const pn_writing *w;
    pn_writing_state *state;
    pn_writing_sink *sink;
    pn_gguf_kv kv; /* key `item`, in the phases of keys */
} step;

static void put(step *s, const void *bytes, size_t len)
{
    s->sink->put(s->sink->user, bytes, len);
}

static void put_u32(step *s, uint32_t v)
{
    v = GUINT32_TO_LE(v);
    put(s, &v, sizeof v);
}

static void put_u64(step *s, uint64_t v)
{
    v = GUINT64_TO_LE(v);
    put(s, &v, sizeof v);
}

/* Puts the next bytes of `len` in the mapping, of which `at` are done; whether those were the last.
 */
static bool put_some(step *s, unsigned shard, const void *bytes, uint64_t len, uint64_t *at)
{
    size_t n = (size_t)MIN(len - *at, STEP_BYTES);
    const uint8_t *next = (const uint8_t *)bytes + *at;

    if (n > 0) {
        s->sink->depends(s->sink->user, shard, next, n);
        put(s, next, n);
    }
    *at += n;
    return *at == len;
}

static void go_to(step *s, uint32_t phase)
{
    s->state->phase = phase;
    s->state->at = 0;
}

/* To the next key that is kept, or the tensors. */
static void next_key(step *s, uint64_t item)
{
    while (item < s->w->file->n_kv && s->w->keys[item] != KEY_KEPT)
        item++;
    if (item == s->w->file->n_kv) {
        s->state->item = 0;
        go_to(s, s->w->n_kept > 0 ? NAME : PADDING);
        return;
    }
    s->state->item = item;
    go_to(s, s->w->is_verbatim ? PAIR : KEY);
}

static void put_counts(step *s)
{
    put(s, "GGUF", 4);
    put_u32(s, 3);
    put_u64(s, s->w->n_kept);
    put_u64(s, s->w->n_keys);
    next_key(s, 0);
}

static void put_pair(step *s)
{
    const uint8_t *start = (const uint8_t *)s->kv.key - STRING_LEN;
    uint64_t len = (uint64_t)(s->kv.data - start) + s->kv.nbytes;

    if (put_some(s, s->w->file->kv_shard, start, len, &s->state->at))
        next_key(s, s->state->item + 1);
}

static void put_key(step *s)
{
    if (s->state->at == 0)
        put_u64(s, s->kv.key_len);
    if (!put_some(s, s->w->file->kv_shard, s->kv.key, s->kv.key_len, &s->state->at))
        return;
    put_u32(s, s->kv.type);
    go_to(s, VALUE);
}

/* Numbers of one type, as many as a step takes. */
static pn_writing_result put_numbers(step *s, pn_gguf_walk *walk, pn_gguf_type type, uint64_t *left)
{
    unsigned size = (unsigned)pn_gguf_type_size(type);
    uint64_t n = MIN(*left, STEP_BYTES / size);
    uint8_t buffer[STEP_BYTES];
    size_t len = 0;

    if (n * size > (uint64_t)(walk->end - walk->at))
        return PN_WRITING_CHANGED;
    s->sink->depends(s->sink->user, s->w->file->kv_shard, walk->at, n * size);
    for (uint64_t i = 0; i < n; i++, walk->at += size)
        for (unsigned b = 0; b < size; b++)
            buffer[len++] = walk->at[s->w->file->big_endian ? size - 1 - b : b];
    put(s, buffer, len);
    *left -= n;
    return PN_WRITING_MORE;
}

static void open_array(step *s, pn_gguf_type elem, uint64_t count)
{
    pn_writing_state *state = s->state;
    put_u32(s, elem);
    put_u64(s, count);
    state->elem[state->depth] = (uint8_t)elem;
    state->left[state->depth] = count;
    state->depth++;
    state->phase = ELEMENTS;
}

static void open_string(step *s, uint64_t at, uint64_t len)
{
    put_u64(s, len);
    s->state->at = at;
    s->state->rest = len;
    s->state->phase = STRING;
}

static pn_writing_result begin_value(step *s)
{
    pn_gguf_walk walk = pn_gguf_walk_value(&s->kv);
    uint64_t one = 1;

    s->state->depth = 0;
    if (s->kv.type == PN_GGUF_ARRAY) {
        open_array(s, s->kv.elem, s->kv.count);
        return PN_WRITING_MORE;
    }
    if (s->kv.type == PN_GGUF_STRING) {
        open_string(s, 0, s->kv.nbytes);
        return PN_WRITING_MORE;
    }
    pn_writing_result result = put_numbers(s, &walk, s->kv.type, &one);
    next_key(s, s->state->item + 1);
    return result;
}

static pn_writing_result put_elements(step *s)
{
    pn_writing_state *state = s->state;
    pn_gguf_walk walk = pn_gguf_walk_value(&s->kv);
    const char *string;
    pn_gguf_type inner;
    uint64_t len;

    if (state->depth == 0) {
        next_key(s, state->item + 1);
        return PN_WRITING_MORE;
    }
    uint64_t *left = &state->left[state->depth - 1];
    pn_gguf_type elem = state->elem[state->depth - 1];
    if (*left == 0) {
        state->depth--;
        return PN_WRITING_MORE;
    }
    walk.at += state->at;
    if (elem != PN_GGUF_STRING && elem != PN_GGUF_ARRAY) {
        pn_writing_result result = put_numbers(s, &walk, elem, left);
        state->at = (uint64_t)(walk.at - s->kv.data);
        return result;
    }

    const uint8_t *from = walk.at;
    --*left;
    if (elem == PN_GGUF_STRING) {
        if (!pn_gguf_walk_string(s->w->file, &walk, &string, &len))
            return PN_WRITING_CHANGED;
        const uint8_t *bytes = (const uint8_t *)string;
        s->sink->depends(s->sink->user, s->w->file->kv_shard, from, (uint64_t)(bytes - from));
        open_string(s, (uint64_t)(bytes - s->kv.data), len);
        return PN_WRITING_MORE;
    }
    if (state->depth == PN_GGUF_MAX_NESTING || !pn_gguf_walk_array(s->w->file, &walk, &inner, &len))
        return PN_WRITING_CHANGED;
    s->sink->depends(s->sink->user, s->w->file->kv_shard, from, (uint64_t)(walk.at - from));
    state->at = (uint64_t)(walk.at - s->kv.data);
    open_array(s, inner, len);
    return PN_WRITING_MORE;
}

static void put_string(step *s)
{
    uint64_t done = 0;
    put_some(s, s->w->file->kv_shard, s->kv.data + s->state->at, s->state->rest, &done);
    s->state->at += done;
    s->state->rest -= done;
    if (s->state->rest == 0)
        s->state->phase = ELEMENTS;
}

static void put_name(step *s)
{
    pn_gguf_tensor t = pn_gguf_tensor_at(s->w->file, s->w->kept[s->state->item]);

    if (s->state->at == 0)
        put_u64(s, t.name_len);
    if (put_some(s, t.shard, t.name, t.name_len, &s->state->at))
        go_to(s, INFO);
}

static void put_info(step *s)
{
    uint64_t item = s->state->item;
    pn_gguf_tensor t = pn_gguf_tensor_at(s->w->file, s->w->kept[item]);

    put_u32(s, t.n_dims);
    for (uint32_t d = 0; d < t.n_dims; d++)
        put_u64(s, t.ne[d]);
    put_u32(s, t.type_id);
    put_u64(s, s->w->starts[item]);
    s->state->item = item + 1;
    go_to(s, item + 1 < s->w->n_kept ? NAME : PADDING);
}

static pn_writing_result put_padding(step *s)
{
    static const uint8_t zeros[STEP_BYTES];
    uint64_t padding = s->w->data_start - s->w->header_size;
    size_t n = (size_t)MIN(padding - s->state->at, STEP_BYTES);

    put(s, zeros, n);
    s->state->at += n;
    return s->state->at == padding ? PN_WRITING_END : PN_WRITING_MORE;
}

pn_writing_result pn_writing_step(const pn_writing *w, pn_writing_state *state,
                                  pn_writing_sink *sink)
{
    step s = {.w = w, .state = state, .sink = sink};

    if (state->phase >= PAIR && state->phase <= STRING)
        s.kv = pn_gguf_kv_at(w->file, state->item);
    switch (state->phase) {
    case COUNTS:
        put_counts(&s);
        break;
    case PAIR:
        put_pair(&s);
        break;
    case KEY:
        put_key(&s);
        break;
    case VALUE:
        return begin_value(&s);
    case ELEMENTS:
        return put_elements(&s);
    case STRING:
        put_string(&s);
        break;
    case NAME:
        put_name(&s);
        break;
    case INFO:
        put_info(&s);
        break;
    default:
        return put_padding(&s);
    }
    return PN_WRITING_MORE;
}
