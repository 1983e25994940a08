/* What is odd about a file, as sentences. Knows only what the parser noted. */
#include "gguf/escape.h"
#include "gguf/tables.h"

static void begin_key(const pn_gguf_file *file, uint64_t i, GString *out)
{
    pn_gguf_kv kv = pn_gguf_kv_at(file, i);
    g_string_append_printf(out, "key %" G_GUINT64_FORMAT " (", i + 1);
    pn_escape_brief(out, kv.key, kv.key_len);
    g_string_append(out, ") ");
}

static void append_tensor(const pn_gguf_file *file, uint64_t i, GString *out)
{
    pn_gguf_tensor t = pn_gguf_tensor_at(file, i);
    g_string_append_printf(out, "tensor %" G_GUINT64_FORMAT " (", i + 1);
    pn_escape_brief(out, t.name, t.name_len);
    g_string_append(out, ")");
}

static void key_sentence(const pn_gguf_file *file, const pn_problem *problem, GString *out)
{
    begin_key(file, problem->index, out);
    switch ((pn_problem_kind)problem->kind) {
    case PN_PROBLEM_KEY_EMPTY:
        g_string_append(out, "has an empty name");
        break;
    case PN_PROBLEM_KEY_DUPLICATE:
        g_string_append_printf(out, "has the name of an earlier key; it is number %u of them",
                               pn_gguf_kv_at(file, problem->index).nth);
        break;
    default:
        g_string_append_printf(out,
                               "holds a bool that is stored as %u, where 0 and 1 are the only "
                               "ones; it reads as true",
                               (unsigned)problem->number);
    }
}

static const char *type_name(const pn_gguf_tensor *t)
{
    const pn_quant_traits *traits = pn_quant_traits_of(t->type_id);
    return traits != NULL ? traits->name : "unknown";
}

static void type_sentence(const pn_gguf_tensor *t, const pn_problem *problem, GString *out)
{
    static const char raw_only[] = "; only its raw bytes are shown";

    switch ((pn_problem_kind)problem->kind) {
    case PN_PROBLEM_TYPE_UNKNOWN:
        g_string_append_printf(out, " is of type %u, which is unknown%s", t->type_id, raw_only);
        break;
    case PN_PROBLEM_TYPE_NO_F32:
        g_string_append_printf(out, " is of type %s, which cannot be dequantized%s", type_name(t),
                               raw_only);
        break;
    case PN_PROBLEM_TYPE_BIG_ENDIAN:
        g_string_append_printf(out, " is of type %s, whose big-endian layout is not defined%s",
                               type_name(t), raw_only);
        break;
    case PN_PROBLEM_ROW_PARTIAL:
        g_string_append_printf(
            out,
            " has rows of %" G_GUINT64_FORMAT " elements, no whole number of %s blocks of %u%s",
            t->ne[0], type_name(t), pn_quant_traits_of(t->type_id)->block_elems, raw_only);
        break;
    default:
        g_string_append_printf(
            out,
            " would take %" G_GUINT64_FORMAT
            " bytes as type %u (%s), which the place of the next tensor contradicts: "
            "perhaps it is a type of another program with the same number%s",
            problem->number, t->type_id, type_name(t), raw_only);
    }
}

static void place_sentence(const pn_gguf_file *file, const pn_gguf_tensor *t,
                           const pn_problem *problem, GString *out)
{
    switch ((pn_problem_kind)problem->kind) {
    case PN_PROBLEM_TENSOR_DUPLICATE:
        g_string_append_printf(out, " has the name of an earlier tensor; it is number %u of them",
                               t->nth);
        break;
    case PN_PROBLEM_UNALIGNED:
        g_string_append_printf(
            out, " begins at offset %" G_GUINT64_FORMAT ", no multiple of the alignment, %u",
            t->rel_offset, file->shards[t->shard].alignment);
        break;
    case PN_PROBLEM_GAP:
        g_string_append_printf(out,
                               " comes after %" G_GUINT64_FORMAT " bytes that belong to no tensor",
                               problem->number);
        break;
    case PN_PROBLEM_OVERLAP:
        g_string_append(out, " overlaps ");
        append_tensor(file, problem->number, out);
        break;
    default:
        g_string_append_printf(out,
                               " is cut off by the end of the file: %" G_GUINT64_FORMAT
                               " of its %" G_GUINT64_FORMAT " bytes are there",
                               t->available, t->nbytes);
    }
}

static void file_sentence(const pn_gguf_file *file, const pn_problem *problem, GString *out)
{
    switch ((pn_problem_kind)problem->kind) {
    case PN_PROBLEM_SHARD_ABSENT:
        g_string_append_printf(out, "shard %u of %u is left out: %s", (unsigned)problem->index + 1,
                               file->n_shards, file->tables->absent[problem->index]);
        break;
    case PN_PROBLEM_TENSOR_COUNT:
        g_string_append_printf(out,
                               "the set holds %" G_GUINT64_FORMAT
                               " tensors, where its split.tensors.count says %" G_GUINT64_FORMAT,
                               file->n_tensors, problem->number);
        break;
    default:
        g_string_append_printf(out, "%" G_GUINT64_FORMAT " bytes follow the last tensor",
                               problem->number);
    }
}

/* In a set, a sentence about one of its files begins with that file's name. */
static void begin_shard(const pn_gguf_file *file, unsigned shard, GString *out)
{
    if (file->n_shards == 1)
        return;
    const char *name = pn_gguf_shard_name(file, shard);
    pn_escape_brief(out, name, strlen(name));
    g_string_append(out, ": ");
}

void pn_gguf_problem_text(const pn_gguf_file *file, uint64_t i, GString *out)
{
    const pn_problem *problem = &file->tables->problems.items[i];

    if (problem->kind >= PN_PROBLEM_TRAILING) {
        if (problem->kind == PN_PROBLEM_TRAILING)
            begin_shard(file, (unsigned)problem->index, out);
        file_sentence(file, problem, out);
        return;
    }
    if (problem->kind <= PN_PROBLEM_KEY_BOOL) {
        key_sentence(file, problem, out);
        return;
    }
    pn_gguf_tensor t = pn_gguf_tensor_at(file, problem->index);
    begin_shard(file, t.shard, out);
    append_tensor(file, problem->index, out);
    if (problem->kind >= PN_PROBLEM_TYPE_UNKNOWN && problem->kind <= PN_PROBLEM_SIZE_CONTRADICTED)
        type_sentence(&t, problem, out);
    else
        place_sentence(file, &t, problem, out);
}
