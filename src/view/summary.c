/* summary.txt: the model at a glance, for people: what it is, how large, and of which types its
 * tensors are. A line appears where the file has something to say on it. */
#include <string.h>

#include "gguf/escape.h"
#include "view/model.h"
#include "view/number.h"
#include "view/shard.h"
#include "view/survey.h"
#include "view/tensor.h"

/* Layers that are looked at for the smallest and largest number of heads. */
enum { MAX_LAYERS = 4096, MAX_SHARDS = 64, NAME_WIDTH = 18, GROUPED_MAX = 56 };

/* 1234567 as "1,234,567", with a NUL. */
static const char *grouped(char out[GROUPED_MAX], survey_sum value)
{
    char *at = out + GROUPED_MAX - 1;
    int digits = 0;

    *at = '\0';
    do {
        if (digits > 0 && digits % 3 == 0)
            *--at = ',';
        *--at = (char)('0' + (int)(value % 10));
        value /= 10;
        digits++;
    } while (value > 0);
    return at;
}

/* An empty line, unless the section before said nothing. */
static void begin_section(GString *out)
{
    if (!g_str_has_suffix(out->str, "\n\n"))
        g_string_append_c(out, '\n');
}

static void begin_field(GString *out, const char *name)
{
    g_string_append_printf(out, "%-*s", NAME_WIDTH, name);
}

static void add_field(GString *out, const char *name, const char *value)
{
    begin_field(out, name);
    g_string_append(out, value);
    g_string_append_c(out, '\n');
}

static void add_count(GString *out, const char *name, uint64_t value)
{
    char digits[GROUPED_MAX];

    if (value > 0)
        add_field(out, name, grouped(digits, value));
}

static void add_float(GString *out, const char *name, double value)
{
    char digits[NUMBER_TEXT_MAX + 1];

    digits[number_f64(digits, value)] = '\0';
    add_field(out, name, digits);
}

static bool append_key(GString *out, const pn_gguf_file *gguf, const char *key)
{
    const char *string;
    uint64_t len;

    if (!pn_gguf_get_string(gguf, key, &string, &len) || len == 0)
        return false;
    pn_escape_brief(out, string, len);
    return true;
}

static void add_string(GString *out, const pn_gguf_file *gguf, const char *name, const char *key)
{
    gsize before = out->len;

    begin_field(out, name);
    if (append_key(out, gguf, key))
        g_string_append_c(out, '\n');
    else
        g_string_truncate(out, before);
}

/* " (1.23 B)": three digits and a unit, rounded. */
static void append_rounded(GString *out, double value, double base, const char *const units[])
{
    char digits[G_ASCII_DTOSTR_BUF_SIZE];
    int unit = -1;

    while (value >= base && units[unit + 1]) {
        value /= base;
        unit++;
    }
    if (unit < 0)
        return;
    const char *format = value < 9.995 ? "%.2f" : value < 99.95 ? "%.1f" : "%.0f";
    g_ascii_formatd(digits, sizeof digits, format, value);
    g_string_append_printf(out, " (%s %s)", digits, units[unit]);
}

static void add_parameters(GString *out, const survey *s)
{
    static const char *const short_scale[] = {"K", "M", "B", "T", NULL};
    char digits[GROUPED_MAX];

    begin_field(out, "Parameters");
    if (s->total.tensors == 0) {
        g_string_append(out, "none: the file holds no tensors\n");
        return;
    }
    g_string_append(out, grouped(digits, s->total.parameters));
    append_rounded(out, (double)s->total.parameters, 1000, short_scale);
    g_string_append_c(out, '\n');
}

static void add_size(GString *out, const pn_gguf_file *gguf)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", NULL};
    char digits[GROUPED_MAX];
    survey_sum size = 0;

    for (unsigned i = 0; i < gguf->n_shards; i++)
        size += gguf->shards[i].size;
    begin_field(out, "Size");
    g_string_append_printf(out, "%s bytes", grouped(digits, size));
    append_rounded(out, (double)size, 1024, units);
    if (gguf->n_shards > 1)
        g_string_append_printf(out, " in %u files", gguf->n_shards);
    g_string_append_c(out, '\n');
}

static void add_bits(GString *out, const survey *s)
{
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    if (s->sized.parameters == 0)
        return;
    double bits = (double)s->sized.bytes * 8 / (double)s->sized.parameters;
    add_field(out, "Bits per weight", g_ascii_formatd(digits, sizeof digits, "%.2f", bits));
}

typedef uint64_t (*per_layer)(const pn_gguf_file *gguf, uint64_t layer);

/* "32", or "4 to 32" where layers differ. */
static void append_range(GString *out, const pn_gguf_file *gguf, per_layer get)
{
    char digits[GROUPED_MAX];
    uint64_t layers = MIN(pn_gguf_block_count(gguf), MAX_LAYERS);
    uint64_t low = get(gguf, 0), high = low;

    for (uint64_t i = 1; i < layers; i++) {
        uint64_t n = get(gguf, i);
        low = MIN(low, n);
        high = MAX(high, n);
    }
    g_string_append(out, grouped(digits, low));
    if (low != high)
        g_string_append_printf(out, " to %s", grouped(digits, high));
}

static void add_heads(GString *out, const pn_gguf_file *gguf)
{
    if (pn_gguf_head_count(gguf, 0) == 0)
        return;
    begin_field(out, "Heads");
    append_range(out, gguf, pn_gguf_head_count);
    g_string_append(out, ", keys and values ");
    append_range(out, gguf, pn_gguf_head_count_kv);
    g_string_append_c(out, '\n');
}

static void add_feed_forward(GString *out, const pn_gguf_file *gguf)
{
    if (pn_gguf_feed_forward_length(gguf, 0) == 0)
        return;
    begin_field(out, "Feed-forward");
    append_range(out, gguf, pn_gguf_feed_forward_length);
    g_string_append_c(out, '\n');
}

static void add_arch_count(GString *out, const pn_gguf_file *gguf, const char *name,
                           const char *suffix)
{
    uint64_t value;

    if (pn_gguf_arch_u64(gguf, suffix, 0, &value))
        add_count(out, name, value);
}

static void add_key_count(GString *out, const pn_gguf_file *gguf, const char *name, const char *key)
{
    uint64_t value;

    if (pn_gguf_get_u64(gguf, key, 0, &value))
        add_count(out, name, value);
}

static void add_vocabulary(GString *out, const pn_gguf_file *gguf)
{
    char digits[GROUPED_MAX];
    uint64_t tokens = pn_gguf_token_count(gguf);

    if (tokens == 0)
        return;
    begin_field(out, "Vocabulary");
    g_string_append_printf(out, "%s tokens", grouped(digits, tokens));
    gsize before = out->len;
    g_string_append(out, ", ");
    if (!append_key(out, gguf, "tokenizer.ggml.model"))
        g_string_truncate(out, before);
    g_string_append_c(out, '\n');
}

static void add_identity(GString *out, const pn_gguf_file *gguf)
{
    gsize before = out->len;
    const char *file = shard_file_name(gguf, 0);

    begin_field(out, "Name");
    if (!append_key(out, gguf, "general.name")) {
        g_string_truncate(out, before);
        begin_field(out, "File");
        pn_escape_brief(out, file, strlen(file));
    }
    g_string_append_c(out, '\n');
    add_string(out, gguf, "Kind", "general.type");
    add_string(out, gguf, "Architecture", "general.architecture");
    add_string(out, gguf, "Licence", "general.license");
    add_string(out, gguf, "Adapter", "adapter.type");
    double alpha;
    if (pn_gguf_get_f64(gguf, "adapter.lora.alpha", 0, &alpha))
        add_float(out, "LoRA alpha", alpha);
    add_string(out, gguf, "Projector", "clip.projector_type");
}

static void add_architecture(GString *out, const pn_gguf_file *gguf)
{
    add_count(out, "Layers", pn_gguf_block_count(gguf));
    add_count(out, "Context", pn_gguf_context_length(gguf));
    add_count(out, "Sliding window", pn_gguf_sliding_window(gguf));
    add_count(out, "Embedding", pn_gguf_embedding_length(gguf));
    add_feed_forward(out, gguf);
    add_heads(out, gguf);
    add_arch_count(out, gguf, "Experts", "expert_count");
    add_arch_count(out, gguf, "Experts used", "expert_used_count");
    add_arch_count(out, gguf, "Vision layers", "vision.block_count");
    add_arch_count(out, gguf, "Vision image size", "vision.image_size");
    add_arch_count(out, gguf, "Audio layers", "audio.block_count");
    add_key_count(out, gguf, "Imatrix chunks", "imatrix.chunk_count");
    add_key_count(out, gguf, "Imatrix chunk size", "imatrix.chunk_size");
    add_vocabulary(out, gguf);
}

static void add_file(GString *out, const pn_gguf_file *gguf, const survey *s)
{
    char digits[GROUPED_MAX];

    begin_field(out, "Format");
    g_string_append_printf(out, "GGUF version %u, %s-endian, alignment %u\n", gguf->version,
                           gguf->big_endian ? "big" : "little", gguf->alignment);
    add_field(out, "Keys", grouped(digits, gguf->n_kv));
    add_field(out, "Tensors", grouped(digits, gguf->n_tensors));
    add_count(out, "Cut off", s->n_cut);
    begin_field(out, "Problems");
    if (gguf->n_problems == 0)
        g_string_append(out, "none\n");
    else
        g_string_append_printf(out, "%s, see problems.txt\n", grouped(digits, gguf->n_problems));
}

static void add_row(GString *out, const char *type, const survey_row *row, survey_sum all_bytes)
{
    char tensors[GROUPED_MAX], parameters[GROUPED_MAX], bytes[GROUPED_MAX];
    char share[G_ASCII_DTOSTR_BUF_SIZE] = "";

    if (all_bytes > 0)
        g_strlcat(g_ascii_formatd(share, sizeof share - 1, "%.1f",
                                  100.0 * (double)row->bytes / (double)all_bytes),
                  "%", sizeof share);
    g_string_append_printf(out, "%-15s %9s %20s %20s %6s\n", type, grouped(tensors, row->tensors),
                           grouped(parameters, row->parameters), grouped(bytes, row->bytes), share);
}

static void add_types(GString *out, const survey *s)
{
    char type[TENSOR_TYPE_MAX];

    if (s->total.tensors == 0)
        return;
    begin_section(out);
    g_string_append_printf(out, "%-15s %9s %20s %20s %6s\n", "Type", "Tensors", "Parameters",
                           "Bytes", "Share");
    for (unsigned i = 0; i < s->n; i++) {
        pn_gguf_tensor tensor = {.type_id = s->rows[i].type_id};
        tensor_type_text(type, &tensor);
        add_row(out, type, &s->rows[i], s->total.bytes);
    }
    if (s->others.tensors > 0)
        add_row(out, "others", &s->others, s->total.bytes);
    if (s->n > 1)
        add_row(out, "all", &s->total, s->total.bytes);
}

/* The first tensor that is not from a file before shard `shard`; they stand in this order. */
static uint64_t first_tensor(const pn_gguf_file *gguf, unsigned shard)
{
    uint64_t low = 0, high = gguf->n_tensors;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (pn_gguf_tensor_at(gguf, middle).shard < shard)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Which tensors come from which file of a set. */
static void add_shards(GString *out, const pn_gguf_file *gguf)
{
    char tensors[GROUPED_MAX], bytes[GROUPED_MAX];
    unsigned n = MIN(gguf->n_shards, MAX_SHARDS);

    if (gguf->n_shards == 1)
        return;
    begin_section(out);
    g_string_append_printf(out, "%9s %20s  %s\n", "Tensors", "Bytes", "File");
    for (unsigned i = 0; i < n; i++) {
        const pn_gguf_shard *shard = &gguf->shards[i];
        const char *name = shard_file_name(gguf, i);
        uint64_t count = first_tensor(gguf, i + 1) - first_tensor(gguf, i);
        g_string_append_printf(out, "%9s %20s  ", grouped(tensors, count),
                               shard->present ? grouped(bytes, shard->size) : "left out");
        pn_escape_brief(out, name, strlen(name));
        g_string_append_c(out, '\n');
    }
    if (n < gguf->n_shards)
        g_string_append_printf(out, "and %u more files\n", gguf->n_shards - n);
}

/* Counted once: a summary is made anew for each read. */
static const survey *survey_of(view_model *model)
{
    const survey *known = view_model_kept(model, VIEW_KEPT_SURVEY);
    if (known)
        return known;

    survey counts;
    survey_tensors(view_model_gguf(model), &counts);
    return view_model_keep(model, VIEW_KEPT_SURVEY, g_memdup2(&counts, sizeof counts));
}

static int summary_step(const text_job *job, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);
    GString *out = job->line;
    const survey *counts = survey_of(job->model);

    text_depends(sink, gguf, gguf->kv_shard, gguf->shards[gguf->kv_shard].data, gguf->header_size);
    g_string_truncate(out, 0);
    add_identity(out, gguf);
    add_parameters(out, counts);
    add_bits(out, counts);
    add_size(out, gguf);
    begin_section(out);
    add_architecture(out, gguf);
    begin_section(out);
    add_file(out, gguf, counts);
    add_types(out, counts);
    add_shards(out, gguf);
    text_put(sink, out->str, out->len);
    return TEXT_END;
}

static const text_maker summary_text = {.id = TEXT_SUMMARY, .step = summary_step};

TEXT_VIEW_CALLS(summary, summary_text)

const view view_summary = {
    .path = "summary.txt",
    .scope = VIEW_MODEL,
    .is_sized = summary_is_sized,
    .size = summary_size,
    .read = summary_read,
};
