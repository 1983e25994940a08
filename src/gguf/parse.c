/* From bytes to a model: puts the header, the layout and the tables together. Knows no path and
 * opens nothing. */
#include "gguf/escape.h"
#include "gguf/parser.h"

G_DEFINE_QUARK(pn_gguf_error, pn_gguf_error)

static uint64_t align_up(uint64_t n, uint64_t alignment)
{
    return (n + alignment - 1) & ~(alignment - 1);
}

static void parser_init(pn_parser *p, pn_gguf_tables *tables, unsigned shard, GError **error)
{
    const pn_gguf_source *source = &tables->sources[shard];
    *p = (pn_parser){
        .in = {.data = source->data, .size = source->size},
        .source = source,
        .tables = tables,
        .shard = shard,
        .error = error,
    };
}

/* Everything after the keys of a file. */
static bool parse_rest(pn_parser *p)
{
    uint64_t first = p->tables->tensors.n;

    if (!pn_parse_tensors(p))
        return false;
    p->tables->shards[p->shard] = (pn_gguf_shard){
        .data = p->source->data,
        .size = p->source->size,
        .data_start = align_up(p->in.at, p->alignment),
        .alignment = p->alignment,
        .big_endian = p->in.big_endian,
        .present = true,
    };
    return pn_layout_check(p, first, p->tables->tensors.n);
}

static void finish(pn_gguf_file *file)
{
    pn_gguf_tables *tables = file->tables;

    pn_array_shrink(&tables->kvs);
    pn_array_shrink(&tables->tensors);
    pn_array_shrink(&tables->dims);
    pn_array_shrink(&tables->problems);
    file->shards = tables->shards;
    file->n_kv = tables->kvs.n;
    file->n_tensors = tables->tensors.n;
    file->n_problems = tables->problems.n;
}

static bool parse(pn_gguf_file *file, GError **error)
{
    pn_gguf_tables *tables = file->tables;
    pn_parser p;

    parser_init(&p, tables, 0, error);
    p.kvs = &tables->kvs;
    p.kv_names = &tables->kv_names;
    if (!pn_parse_keys(&p) || !parse_rest(&p))
        return false;

    file->version = p.version;
    file->big_endian = p.in.big_endian;
    file->alignment = p.alignment;
    file->header_size = p.in.at;
    finish(file);
    return true;
}

static pn_gguf_source copy_source(const pn_gguf_source *source)
{
    return (pn_gguf_source){
        .data = source->data,
        .size = source->size,
        .name = g_strdup(source->name != NULL ? source->name : "(unnamed)"),
    };
}

pn_gguf_file *pn_gguf_parse(const pn_gguf_source *source, const pn_gguf_options *options,
                            GError **error)
{
    g_autoptr(pn_gguf_file) file = g_new0(pn_gguf_file, 1);
    pn_gguf_tables *tables = g_new0(pn_gguf_tables, 1);
    pn_siphash_key key = pn_siphash_random_key();

    file->tables = tables;
    file->n_shards = 1;
    tables->sources = g_new0(pn_gguf_source, 1);
    tables->sources[0] = copy_source(source);
    tables->shards = g_new0(pn_gguf_shard, 1);
    tables->kv_names.key = key;
    tables->tensor_names.key = key;
    return parse(file, error) ? g_steal_pointer(&file) : NULL;
}

void pn_gguf_free(pn_gguf_file *file)
{
    if (file == NULL)
        return;
    pn_gguf_tables *tables = file->tables;
    for (unsigned i = 0; i < file->n_shards; i++) {
        if (tables->release != NULL)
            tables->release(&tables->sources[i]);
        g_free((char *)tables->sources[i].name);
    }
    g_free(tables->sources);
    g_free(tables->shards);
    g_free(tables->kvs.items);
    g_free(tables->tensors.items);
    g_free(tables->dims.items);
    g_free(tables->problems.items);
    pn_names_clear(&tables->kv_names);
    pn_names_clear(&tables->tensor_names);
    g_free(tables);
    g_free(file);
}
