/* The tables behind a pn_gguf_file: how they grow, and what is found in them. Knows nothing of how
 * a file is parsed. */
#include "gguf/tables.h"

enum { FIRST_ALLOCATED = 16 };

bool pn_array_grow(void **items, size_t *n_allocated, size_t n, size_t item_size)
{
    if (n < *n_allocated)
        return true;
    size_t larger = MAX(*n_allocated + *n_allocated / 2, FIRST_ALLOCATED);
    void *grown = g_try_realloc_n(*items, larger, item_size);
    if (grown == NULL)
        return false;
    *items = grown;
    *n_allocated = larger;
    return true;
}

void pn_array_trim(void **items, size_t *n_allocated, size_t n, size_t item_size)
{
    if (n == 0 || n == *n_allocated)
        return;
    void *trimmed = g_try_realloc_n(*items, n, item_size);
    if (trimmed == NULL)
        return;
    *items = trimmed;
    *n_allocated = n;
}

pn_named pn_named_kvs(const pn_gguf_tables *tables)
{
    return (pn_named){tables->kvs.items, sizeof(pn_kv_entry), tables->sources};
}

pn_named pn_named_tensors(const pn_gguf_tables *tables)
{
    return (pn_named){tables->tensors.items, sizeof(pn_tensor_entry), tables->sources};
}

const pn_quant_traits *pn_tensor_traits(const pn_gguf_tables *tables, const pn_tensor_entry *t)
{
    return t->name.tag & PN_TENSOR_UNSIZED ? NULL : pn_quant_traits_of(t->type_id);
}

bool pn_problem_add(pn_gguf_tables *tables, pn_problem_kind kind, uint64_t index, uint64_t number)
{
    if (!pn_array_make_room(&tables->problems))
        return false;
    tables->problems.items[tables->problems.n++] =
        (pn_problem){.kind = kind, .index = index & (UINT64_MAX >> 8), .number = number};
    return true;
}

unsigned pn_kv_head(const pn_gguf_file *file, pn_gguf_type type)
{
    unsigned size_bytes = file->version == 1 ? 4 : 8;
    return 4 + (type == PN_GGUF_STRING ? size_bytes : type == PN_GGUF_ARRAY ? 4 + size_bytes : 0);
}

pn_gguf_kv pn_gguf_kv_at(const pn_gguf_file *file, uint64_t i)
{
    const pn_kv_entry *entry = &file->tables->kvs.items[i];
    const pn_name *name = &entry->name;
    const uint8_t *key = file->tables->sources[name->shard].data + name->at;
    pn_gguf_type type = name->tag & 0xFF;

    return (pn_gguf_kv){
        .key = (const char *)key,
        .key_len = name->len,
        .nth = pn_name_nth(name),
        .type = type,
        .elem = name->tag >> 8,
        .count = entry->count,
        .data = key + name->len + pn_kv_head(file, type),
        .nbytes = entry->nbytes,
    };
}

bool pn_gguf_find_kv(const pn_gguf_file *file, const char *key, size_t key_len, uint32_t nth,
                     uint64_t *i)
{
    pn_named kvs = pn_named_kvs(file->tables);
    return pn_names_find(&file->tables->kv_names, &kvs, key, key_len, nth, i);
}

/* Where the bytes of a tensor are, and how many of them. */
static void locate(const pn_gguf_file *file, const pn_tensor_entry *entry, pn_gguf_tensor *t)
{
    const pn_gguf_shard *shard = &file->shards[t->shard];

    if (__builtin_add_overflow(shard->data_start, entry->rel_offset, &t->offset))
        t->offset = UINT64_MAX;
    if (t->offset < shard->size)
        t->available = MIN(t->nbytes, shard->size - t->offset);
    if (t->available > 0)
        t->data = file->tables->sources[t->shard].data + t->offset;
}

pn_gguf_tensor pn_gguf_tensor_at(const pn_gguf_file *file, uint64_t i)
{
    const pn_gguf_tables *tables = file->tables;
    const pn_tensor_entry *entry = &tables->tensors.items[i];
    const pn_quant_traits *traits = pn_tensor_traits(tables, entry);
    const pn_gguf_source *source = &tables->sources[entry->name.shard];
    bool big_endian = tables->shards[entry->name.shard].big_endian;

    pn_gguf_tensor t = {
        .name = (const char *)source->data + entry->name.at,
        .name_len = entry->name.len,
        .nth = pn_name_nth(&entry->name),
        .type_id = entry->type_id,
        .traits = traits,
        .has_f32 = traits != NULL && traits->dequantizes && (!big_endian || traits->be_defined),
        .big_endian = big_endian,
        .shard = entry->name.shard,
        .n_dims = entry->name.tag & PN_TENSOR_DIMS,
        .n_elems = 1,
        .rel_offset = entry->rel_offset,
        .nbytes = entry->nbytes,
    };
    for (uint32_t d = 0; d < PN_GGUF_MAX_DIMS; d++) {
        t.ne[d] = d < t.n_dims ? tables->dims.items[entry->dims_at + d] : 1;
        t.n_elems *= t.ne[d];
    }
    locate(file, entry, &t);
    return t;
}

bool pn_gguf_find_tensor(const pn_gguf_file *file, const char *name, size_t name_len, uint32_t nth,
                         uint64_t *i)
{
    pn_named tensors = pn_named_tensors(file->tables);
    return pn_names_find(&file->tables->tensor_names, &tensors, name, name_len, nth, i);
}

const char *pn_gguf_shard_name(const pn_gguf_file *file, unsigned shard)
{
    return file->tables->sources[shard].name;
}
