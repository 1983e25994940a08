/* gguf-sample: writes the demonstration model, a llama small enough to look at.
 *
 * Its metadata are complete for a llama and hold all 13 value types; its tensors have the types of
 * a Q4_K_M file and, in the later layers, most others. The same options give the same bytes. With
 * options it grows: tokens and merges, tensors, or one tensor that is a hole of any size. */
#include "gguf-writer.h"
#include "weights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EMBEDDING = 256,
    FEED_FORWARD = 512,
    HEADS = 4,
    HEADS_KV = 2,
    HEAD_SIZE = EMBEDDING / HEADS,
    CONTEXT = 2048,
    N_LAYERS = 4,
    N_SPECIAL = 3,
    N_BYTES = 256,
};

/* Pieces of the tokenizer after the special and the byte tokens; ▁ is a space. */
static const char *const pieces[] = {
    "▁",      "▁the",  "▁a",    "▁of",   "▁and",   "▁to",     "▁in",    "▁is",  "▁it",
    "▁model", "▁file", "▁disk", "▁read", "▁layer", "▁number", "▁light", "▁sea", "e",
    "t",      "a",     "o",     "i",     "n",      "s",       "r",      "ing",  "er",
    "ion",    "ed",    ".",     ",",     "\n",     "é",       "ß",      "日",   "本",
};

/* The types of a layer's matrices. */
typedef struct {
    pn_gguf_quant q, k, v, output, gate, up, down;
} layer_types;

static const layer_types layers[N_LAYERS] = {
    {PN_GGUF_Q4_K, PN_GGUF_Q4_K, PN_GGUF_Q6_K, PN_GGUF_Q4_K, PN_GGUF_Q4_K, PN_GGUF_Q4_K,
     PN_GGUF_Q6_K},
    {PN_GGUF_Q4_K, PN_GGUF_Q4_K, PN_GGUF_Q4_K, PN_GGUF_Q4_K, PN_GGUF_Q4_K, PN_GGUF_Q4_K,
     PN_GGUF_Q4_K},
    {PN_GGUF_Q8_0, PN_GGUF_Q8_0, PN_GGUF_F16, PN_GGUF_BF16, PN_GGUF_Q4_0, PN_GGUF_Q4_1,
     PN_GGUF_Q5_0},
    {PN_GGUF_Q5_K, PN_GGUF_Q5_K, PN_GGUF_Q6_K, PN_GGUF_Q5_1, PN_GGUF_Q2_K, PN_GGUF_Q3_K,
     PN_GGUF_Q5_K},
};

typedef struct {
    int64_t tokens;  /* 0: the small tokenizer of a llama */
    int64_t tensors; /* further ones */
    int64_t keys;    /* likewise */
    int64_t size;    /* of a further tensor that is a hole */
} sample_options;

static void add_general(gguf_writer *w)
{
    static const char *const tags[] = {"text-generation", "sample"};
    static const char *const languages[] = {"en", "de"};

    writer_string(w, "general.architecture", "llama");
    writer_string(w, "general.type", "model");
    writer_string(w, "general.name", "Sample Llama");
    writer_string(w, "general.size_label", "2.4M");
    writer_string(w, "general.license", "mit");
    writer_string(w, "general.description",
                  "Random numbers in the shape of a language model.\nIt has nothing to say.");
    writer_strings(w, "general.tags", tags, G_N_ELEMENTS(tags));
    writer_strings(w, "general.languages", languages, G_N_ELEMENTS(languages));
    writer_int(w, "general.quantization_version", PN_GGUF_UINT32, 2);
    writer_int(w, "general.file_type", PN_GGUF_UINT32, 15); /* mostly Q4_K_M */
}

static void add_architecture(gguf_writer *w, uint64_t n_tokens)
{
    writer_int(w, "llama.block_count", PN_GGUF_UINT32, N_LAYERS);
    writer_int(w, "llama.context_length", PN_GGUF_UINT32, CONTEXT);
    writer_int(w, "llama.embedding_length", PN_GGUF_UINT32, EMBEDDING);
    writer_int(w, "llama.feed_forward_length", PN_GGUF_UINT32, FEED_FORWARD);
    writer_int(w, "llama.attention.head_count", PN_GGUF_UINT32, HEADS);
    writer_int(w, "llama.attention.head_count_kv", PN_GGUF_UINT32, HEADS_KV);
    writer_float(w, "llama.attention.layer_norm_rms_epsilon", PN_GGUF_FLOAT32, 1e-5);
    writer_int(w, "llama.rope.dimension_count", PN_GGUF_UINT32, HEAD_SIZE);
    writer_float(w, "llama.rope.freq_base", PN_GGUF_FLOAT32, 10000);
    writer_int(w, "llama.vocab_size", PN_GGUF_UINT32, n_tokens);
}

/* The text of token i; numbered ones fill up a tokenizer of any size. */
static void token_text(char *out, size_t size, uint64_t i)
{
    static const char *const special[N_SPECIAL] = {"<unk>", "<s>", "</s>"};
    if (i < N_SPECIAL) {
        snprintf(out, size, "%s", special[i]);
    } else if (i < N_SPECIAL + N_BYTES) {
        snprintf(out, size, "<0x%02X>", (unsigned)(i - N_SPECIAL));
    } else if (i < N_SPECIAL + N_BYTES + G_N_ELEMENTS(pieces)) {
        snprintf(out, size, "%s", pieces[i - N_SPECIAL - N_BYTES]);
    } else {
        snprintf(out, size, "▁token%" G_GUINT64_FORMAT, i);
    }
}

/* As llama.cpp numbers them: 1 normal, 2 unknown, 3 control, 6 byte. */
static unsigned token_type(uint64_t i)
{
    if (i == 0) {
        return 2;
    }
    if (i < N_SPECIAL) {
        return 3;
    }
    return i < N_SPECIAL + N_BYTES ? 6 : 1;
}

static void add_merges(gguf_writer *w, uint64_t n)
{
    writer_key(w, "tokenizer.ggml.merges", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_STRING, n);
    for (uint64_t i = 0; i < n; i++) {
        char merge[64];
        snprintf(merge, sizeof merge, "▁to ken%" G_GUINT64_FORMAT, i);
        writer_put_string(w, merge, -1);
    }
}

static void add_tokenizer(gguf_writer *w, uint64_t n_tokens, bool with_merges)
{
    writer_string(w, "tokenizer.ggml.model", with_merges ? "gpt2" : "llama");
    writer_string(w, "tokenizer.ggml.pre", "default");

    writer_key(w, "tokenizer.ggml.tokens", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_STRING, n_tokens);
    for (uint64_t i = 0; i < n_tokens; i++) {
        char text[64];
        token_text(text, sizeof text, i);
        writer_put_string(w, text, -1);
    }

    writer_key(w, "tokenizer.ggml.scores", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_FLOAT32, n_tokens);
    for (uint64_t i = 0; i < n_tokens; i++) {
        bool is_piece = i >= N_SPECIAL + N_BYTES;
        double rank = is_piece ? (double)(i - N_SPECIAL - N_BYTES) : 0;
        writer_put_float(w, PN_GGUF_FLOAT32, 0 - rank);
    }

    writer_key(w, "tokenizer.ggml.token_type", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_INT32, n_tokens);
    for (uint64_t i = 0; i < n_tokens; i++) {
        writer_put_int(w, PN_GGUF_INT32, token_type(i));
    }

    if (with_merges) {
        add_merges(w, n_tokens);
    }
    writer_int(w, "tokenizer.ggml.unknown_token_id", PN_GGUF_UINT32, 0);
    writer_int(w, "tokenizer.ggml.bos_token_id", PN_GGUF_UINT32, 1);
    writer_int(w, "tokenizer.ggml.eos_token_id", PN_GGUF_UINT32, 2);
    writer_int(w, "tokenizer.ggml.add_bos_token", PN_GGUF_BOOL, true);
    writer_int(w, "tokenizer.ggml.add_eos_token", PN_GGUF_BOOL, false);
    writer_string(w, "tokenizer.chat_template",
                  "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n"
                  "{% endfor %}");
}

/* What a llama does not use: the other value types, an empty array, arrays in an array. */
static void add_remaining_types(gguf_writer *w)
{
    writer_int(w, "sample.uint8", PN_GGUF_UINT8, UINT8_MAX);
    writer_int(w, "sample.int8", PN_GGUF_INT8, (uint64_t)INT8_MIN);
    writer_int(w, "sample.uint16", PN_GGUF_UINT16, UINT16_MAX);
    writer_int(w, "sample.int16", PN_GGUF_INT16, (uint64_t)INT16_MIN);
    writer_int(w, "sample.int32", PN_GGUF_INT32, (uint64_t)INT32_MIN);
    writer_int(w, "sample.uint64", PN_GGUF_UINT64, UINT64_MAX);
    writer_int(w, "sample.int64", PN_GGUF_INT64, (uint64_t)INT64_MIN);
    writer_float(w, "sample.float64", PN_GGUF_FLOAT64, 0.1);

    writer_key(w, "sample.empty", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_FLOAT32, 0);

    writer_key(w, "sample.rows", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_ARRAY, 2);
    writer_put_array(w, PN_GGUF_UINT16, 2);
    writer_put_int(w, PN_GGUF_UINT16, 1);
    writer_put_int(w, PN_GGUF_UINT16, 2);
    writer_put_array(w, PN_GGUF_STRING, 2);
    writer_put_string(w, "three", -1);
    writer_put_string(w, "\"four\"\t", -1);
}

/* rows 0: a vector of `cols` numbers around 1, as a norm has. */
static void add_tensor(gguf_writer *w, const char *name, pn_gguf_quant type, uint64_t cols,
                       uint64_t rows, uint64_t *state)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    uint64_t ne[] = {cols, rows};
    weights_append(bytes, type, cols * MAX(rows, 1), rows == 0, state);
    writer_tensor(w, name, -1, type, rows == 0 ? 1 : 2, ne, bytes->data, bytes->len);
}

static void add_layer(gguf_writer *w, unsigned no, uint64_t *state)
{
    const layer_types *types = &layers[no];
    const uint64_t kv = (uint64_t)HEADS_KV * HEAD_SIZE;
    const struct {
        const char *rest;
        pn_gguf_quant type;
        uint64_t cols, rows;
    } tensors[] = {
        {"attn_norm", PN_GGUF_F32, EMBEDDING, 0},
        {"attn_q", types->q, EMBEDDING, EMBEDDING},
        {"attn_k", types->k, EMBEDDING, kv},
        {"attn_v", types->v, EMBEDDING, kv},
        {"attn_output", types->output, EMBEDDING, EMBEDDING},
        {"ffn_norm", PN_GGUF_F32, EMBEDDING, 0},
        {"ffn_gate", types->gate, EMBEDDING, FEED_FORWARD},
        {"ffn_up", types->up, EMBEDDING, FEED_FORWARD},
        {"ffn_down", types->down, FEED_FORWARD, EMBEDDING},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(tensors); i++) {
        g_autofree char *name = g_strdup_printf("blk.%u.%s.weight", no, tensors[i].rest);
        add_tensor(w, name, tensors[i].type, tensors[i].cols, tensors[i].rows, state);
    }
}

static void add_tensors(gguf_writer *w, uint64_t n_tokens, int64_t n_more, uint64_t *state)
{
    add_tensor(w, "token_embd.weight", PN_GGUF_Q6_K, EMBEDDING, n_tokens, state);
    for (unsigned no = 0; no < N_LAYERS; no++) {
        add_layer(w, no, state);
    }
    add_tensor(w, "output_norm.weight", PN_GGUF_F32, EMBEDDING, 0, state);
    for (int64_t i = 0; i < n_more; i++) {
        g_autofree char *name = g_strdup_printf(
            "more.%" G_GINT64_FORMAT ".expert.%" G_GINT64_FORMAT ".weight", i / 100, i % 100);
        add_tensor(w, name, PN_GGUF_F32, 8, 0, state);
    }
}

/* The last tensor: its bytes are the hole after the end of what was written. */
static void add_hole(gguf_writer *w, int64_t size)
{
    uint64_t ne[] = {EMBEDDING, (uint64_t)size / 2 / EMBEDDING};
    writer_tensor_info(w, "hole.weight", -1, PN_GGUF_F16, 2, ne, w->data->len);
}

static bool write_sample(const sample_options *options, const char *path, GError **error)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    uint64_t state = 1;
    uint64_t n_small = N_SPECIAL + N_BYTES + G_N_ELEMENTS(pieces);
    uint64_t n_tokens = options->tokens > 0 ? (uint64_t)options->tokens : n_small;

    add_general(w);
    add_architecture(w, n_tokens);
    add_tokenizer(w, n_tokens, options->tokens > 0);
    add_remaining_types(w);
    for (int64_t i = 0; i < options->keys; i++) {
        g_autofree char *key = g_strdup_printf("more.%" G_GINT64_FORMAT ".key", i);
        writer_int(w, key, PN_GGUF_UINT32, (uint64_t)i);
    }
    /* a huge tokenizer is for its texts: its embedding stays small */
    add_tensors(w, MIN(n_tokens, 4096), options->tensors, &state);
    if (options->size == 0) {
        return writer_save(w, path, error);
    }

    add_hole(w, options->size);
    g_autoptr(GByteArray) file = writer_finish(w);
    int64_t whole = (int64_t)file->len + options->size / 2 / EMBEDDING * 2 * EMBEDDING;
    if (!writer_save(w, path, error)) {
        return false;
    }
    if (truncate(path, whole) != 0) {
        g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno), "%s: %s", path,
                    g_strerror(errno));
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    sample_options options = {0};
    const GOptionEntry entries[] = {
        {"tokens", 0, 0, G_OPTION_ARG_INT64, &options.tokens,
         "a tokenizer of N tokens and N merges", "N"},
        {"tensors", 0, 0, G_OPTION_ARG_INT64, &options.tensors, "N more tensors, small ones", "N"},
        {"keys", 0, 0, G_OPTION_ARG_INT64, &options.keys, "N more keys, of uint32", "N"},
        {"size", 0, 0, G_OPTION_ARG_INT64, &options.size,
         "one more F16 tensor of BYTES bytes, a hole in the file", "BYTES"},
        {NULL},
    };
    g_autoptr(GError) error = NULL;
    g_autoptr(GOptionContext) context = g_option_context_new("FILE");
    g_option_context_set_summary(context, "Writes a small GGUF model of random weights.");
    g_option_context_add_main_entries(context, entries, NULL);
    bool ok = g_option_context_parse(context, &argc, &argv, &error);
    if (ok && (argc != 2 || options.tokens < 0 || options.tensors < 0 || options.keys < 0 ||
               options.size < 0)) {
        ok = false;
        g_set_error(&error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "give one file to write, and numbers of 0 or more (see --help)");
    }
    ok = ok && write_sample(&options, argv[1], &error);
    if (!ok) {
        fprintf(stderr, "gguf-sample: %s\n", error->message);
    }
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
