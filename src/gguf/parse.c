/* From bytes to a model: puts the header, the layout and the tables together. Knows no path and
 * opens nothing. */
#include "gguf/escape.h"
#include "gguf/parser.h"

G_DEFINE_QUARK(pn_gguf_error, pn_gguf_error)

static uint64_t align_up(uint64_t n, uint64_t alignment)
{
    return (n + alignment - 1) & ~(alignment - 1);
}

void pn_parser_init(pn_parser *p, pn_gguf_tables *tables, unsigned shard, GError **error)
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

bool pn_parse_rest(pn_parser *p)
{
    pn_gguf_tables *tables = p->tables;
    uint64_t first = tables->tensors.n;

    if (!pn_parse_tensors(p))
        return false;
    tables->shards[p->shard] = (pn_gguf_shard){
        .data = p->source->data,
        .size = p->source->size,
        .data_start = align_up(p->in.at, p->alignment),
        .alignment = p->alignment,
        .big_endian = p->in.big_endian,
        .present = true,
    };
    return pn_index_tensors(p, first, tables->tensors.n) &&
           pn_layout_check(p, first, tables->tensors.n);
}

void pn_take_metadata(pn_gguf_file *file, const pn_parser *p)
{
    file->version = p->version;
    file->big_endian = p->in.big_endian;
    file->alignment = p->alignment;
    file->header_size = p->in.at;
    file->kv_shard = p->shard;
}

pn_gguf_source pn_source_copy(const pn_gguf_source *source)
{
    return (pn_gguf_source){
        .data = source->data,
        .size = source->size,
        .name = g_strdup(source->name != NULL ? source->name : "(unnamed)"),
    };
}

void pn_tables_resize(pn_gguf_file *file, unsigned n)
{
    pn_gguf_tables *tables = file->tables;
    unsigned old = file->n_shards;

    tables->sources = g_renew(pn_gguf_source, tables->sources, n);
    tables->shards = g_renew(pn_gguf_shard, tables->shards, n);
    tables->absent = g_renew(char *, tables->absent, n);
    for (unsigned i = old; i < n; i++) {
        tables->sources[i] = (pn_gguf_source){0};
        tables->shards[i] = (pn_gguf_shard){.alignment = 1};
        tables->absent[i] = NULL;
    }
    file->n_shards = n;
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

/* Parses the source as a file of its own; where it turns out to be of a set, starts again with all
 * of them. */
static bool parse(pn_gguf_file *file, const pn_gguf_source *source, const pn_gguf_options *options,
                  GError **error)
{
    pn_gguf_tables *tables = file->tables;
    pn_split_info split;
    pn_parser p;

    pn_tables_resize(file, 1);
    tables->sources[0] = pn_source_copy(source);
    pn_parser_init(&p, tables, 0, error);
    p.is_first = true;
    p.kvs = &tables->kvs;
    p.kv_names = &tables->kv_names;
    if (!pn_parse_keys(&p) || !pn_parse_split(&p, &split))
        return false;
    if (split.count > 1)
        return pn_set_parse(file, &split, options, error);
    if (!pn_parse_rest(&p))
        return false;
    pn_take_metadata(file, &p);
    return true;
}

pn_gguf_file *pn_gguf_parse(const pn_gguf_source *source, const pn_gguf_options *options,
                            GError **error)
{
    static const pn_gguf_options no_options = {0};
    g_autoptr(pn_gguf_file) file = g_new0(pn_gguf_file, 1);
    pn_siphash_key key = pn_siphash_random_key();

    file->tables = g_new0(pn_gguf_tables, 1);
    file->tables->kv_names.key = key;
    file->tables->tensor_names.key = key;
    if (!parse(file, source, options != NULL ? options : &no_options, error))
        return NULL;
    finish(file);
    return g_steal_pointer(&file);
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
        g_free(tables->absent[i]);
    }
    g_free(tables->sources);
    g_free(tables->shards);
    g_free(tables->absent);
    g_free(tables->kvs.items);
    g_free(tables->tensors.items);
    g_free(tables->dims.items);
    g_free(tables->problems.items);
    pn_names_clear(&tables->kv_names);
    pn_names_clear(&tables->tensor_names);
    g_free(tables);
    g_free(file);
}
