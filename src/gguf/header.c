/* The header of one file: magic, version, counts, keys and tensor infos. Knows nothing of the other
 * files of a set, and judges no offset. */
#include "gguf/escape.h"
#include "gguf/lookalike.h"
#include "gguf/parser.h"

/* Fewer elements than this many fit the views' sizes into an off_t, whatever the type. */
static const uint64_t max_elems = (UINT64_C(1) << 59) - 1;

/* Counts a real file might have: past them a count is no sign of a file that ends too early. */
enum { PLAUSIBLE_COUNT = 1 << 20 };

bool pn_parse_name(pn_parser *p, pn_name *name)
{
    uint64_t len;
    if (!pn_read_size(&p->in, &len))
        return pn_refuse_end(p);
    if (len > pn_reader_left(&p->in))
        return pn_refuse_count(p, len, 1, "bytes of a name");

    *name = (pn_name){.at = p->in.at, .len = len, .shard = (uint16_t)p->shard};
    p->name = (const char *)p->in.data + p->in.at;
    p->name_len = len;
    p->in.at += len;
    return true;
}

static bool parse_magic(pn_parser *p)
{
    if (p->in.size < 4 || memcmp(p->in.data, "GGUF", 4) != 0) {
        g_autoptr(GString) text = g_string_new(NULL);
        pn_describe_lookalike(p->source, text);
        return pn_refuse(p, PN_GGUF_ERROR_NOT_GGUF, "the file %s", text->str);
    }
    p->in.at = 4;

    uint32_t version;
    if (!pn_read_u32(&p->in, &version))
        return pn_refuse(p, PN_GGUF_ERROR_TRUNCATED,
                         "the file ends after %" G_GUINT64_FORMAT
                         " bytes; is it an unfinished download?",
                         p->in.size);
    if ((version & 0xFFFF) == 0) {
        version = GUINT32_SWAP_LE_BE(version);
        p->in.big_endian = true;
    }
    if (version < 1 || version > 3)
        return pn_refuse(p, PN_GGUF_ERROR_INVALID,
                         "the file is GGUF version %u, and this program reads versions 1 to 3; %s",
                         version,
                         version > 3 && version < 100 ? "a newer release of it may read it"
                                                      : "the file is damaged");
    p->version = version;
    p->in.narrow = version == 1;
    return true;
}

/* Whether n things of at least `least` bytes may be in what is left. */
static bool check_count(pn_parser *p, uint64_t n, unsigned least, const char *things)
{
    if (n > PN_NAMES_MAX)
        return pn_refuse(p, PN_GGUF_ERROR_INVALID,
                         "the file claims %" G_GUINT64_FORMAT
                         " %s, an impossible count; it is damaged",
                         n, things);
    if (n <= pn_reader_left(&p->in) / least)
        return true;
    if (n <= PLAUSIBLE_COUNT)
        return pn_refuse(p, PN_GGUF_ERROR_TRUNCATED,
                         "the file ends long before the end of its %" G_GUINT64_FORMAT
                         " %s; is it an unfinished download?",
                         n, things);
    return pn_refuse(p, PN_GGUF_ERROR_INVALID,
                     "the file claims %" G_GUINT64_FORMAT
                     " %s, an impossible count for its %" G_GUINT64_FORMAT " bytes; it is damaged",
                     n, things, p->in.size);
}

static bool parse_counts(pn_parser *p)
{
    if (!pn_read_size(&p->in, &p->n_tensors) || !pn_read_size(&p->in, &p->n_kv))
        return pn_refuse(p, PN_GGUF_ERROR_TRUNCATED,
                         "the file ends after %" G_GUINT64_FORMAT
                         " bytes, inside its counts of tensors and keys; is it an unfinished "
                         "download?",
                         p->in.size);
    unsigned size_bytes = pn_reader_size_bytes(&p->in);
    return check_count(p, p->n_kv, size_bytes + 4 + 1, "keys") &&
           check_count(p, p->n_tensors, size_bytes + 4 + 4 + 8, "tensors");
}

static pn_named named_kvs(const pn_parser *p)
{
    return (pn_named){p->kvs->items, sizeof(pn_kv_entry), p->tables->sources};
}

static bool parse_key(pn_parser *p)
{
    pn_kv_entry kv;
    uint32_t type;

    if (!pn_parse_name(p, &kv.name))
        return false;
    if (!pn_read_u32(&p->in, &type))
        return pn_refuse_end(p);
    if (!pn_parse_value(p, type, &kv))
        return false;

    if (!pn_array_make_room(p->kvs))
        return pn_refuse_memory(p);
    p->kvs->items[p->kvs->n++] = kv;
    pn_named kvs = named_kvs(p);
    if (!pn_names_add(p->kv_names, &kvs, p->index))
        return pn_refuse_memory(p);

    if (!p->is_first)
        return true;
    bool is_first = p->kvs->items[p->index].name.is_first;
    if ((kv.name.len == 0 && !pn_problem_add(p->tables, PN_PROBLEM_KEY_EMPTY, p->index, 0)) ||
        (!is_first && !pn_problem_add(p->tables, PN_PROBLEM_KEY_DUPLICATE, p->index, 0)))
        return pn_refuse_memory(p);
    return true;
}

const pn_kv_entry *pn_parser_find_key(const pn_parser *p, const char *key)
{
    pn_named kvs = named_kvs(p);
    uint64_t i;
    return pn_names_find(p->kv_names, &kvs, key, strlen(key), 1, &i) ? &p->kvs->items[i] : NULL;
}

static bool parse_alignment(pn_parser *p)
{
    static const char key[] = PN_KEY_ALIGNMENT;
    const pn_kv_entry *kv = pn_parser_find_key(p, key);

    p->alignment = 32;
    if (kv == NULL)
        return true;

    pn_gguf_type type = kv->name.tag & 0xFF;
    if (type != PN_GGUF_UINT32)
        return pn_refuse(p, PN_GGUF_ERROR_INVALID,
                         "%s is of type %s, where uint32 is the only one that is allowed; the "
                         "file is damaged",
                         key, pn_gguf_type_name(type));
    p->alignment = pn_load_u32(p->in.data + kv->name.at + kv->name.len + 4, p->in.big_endian);
    if (p->alignment == 0 || (p->alignment & (p->alignment - 1)) != 0)
        return pn_refuse(p, PN_GGUF_ERROR_INVALID,
                         "%s is %u, which is no power of two; the file is damaged", key,
                         p->alignment);
    return true;
}

bool pn_parse_keys(pn_parser *p)
{
    if (!parse_magic(p) || !parse_counts(p))
        return false;

    p->thing = "key";
    p->n_things = p->n_kv;
    for (p->index = 0; p->index < p->n_kv; p->index++) {
        p->name = NULL;
        if (!parse_key(p))
            return false;
    }
    return parse_alignment(p);
}

/* Reads the dimensions into the table, with what they multiply to (a zero counted as one). */
static bool parse_dims(pn_parser *p, uint32_t n_dims)
{
    uint64_t product = 1;

    for (uint32_t d = 0; d < n_dims; d++) {
        uint64_t dim;
        if (!pn_read_size(&p->in, &dim))
            return pn_refuse_end(p);
        if (__builtin_mul_overflow(product, MAX(dim, 1), &product) || product > max_elems)
            return pn_refuse_thing(p, PN_GGUF_ERROR_INVALID,
                                   "has impossible dimensions (dimension %u is %" G_GUINT64_FORMAT
                                   "): 2^59 elements or more; the file is damaged",
                                   d + 1, dim);
        if (!pn_array_make_room(&p->tables->dims))
            return pn_refuse_memory(p);
        p->tables->dims.items[p->tables->dims.n++] = dim;
    }
    return true;
}

/* The size of a tensor by its type: 0, and a problem, where it has none. */
static bool set_size(pn_parser *p, uint64_t i)
{
    pn_tensor_entry *t = &p->tables->tensors.items[i];
    const pn_quant_traits *traits = pn_quant_traits_of(t->type_id);
    uint32_t n_dims = t->name.tag & PN_TENSOR_DIMS;
    pn_problem_kind problem;
    uint64_t row = n_dims > 0 ? p->tables->dims.items[t->dims_at] : 1;
    uint64_t n_elems = row;

    for (uint32_t d = 1; d < n_dims; d++)
        n_elems *= p->tables->dims.items[t->dims_at + d];
    if (traits == NULL) {
        problem = PN_PROBLEM_TYPE_UNKNOWN;
    } else if (row % traits->block_elems != 0) {
        problem = PN_PROBLEM_ROW_PARTIAL;
    } else {
        t->nbytes = n_elems / traits->block_elems * traits->block_bytes;
        if (traits->dequantizes && (!p->in.big_endian || traits->be_defined))
            return true;
        problem = traits->dequantizes ? PN_PROBLEM_TYPE_BIG_ENDIAN : PN_PROBLEM_TYPE_NO_F32;
    }
    if (problem == PN_PROBLEM_TYPE_UNKNOWN || problem == PN_PROBLEM_ROW_PARTIAL)
        t->name.tag |= PN_TENSOR_UNSIZED;
    return pn_problem_add(p->tables, problem, i, 0) || pn_refuse_memory(p);
}

static bool parse_tensor(pn_parser *p)
{
    pn_gguf_tables *tables = p->tables;
    pn_tensor_entry t = {0};
    uint32_t n_dims;

    if (!pn_parse_name(p, &t.name))
        return false;
    if (!pn_read_u32(&p->in, &n_dims))
        return pn_refuse_end(p);
    if (n_dims > PN_GGUF_MAX_DIMS)
        return pn_refuse_thing(p, PN_GGUF_ERROR_INVALID,
                               "claims %u dimensions, where %d are the most; the file is damaged",
                               n_dims, PN_GGUF_MAX_DIMS);
    if (tables->dims.n > UINT32_MAX - PN_GGUF_MAX_DIMS || tables->tensors.n == PN_NAMES_MAX)
        return pn_refuse_memory(p);
    t.dims_at = (uint32_t)tables->dims.n;
    t.name.tag = (uint16_t)n_dims;
    if (!parse_dims(p, n_dims))
        return false;
    if (!pn_read_u32(&p->in, &t.type_id) || !pn_read_u64(&p->in, &t.rel_offset))
        return pn_refuse_end(p);

    uint64_t i = tables->tensors.n;
    if (!pn_array_make_room(&tables->tensors))
        return pn_refuse_memory(p);
    tables->tensors.items[tables->tensors.n++] = t;
    return set_size(p, i);
}

bool pn_parse_tensors(pn_parser *p)
{
    p->thing = "tensor";
    p->n_things = p->n_tensors;
    for (p->index = 0; p->index < p->n_tensors; p->index++) {
        p->name = NULL;
        if (!parse_tensor(p))
            return false;
    }
    return true;
}

/* Files of one set share no tensor. The one at hand has a name that occurred before. */
static bool check_unshared(pn_parser *p)
{
    pn_named tensors = pn_named_tensors(p->tables);
    uint64_t i;

    if (!pn_names_find(&p->tables->tensor_names, &tensors, p->name, p->name_len, 1, &i))
        return true; /* rewritten meanwhile */
    unsigned other = p->tables->tensors.items[i].name.shard;
    if (other == p->shard)
        return true;

    const char *path = p->tables->sources[other].name;
    g_autoptr(GString) escaped = g_string_new(NULL);
    pn_escape_brief(escaped, path, strlen(path));
    return pn_refuse_thing(p, PN_GGUF_ERROR_SHARD,
                           "is in %s too: the files are not of one set, or one is there twice",
                           escaped->str);
}

bool pn_index_tensors(pn_parser *p, uint64_t first, uint64_t last)
{
    pn_gguf_tables *tables = p->tables;
    pn_named tensors = pn_named_tensors(tables);

    for (uint64_t i = first; i < last; i++) {
        const pn_name *name = &tables->tensors.items[i].name;
        p->index = i - first;
        p->name = pn_name_bytes(&tensors, name);
        p->name_len = name->len;
        if (!pn_names_add(&tables->tensor_names, &tensors, i))
            return pn_refuse_memory(p);
        if (name->is_first)
            continue;
        if (p->is_one_set && !check_unshared(p))
            return false;
        if (!pn_problem_add(tables, PN_PROBLEM_TENSOR_DUPLICATE, i, 0))
            return pn_refuse_memory(p);
    }
    return true;
}
