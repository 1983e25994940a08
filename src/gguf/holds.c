/* Whether a header still says what it said when it was parsed. Where it does not, another model may
 * stand in the file by now, and the tables tell the places of the old one. Values are not compared:
 * they may be written anew, each in its place. */
#include "gguf/parser.h"

/* The first tensor of this shard or a later one: they stand in the order of the shards. */
static uint64_t first_tensor(const pn_gguf_tables *tables, unsigned shard)
{
    uint64_t low = 0, high = tables->tensors.n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (tables->tensors.items[middle].name.shard < shard)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Magic, version and counts. Sets how wide the reader's lengths are. */
static bool head_holds(const pn_gguf_file *file, unsigned shard, uint64_t n_tensors, pn_reader *in)
{
    uint32_t version;
    uint64_t n, n_kv;

    if (memcmp(in->data, "GGUF", 4) != 0)
        return false;
    in->at = 4;
    if (!pn_read_u32(in, &version))
        return false;
    in->narrow = version == 1;

    bool is_first = shard == file->kv_shard;
    return (!is_first || version == file->version) && pn_read_size(in, &n) && n == n_tensors &&
           pn_read_size(in, &n_kv) && (!is_first || n_kv == file->n_kv);
}

/* An entry from its name's length on, which is left behind: the names' index knows the hash. */
static bool name_holds(pn_reader *in, const pn_names *names, const pn_named *table, uint64_t i)
{
    const pn_name *name = pn_named_at(table, i);
    const char *bytes = pn_name_bytes(table, name);
    uint64_t len, found;

    in->at = name->at - pn_reader_size_bytes(in);
    return pn_read_size(in, &len) && len == name->len && pn_read_skip(in, len) &&
           pn_names_find(names, table, bytes, len, pn_name_nth(name), &found) && found == i;
}

static bool is_alignment(const pn_gguf_kv *kv)
{
    static const char key[] = PN_KEY_ALIGNMENT;
    return kv->key_len == strlen(key) && memcmp(kv->key, key, kv->key_len) == 0 && kv->nth == 1;
}

static bool key_holds(const pn_gguf_file *file, uint64_t i, pn_reader *in)
{
    const pn_gguf_tables *tables = file->tables;
    pn_gguf_kv kv = pn_gguf_kv_at(file, i);
    pn_named kvs = pn_named_kvs(tables);
    uint32_t type, elem, alignment;
    uint64_t n;

    if ((uint64_t)(kv.data - in->data) > in->size)
        return true; /* it is gone, and nobody reads it */
    if (!name_holds(in, &tables->kv_names, &kvs, i) || !pn_read_u32(in, &type) || type != kv.type)
        return false;
    if (type == PN_GGUF_STRING)
        return pn_read_size(in, &n) && n == kv.nbytes;
    if (type == PN_GGUF_ARRAY)
        return pn_read_u32(in, &elem) && elem == kv.elem && pn_read_size(in, &n) && n == kv.count;
    return !is_alignment(&kv) || !pn_read_u32(in, &alignment) || alignment == file->alignment;
}

static bool tensor_holds(const pn_gguf_file *file, uint64_t i, pn_reader *in)
{
    const pn_gguf_tables *tables = file->tables;
    const pn_tensor_entry *t = &tables->tensors.items[i];
    pn_named tensors = pn_named_tensors(tables);
    uint32_t n_dims = t->name.tag & PN_TENSOR_DIMS;
    uint64_t size = n_dims * pn_reader_size_bytes(in) + 4 + 4 + 8;
    uint32_t n, type_id;
    uint64_t dim, rel_offset;

    if (t->name.at + t->name.len > in->size || size > in->size - t->name.at - t->name.len)
        return true;
    if (!name_holds(in, &tables->tensor_names, &tensors, i) || !pn_read_u32(in, &n) || n != n_dims)
        return false;
    for (uint32_t d = 0; d < n_dims; d++) {
        if (!pn_read_size(in, &dim) || dim != tables->dims.items[t->dims_at + d])
            return false;
    }
    return pn_read_u32(in, &type_id) && type_id == t->type_id && pn_read_u64(in, &rel_offset) &&
           rel_offset == t->rel_offset;
}

bool pn_gguf_shard_holds(const pn_gguf_file *file, unsigned shard, uint64_t size)
{
    const pn_gguf_tables *tables = file->tables;
    const pn_gguf_source *source = &tables->sources[shard];
    uint64_t first = first_tensor(tables, shard), last = first_tensor(tables, shard + 1);
    pn_reader in = {.data = source->data,
                    .size = MIN(size, source->size),
                    .big_endian = tables->shards[shard].big_endian};

    if (!tables->shards[shard].present || in.size < 4 + 4 + 8 + 8)
        return true;
    if (!head_holds(file, shard, last - first, &in))
        return false;
    for (uint64_t i = 0; shard == file->kv_shard && i < file->n_kv; i++) {
        if (!key_holds(file, i, &in))
            return false;
    }
    for (uint64_t i = first; i < last; i++) {
        if (!tensor_holds(file, i, &in))
            return false;
    }
    return true;
}
