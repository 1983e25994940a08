/* Where the pieces of a GGUF header stand: layout.h. */
#include "layout.h"

#include <string.h>

enum { MAX_PIECES = 4096, MAX_DEPTH = 20 };

typedef struct {
    layout *l;
    const uint8_t *data;
    size_t size, at;
} cursor;

uint64_t layout_get(const layout *l, const uint8_t *at, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)at[l->big_endian ? size - 1 - i : i] << (8 * i);
    return value;
}

void layout_set(const layout *l, uint8_t *at, unsigned size, uint64_t value)
{
    for (unsigned i = 0; i < size; i++)
        at[l->big_endian ? size - 1 - i : i] = (uint8_t)(value >> (8 * i));
}

static bool take(cursor *c, unsigned size, field_kind kind, uint64_t *value)
{
    if (size > c->size - c->at || c->l->fields->len >= MAX_PIECES)
        return false;
    field new = {c->at, size, kind};
    g_array_append_val(c->l->fields, new);
    *value = layout_get(c->l, c->data + c->at, size);
    c->at += size;
    return true;
}

static bool skip(cursor *c, uint64_t size)
{
    if (size > c->size - c->at)
        return false;
    c->at += size;
    return true;
}

static bool take_string(cursor *c)
{
    uint64_t len;
    return take(c, c->l->count_size, FIELD_LENGTH, &len) && skip(c, len);
}

static unsigned number_size(uint64_t type)
{
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < G_N_ELEMENTS(sizes) ? sizes[type] : 0;
}

enum { STRING = 8, ARRAY = 9 };

static bool take_value(cursor *c, uint64_t type, unsigned depth);

static bool take_array(cursor *c, unsigned depth)
{
    uint64_t elem, count;

    if (depth == MAX_DEPTH || !take(c, 4, FIELD_TYPE, &elem) ||
        !take(c, c->l->count_size, FIELD_COUNT, &count))
        return false;
    unsigned size = number_size(elem);
    if (size > 0)
        return count <= (c->size - c->at) / size && skip(c, count * size);
    for (uint64_t i = 0; i < count; i++) {
        if (!take_value(c, elem, depth))
            return false;
    }
    return true;
}

static bool take_value(cursor *c, uint64_t type, unsigned depth)
{
    uint64_t value;

    if (type == STRING)
        return take_string(c);
    if (type == ARRAY)
        return take_array(c, depth + 1);
    return number_size(type) > 0 && take(c, number_size(type), FIELD_NUMBER, &value);
}

static bool take_pair(cursor *c)
{
    uint64_t type;
    return take_string(c) && take(c, 4, FIELD_TYPE, &type) && take_value(c, type, 0);
}

static bool take_info(cursor *c)
{
    uint64_t n_dims, value;

    if (!take_string(c) || !take(c, 4, FIELD_N_DIMS, &n_dims))
        return false;
    for (uint64_t i = 0; i < n_dims; i++) {
        if (!take(c, c->l->count_size, FIELD_DIM, &value))
            return false;
    }
    return take(c, 4, FIELD_QUANT, &value) && take(c, 8, FIELD_OFFSET, &value);
}

static bool take_pieces(cursor *c, uint64_t count, GArray *spans, bool (*one)(cursor *c))
{
    for (uint64_t i = 0; i < count; i++) {
        span s = {.from = c->at};
        if (!one(c))
            return false;
        s.to = c->at;
        g_array_append_val(spans, s);
    }
    return true;
}

static bool take_all(cursor *c)
{
    layout *l = c->l;
    uint64_t version, n_tensors, n_kv;

    if (!skip(c, 4) || !take(c, 4, FIELD_VERSION, &version))
        return false;
    l->big_endian = (version & 0xffff) == 0;
    l->version = (uint32_t)layout_get(l, c->data + 4, 4);
    l->count_size = l->version == 1 ? 4 : 8;
    l->n_tensors_at = c->at;
    l->n_kv_at = c->at + l->count_size;
    if (!take(c, l->count_size, FIELD_COUNT, &n_tensors) ||
        !take(c, l->count_size, FIELD_COUNT, &n_kv))
        return false;
    l->header_to = l->infos_at = c->at;
    bool kvs_whole = take_pieces(c, n_kv, l->kvs, take_pair);
    l->header_to = l->infos_at = kvs_whole ? c->at : c->size;
    if (!kvs_whole)
        return false;
    bool infos_whole = take_pieces(c, n_tensors, l->tensors, take_info);
    l->header_to = infos_whole ? c->at : c->size;
    return infos_whole;
}

layout layout_read(const uint8_t *data, size_t size)
{
    layout l = {
        .fields = g_array_new(FALSE, FALSE, sizeof(field)),
        .kvs = g_array_new(FALSE, FALSE, sizeof(span)),
        .tensors = g_array_new(FALSE, FALSE, sizeof(span)),
    };
    cursor c = {&l, data, size, 0};
    l.is_whole = size >= 4 && memcmp(data, "GGUF", 4) == 0 && take_all(&c);
    return l;
}

void layout_clear(layout *l)
{
    g_array_unref(l->fields);
    g_array_unref(l->kvs);
    g_array_unref(l->tensors);
}
