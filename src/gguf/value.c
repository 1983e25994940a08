/* Values: stepping over one while the header is parsed, and walking one afterwards. The walks trust
 * nothing that the parser saw in the file, since the file may have been rewritten. */
#include "gguf/parser.h"

static const struct {
    const char *name;
    uint8_t size;
} types[] = {
    [PN_GGUF_UINT8] = {"uint8", 1},     [PN_GGUF_INT8] = {"int8", 1},
    [PN_GGUF_UINT16] = {"uint16", 2},   [PN_GGUF_INT16] = {"int16", 2},
    [PN_GGUF_UINT32] = {"uint32", 4},   [PN_GGUF_INT32] = {"int32", 4},
    [PN_GGUF_FLOAT32] = {"float32", 4}, [PN_GGUF_BOOL] = {"bool", 1},
    [PN_GGUF_STRING] = {"string", 0},   [PN_GGUF_ARRAY] = {"array", 0},
    [PN_GGUF_UINT64] = {"uint64", 8},   [PN_GGUF_INT64] = {"int64", 8},
    [PN_GGUF_FLOAT64] = {"float64", 8},
};

const char *pn_gguf_type_name(pn_gguf_type type)
{
    return (unsigned)type < G_N_ELEMENTS(types) ? types[type].name : NULL;
}

size_t pn_gguf_type_size(pn_gguf_type type)
{
    return (unsigned)type < G_N_ELEMENTS(types) ? types[type].size : 0;
}

static bool is_known(uint32_t type)
{
    return type < G_N_ELEMENTS(types);
}

/* The fewest bytes one element of an array takes. */
static unsigned least_element_bytes(unsigned size_bytes, uint32_t type)
{
    switch (type) {
    case PN_GGUF_STRING:
        return size_bytes;
    case PN_GGUF_ARRAY:
        return 4 + size_bytes;
    default:
        return types[type].size;
    }
}

/* Stepping over, while parsing. */

static bool skip_string(pn_parser *p, uint64_t *len)
{
    if (!pn_read_size(&p->in, len))
        return pn_refuse_end(p);
    return pn_read_skip(&p->in, *len) || pn_refuse_count(p, *len, 1, "bytes of a string");
}

/* As long as they fit with the place in a register: a vocabulary has half a million. */
static bool skip_strings(pn_parser *p, uint64_t n)
{
    pn_reader in = p->in;
    uint64_t i = 0, len;

    for (; i < n && pn_read_size(&in, &len) && pn_read_skip(&in, len); i++)
        p->in.at = in.at;
    for (; i < n; i++) {
        if (!skip_string(p, &len)) /* it says why */
            return false;
    }
    return true;
}

static bool skip_packed(pn_parser *p, uint32_t type, uint64_t n, uint8_t *odd_bool)
{
    const uint8_t *start = p->in.data + p->in.at;
    unsigned size = types[type].size;

    if (n > pn_reader_left(&p->in) / size)
        return pn_refuse_count(p, n, size, "elements of an array");
    pn_read_skip(&p->in, n * size);
    if (type == PN_GGUF_BOOL)
        for (uint64_t i = 0; i < n && *odd_bool <= 1; i++)
            *odd_bool = start[i];
    return true;
}

static bool array_head(pn_parser *p, uint32_t *elem, uint64_t *count)
{
    if (!pn_read_u32(&p->in, elem) || !pn_read_size(&p->in, count))
        return pn_refuse_end(p);
    if (!is_known(*elem))
        return pn_refuse_thing(p, PN_GGUF_ERROR_INVALID,
                               "is an array of type %u, which is unknown: what follows it in the "
                               "file cannot be found; the file is damaged, or newer than this "
                               "program",
                               *elem);
    unsigned least = least_element_bytes(pn_reader_size_bytes(&p->in), *elem);
    if (*count > pn_reader_left(&p->in) / least)
        return pn_refuse_count(p, *count, least, "elements of an array");
    return true;
}

static bool skip_elements(pn_parser *p, uint32_t type, uint64_t n, unsigned depth,
                          uint8_t *odd_bool)
{
    uint32_t elem = type;
    uint64_t count = 0;

    if (types[type].size > 0)
        return skip_packed(p, type, n, odd_bool);
    if (type == PN_GGUF_ARRAY && n > 0 && depth == PN_GGUF_MAX_NESTING)
        return pn_refuse_thing(p, PN_GGUF_ERROR_INVALID,
                               "nests arrays more than %d deep; the file is damaged",
                               PN_GGUF_MAX_NESTING);
    if (type == PN_GGUF_STRING)
        return skip_strings(p, n);
    for (uint64_t i = 0; i < n; i++) {
        if (!array_head(p, &elem, &count) || !skip_elements(p, elem, count, depth + 1, odd_bool))
            return false;
    }
    return true;
}

bool pn_parse_value(pn_parser *p, uint32_t type, pn_kv_entry *kv)
{
    uint32_t elem = type;
    uint64_t start = p->in.at;
    uint8_t odd_bool = 0;

    kv->count = 1;
    if (!is_known(type))
        return pn_refuse_thing(p, PN_GGUF_ERROR_INVALID,
                               "has a value of type %u, which is unknown: what follows it in the "
                               "file cannot be found; the file is damaged, or newer than this "
                               "program",
                               type);
    if (type == PN_GGUF_STRING) {
        if (!skip_string(p, &kv->nbytes))
            return false;
    } else if (type == PN_GGUF_ARRAY) {
        if (!array_head(p, &elem, &kv->count))
            return false;
        start = p->in.at;
        if (!skip_elements(p, elem, kv->count, 1, &odd_bool))
            return false;
        kv->nbytes = p->in.at - start;
    } else {
        kv->nbytes = types[type].size;
        if (kv->nbytes > pn_reader_left(&p->in))
            return pn_refuse_end(p);
        if (!skip_packed(p, type, 1, &odd_bool))
            return false;
    }
    kv->name.tag = (uint16_t)(type | elem << 8);

    bool is_noted = odd_bool > 1 && p->is_first;
    if (is_noted && !pn_problem_add(p->tables, PN_PROBLEM_KEY_BOOL, p->index, odd_bool))
        return pn_refuse_memory(p);
    return true;
}

/* Walking, afterwards. */

pn_gguf_walk pn_gguf_walk_value(const pn_gguf_kv *kv)
{
    return (pn_gguf_walk){.at = kv->data, .end = kv->data + kv->nbytes};
}

static uint64_t walk_left(const pn_gguf_walk *walk)
{
    return (uint64_t)(walk->end - walk->at);
}

bool pn_gguf_walk_number(const pn_gguf_file *file, pn_gguf_walk *walk, pn_gguf_type type,
                         pn_gguf_number *out)
{
    size_t size = pn_gguf_type_size(type);
    bool be = file->big_endian;
    const uint8_t *at = walk->at;

    if (size == 0 || size > walk_left(walk))
        return false;

    uint64_t bits = size == 1   ? *at
                    : size == 2 ? pn_load_u16(at, be)
                    : size == 4 ? pn_load_u32(at, be)
                                : pn_load_u64(at, be);
    uint32_t low = (uint32_t)bits;
    out->u64 = bits;
    if (type == PN_GGUF_FLOAT32)
        memcpy(&out->f32, &low, sizeof low);
    else if (type == PN_GGUF_FLOAT64)
        memcpy(&out->f64, &bits, sizeof bits);
    else if (type == PN_GGUF_INT8)
        out->i64 = (int8_t)low;
    else if (type == PN_GGUF_INT16)
        out->i64 = (int16_t)low;
    else if (type == PN_GGUF_INT32)
        out->i64 = (int32_t)low;
    walk->at += size;
    return true;
}

static bool walk_size(const pn_gguf_file *file, pn_gguf_walk *walk, uint64_t *out)
{
    unsigned bytes = file->version == 1 ? 4 : 8;
    if (walk_left(walk) < bytes)
        return false;
    *out = bytes == 4 ? pn_load_u32(walk->at, file->big_endian)
                      : pn_load_u64(walk->at, file->big_endian);
    walk->at += bytes;
    return true;
}

bool pn_gguf_walk_string(const pn_gguf_file *file, pn_gguf_walk *walk, const char **string,
                         uint64_t *len)
{
    pn_gguf_walk next = *walk;
    uint64_t n;

    if (!walk_size(file, &next, &n) || n > walk_left(&next))
        return false;
    *string = (const char *)next.at;
    *len = n;
    walk->at = next.at + n;
    return true;
}

bool pn_gguf_walk_array(const pn_gguf_file *file, pn_gguf_walk *walk, pn_gguf_type *elem,
                        uint64_t *count)
{
    pn_gguf_walk next = *walk;
    uint64_t n;

    if (walk_left(&next) < 4)
        return false;
    uint32_t type = pn_load_u32(next.at, file->big_endian);
    next.at += 4;
    if (!is_known(type) || !walk_size(file, &next, &n) ||
        n > walk_left(&next) / least_element_bytes(file->version == 1 ? 4 : 8, type))
        return false;
    *elem = (pn_gguf_type)type;
    *count = n;
    *walk = next;
    return true;
}
