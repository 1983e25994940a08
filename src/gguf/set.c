/* Split sets: one model in several files.
 *
 * The metadata of the file that was named say which of how many it is; the others are asked for by
 * number. Every file must agree with it, and keys are those of the first. With `partial`, a file
 * that cannot be had or does not fit is left out and noted. Knows no path. */
#include "gguf/escape.h"
#include "gguf/parser.h"
#include "gguf/split.h"

static const char no_key[] = "split.no";
static const char count_key[] = "split.count";
static const char tensors_key[] = "split.tensors.count";

/* A whole number of any type, not negative. */
static bool entry_number(const pn_parser *p, const pn_kv_entry *kv, uint64_t *out)
{
    const uint8_t *data = p->in.data + kv->name.at + kv->name.len + 4;
    bool be = p->in.big_endian;
    int64_t i;

    switch ((pn_gguf_type)(kv->name.tag & 0xFF)) {
    case PN_GGUF_UINT8:
        i = *data;
        break;
    case PN_GGUF_INT8:
        i = (int8_t)*data;
        break;
    case PN_GGUF_UINT16:
        i = pn_load_u16(data, be);
        break;
    case PN_GGUF_INT16:
        i = (int16_t)pn_load_u16(data, be);
        break;
    case PN_GGUF_UINT32:
        i = pn_load_u32(data, be);
        break;
    case PN_GGUF_INT32:
        i = (int32_t)pn_load_u32(data, be);
        break;
    case PN_GGUF_UINT64: /* what does not fit is as impossible as a negative number */
    case PN_GGUF_INT64:
        i = (int64_t)pn_load_u64(data, be);
        break;
    default:
        return false;
    }
    *out = (uint64_t)i;
    return i >= 0;
}

/* found: whether there is such a key. */
static bool read_number(pn_parser *p, const char *key, bool *found, uint64_t *out)
{
    const pn_kv_entry *kv = pn_parser_find_key(p, key);
    *found = kv != NULL;
    if (kv == NULL || entry_number(p, kv, out))
        return true;
    return pn_refuse(p, PN_GGUF_ERROR_INVALID,
                     "%s (of type %s) is no whole number from 0; the file is damaged", key,
                     pn_gguf_type_name(kv->name.tag & 0xFF));
}

bool pn_parse_split(pn_parser *p, pn_split_info *info)
{
    bool has_count, has_no;

    *info = (pn_split_info){0};
    if (!read_number(p, count_key, &has_count, &info->count))
        return false;
    if (info->count <= 1)
        return true;
    if (!read_number(p, no_key, &has_no, &info->no) ||
        !read_number(p, tensors_key, &info->has_n_tensors, &info->n_tensors))
        return false;
    if (!has_no)
        return pn_refuse(p, PN_GGUF_ERROR_SHARD,
                         "the file says it is one of %" G_GUINT64_FORMAT
                         " shards (%s), and not which (%s); write the set anew",
                         info->count, count_key, no_key);
    if (info->count > PN_SPLIT_MAX || info->no >= info->count)
        return pn_refuse(p, PN_GGUF_ERROR_SHARD,
                         "the file says it is shard %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                         ", which is impossible; it is damaged",
                         info->no + 1, info->count);
    return true;
}

typedef struct {
    pn_gguf_file *file;
    const pn_gguf_options *options;
    pn_split_info info; /* of the file that was named */
    const char *named;  /* its path, escaped */
    bool has_first;     /* the file whose keys are the model's was parsed */
} set;

/* Whether the file is shard p->shard of the set. */
static bool check_member(const set *s, pn_parser *p)
{
    pn_split_info own;

    if (!pn_parse_split(p, &own))
        return false;
    if (own.count <= 1)
        return pn_refuse(p, PN_GGUF_ERROR_SHARD,
                         "the file is no shard of a set (no %s), where shard %u of %s belongs",
                         count_key, p->shard + 1, s->named);
    if (own.count != s->info.count)
        return pn_refuse(p, PN_GGUF_ERROR_SHARD,
                         "the file is one of %" G_GUINT64_FORMAT " shards, where %s is one of "
                         "%" G_GUINT64_FORMAT "; they are not of one set",
                         own.count, s->named, s->info.count);
    if (own.no != p->shard)
        return pn_refuse(p, PN_GGUF_ERROR_SHARD,
                         "the file says it is shard %" G_GUINT64_FORMAT
                         ", where shard %u belongs; it was renamed, or is there twice",
                         own.no + 1, p->shard + 1);
    if (own.has_n_tensors && s->info.has_n_tensors && own.n_tensors != s->info.n_tensors)
        return pn_refuse(p, PN_GGUF_ERROR_SHARD,
                         "the file is of a set of %" G_GUINT64_FORMAT
                         " tensors (%s), and %s of one of %" G_GUINT64_FORMAT
                         "; they are not of one set",
                         own.n_tensors, tensors_key, s->named, s->info.n_tensors);
    return true;
}

/* Where both files name a key that all files of a model have in common, it must be the same. */
static bool check_same_model(const set *s, pn_parser *p)
{
    static const char *const keys[] = {"general.architecture", "general.name"};

    for (size_t k = 0; k < G_N_ELEMENTS(keys); k++) {
        const pn_kv_entry *own = pn_parser_find_key(p, keys[k]);
        uint64_t i;
        if (own == NULL || (own->name.tag & 0xFF) != PN_GGUF_STRING ||
            !pn_gguf_find_kv(s->file, keys[k], strlen(keys[k]), 1, &i))
            continue;
        pn_gguf_kv first = pn_gguf_kv_at(s->file, i);
        const uint8_t *data =
            p->in.data + own->name.at + own->name.len + 4 + pn_reader_size_bytes(&p->in);
        if (first.type != PN_GGUF_STRING || first.nbytes != own->nbytes ||
            (own->nbytes > 0 && memcmp(first.data, data, own->nbytes) != 0))
            return pn_refuse(p, PN_GGUF_ERROR_SHARD,
                             "the file's %s is not that of the first file; they are not of one set",
                             keys[k]);
    }
    return true;
}

static bool parse_first(set *s, pn_parser *p)
{
    pn_gguf_tables *tables = s->file->tables;

    p->is_first = true;
    p->kvs = &tables->kvs;
    p->kv_names = &tables->kv_names;
    if (!pn_parse_keys(p) || !check_member(s, p) || !pn_parse_rest(p)) {
        tables->kvs.n = 0;
        pn_names_clear(&tables->kv_names);
        return false;
    }
    pn_take_metadata(s->file, p);
    s->has_first = true;
    return true;
}

static bool parse_other(set *s, pn_parser *p)
{
    pn_kv_array kvs = {0};
    pn_names kv_names = {.key = s->file->tables->kv_names.key};

    p->kvs = &kvs;
    p->kv_names = &kv_names;
    bool ok = pn_parse_keys(p) && check_member(s, p) && check_same_model(s, p) && pn_parse_rest(p);
    g_free(kvs.items);
    pn_names_clear(&kv_names);
    return ok;
}

/* Parses a shard whose source is there. Where it is refused, nothing of it stays in the tables. */
static bool parse_shard(set *s, unsigned no, GError **error)
{
    pn_gguf_tables *tables = s->file->tables;
    size_t n_tensors = tables->tensors.n, n_dims = tables->dims.n, n_problems = tables->problems.n;
    pn_parser p;

    pn_parser_init(&p, tables, no, error);
    p.is_one_set = !s->options->partial;
    if (s->has_first ? parse_other(s, &p) : parse_first(s, &p))
        return true;
    tables->tensors.n = n_tensors;
    tables->dims.n = n_dims;
    tables->problems.n = n_problems;
    tables->shards[no].present = false;
    return false;
}

static bool open_shard(set *s, unsigned no, GError **error)
{
    unsigned count = (unsigned)s->info.count;
    g_autoptr(GError) why = NULL;
    pn_gguf_source source;

    if (s->options->open_shard == NULL) {
        g_set_error(error, PN_GGUF_ERROR, PN_GGUF_ERROR_SHARD,
                    "%s: the file is shard %" G_GUINT64_FORMAT
                    " of %u of a model, and the others were not given",
                    s->named, s->info.no + 1, count);
        return false;
    }
    if (!s->options->open_shard(s->options->user, no, count, &source, &why)) {
        const char *reason = why != NULL ? why->message : "unknown error";
        if (s->options->partial)
            g_set_error_literal(error, PN_GGUF_ERROR, PN_GGUF_ERROR_SHARD, reason);
        else
            g_set_error(error, PN_GGUF_ERROR, PN_GGUF_ERROR_SHARD,
                        "%s: shard %u of %u cannot be had: %s; put all shards into one directory, "
                        "or use the option partial",
                        s->named, no + 1, count, reason);
        return false;
    }
    s->file->tables->sources[no] = pn_source_copy(&source);
    return true;
}

/* With `partial`: the shard is left out, and this is why. */
static bool leave_out(set *s, unsigned no, GError *why)
{
    pn_gguf_tables *tables = s->file->tables;

    if (tables->sources[no].name == NULL)
        tables->sources[no].name = g_strdup_printf("shard %u", no + 1);
    tables->absent[no] = g_strdup(why->message);
    return pn_problem_add(tables, PN_PROBLEM_SHARD_ABSENT, no, 0);
}

/* Whether names were indexed whose tensors were taken back: out of memory, which ends everything.
 */
static bool is_index_spoilt(const set *s)
{
    return s->file->tables->tensor_names.n_used != s->file->tables->tensors.n;
}

static bool parse_shards(set *s, GError **error)
{
    for (unsigned no = 0; no < s->info.count; no++) {
        g_autoptr(GError) why = NULL;
        bool is_named = no == s->info.no;
        if ((is_named || open_shard(s, no, &why)) && parse_shard(s, no, &why))
            continue;
        if (is_named || !s->options->partial || is_index_spoilt(s) || !leave_out(s, no, why)) {
            g_propagate_error(error, g_steal_pointer(&why));
            return false;
        }
    }
    return true;
}

static bool check_tensor_count(const set *s, GError **error)
{
    const pn_gguf_tables *tables = s->file->tables;
    uint64_t n = tables->tensors.n, claimed = s->info.n_tensors;

    if (!s->info.has_n_tensors || n == claimed)
        return true;
    if (!s->options->partial) {
        g_set_error(error, PN_GGUF_ERROR, PN_GGUF_ERROR_SHARD,
                    "%s: the set holds %" G_GUINT64_FORMAT " tensors, where its %s says "
                    "%" G_GUINT64_FORMAT "; it is damaged; the option partial shows what is there",
                    s->named, n, tensors_key, claimed);
        return false;
    }
    for (unsigned no = 0; no < s->file->n_shards; no++)
        if (tables->absent[no] != NULL)
            return true;
    return pn_problem_add(s->file->tables, PN_PROBLEM_TENSOR_COUNT, 0, claimed);
}

bool pn_set_parse(pn_gguf_file *file, const pn_split_info *info, const pn_gguf_options *options,
                  GError **error)
{
    pn_gguf_tables *tables = file->tables;
    g_autoptr(GString) path = g_string_new(NULL);
    pn_gguf_source source = tables->sources[0];
    set s = {.file = file, .options = options, .info = *info};

    pn_escape_brief(path, source.name, strlen(source.name));
    s.named = path->str;

    /* What was read of the keys is read again, in its place. */
    tables->kvs.n = 0;
    tables->problems.n = 0;
    pn_names_clear(&tables->kv_names);
    pn_tables_resize(file, (unsigned)info->count);
    tables->sources[0] = (pn_gguf_source){0};
    tables->sources[info->no] = source;

    return parse_shards(&s, error) && check_tensor_count(&s, error);
}
