/* Random pieces of GGUF files: generate.h. */
#include "generate.h"

#include <string.h>

enum { TEXT_MAX = 300, MAX_BLOCKS = 6, MAX_DEPTH = 18 };

static const char *const keys[] = {
    "general.architecture",
    "general.alignment",
    "general.name",
    "general.file_type",
    "llama.block_count",
    "llama.context_length",
    "llama.embedding_length",
    "llama.attention.head_count",
    "tokenizer.ggml.tokens",
    "tokenizer.ggml.scores",
    "tokenizer.chat_template",
    "split.no",
    "split.count",
    "split.tensors.count",
    "a/b",
    "..",
    "%41",
};

static const char *const tensors[] = {
    "token_embd.weight",
    "output.weight",
    "blk.0.attn_q.weight",
    "blk.0.ffn_up.weight",
    "blk.1.attn_q.weight",
    "blk.11..",
    "blk.00.x",
    "blk.4294967296.x",
    "blk.7.",
    "blk.7.%",
    ".",
    "..",
    "a/b",
    "a",
    "x.npy",
};

#define PICK(dice, array) ((array)[fuzz_below(dice, G_N_ELEMENTS(array))])

uint64_t generate_odd_number(fuzz_dice *dice, uint64_t near)
{
    static const uint64_t odd[] = {
        0,
        1,
        2,
        3,
        16,
        17,
        31,
        32,
        64,
        255,
        256,
        65535,
        65536,
        INT32_MAX,
        UINT32_MAX,
        1ULL << 32,
        1ULL << 40,
        1ULL << 59,
        1ULL << 61,
        INT64_MAX,
        1ULL << 63,
        UINT64_MAX,
        UINT64_MAX - 31,
    };
    switch (fuzz_below(dice, 4)) {
    case 0:
        return near + fuzz_below(dice, 5) - 2;
    case 1:
        return near ^ 1ULL << fuzz_below(dice, 64);
    case 2:
        return UINT64_C(1) << fuzz_below(dice, 64);
    default:
        return PICK(dice, odd);
    }
}

static void random_bytes(fuzz_dice *dice, uint8_t *bytes, size_t n)
{
    bool plain = fuzz_below(dice, 2) == 0;
    for (size_t i = 0; i < n; i++)
        bytes[i] = plain ? (uint8_t)('a' + fuzz_below(dice, 4)) : (uint8_t)fuzz_roll(dice);
}

/* Bytes for a string: often few, now and then so many that a file name is cut. */
static size_t random_text(fuzz_dice *dice, char text[TEXT_MAX])
{
    static const uint8_t lengths[] = {0, 1, 2, 5, 9, 20};
    size_t len =
        fuzz_below(dice, 8) == 0 ? 80 + fuzz_below(dice, TEXT_MAX - 80) : PICK(dice, lengths);
    random_bytes(dice, (uint8_t *)text, len);
    return len;
}

static const char *pick_name(fuzz_dice *dice, const char *const *names, size_t n,
                             char text[TEXT_MAX], gssize *len)
{
    *len = -1;
    if (fuzz_below(dice, 3) > 0)
        return names[fuzz_below(dice, n)];
    *len = (gssize)random_text(dice, text);
    return text;
}

static void put_number(gguf_writer *w, uint32_t type, fuzz_dice *dice)
{
    static const double floats[] = {0.0, -0.0, 1e-5, 0.1, 1e30, -3.0, 1e-45};

    if (type == PN_GGUF_FLOAT32 || type == PN_GGUF_FLOAT64)
        writer_put_float(w, type, PICK(dice, floats));
    else if (type == PN_GGUF_BOOL)
        writer_put_int(w, type, fuzz_below(dice, 3));
    else
        writer_put_int(w, type, generate_odd_number(dice, fuzz_below(dice, 100)));
}

static void put_value(gguf_writer *w, uint32_t type, unsigned depth, fuzz_dice *dice)
{
    char text[TEXT_MAX];

    if (type == PN_GGUF_STRING) {
        size_t len = random_text(dice, text);
        writer_put_string(w, text, (gssize)len);
    } else if (type == PN_GGUF_ARRAY) {
        uint32_t elem = (uint32_t)fuzz_below(dice, 13);
        if (depth == MAX_DEPTH)
            elem = PN_GGUF_UINT8;
        else if (depth > 2) /* one in one in one, or none */
            elem = fuzz_below(dice, 8) > 0 ? PN_GGUF_ARRAY : PN_GGUF_STRING;
        uint64_t count = depth > 1 ? fuzz_below(dice, 2) : fuzz_below(dice, 6);
        writer_put_array(w, elem, count);
        for (uint64_t i = 0; i < count; i++)
            put_value(w, elem, depth + 1, dice);
    } else {
        put_number(w, type, dice);
    }
}

void generate_kv(gguf_writer *w, fuzz_dice *dice)
{
    char text[TEXT_MAX];
    gssize len;
    const char *key = pick_name(dice, keys, G_N_ELEMENTS(keys), text, &len);
    uint32_t type = (uint32_t)fuzz_below(dice, 13);

    if (fuzz_below(dice, 16) == 0) {
        writer_int(w, "general.alignment", PN_GGUF_UINT32, 1ULL << fuzz_below(dice, 12));
    } else if (fuzz_below(dice, 8) == 0) {
        writer_string(w, "general.architecture", "llama");
    } else {
        writer_key(w, key, len, type);
        put_value(w, type, 0, dice);
    }
}

/* Dimensions of a few blocks, the first a whole number of blocks (mostly). Returns the blocks. */
static size_t random_dims(fuzz_dice *dice, const pn_quant_traits *traits, uint32_t *n_dims,
                          uint64_t ne[PN_GGUF_MAX_DIMS])
{
    static const uint8_t counts[] = {1, 2, 2, 2, 3, 4, 8, 0};
    size_t n_blocks = 1;

    *n_dims = PICK(dice, counts);
    for (uint32_t i = 0; i < *n_dims; i++) {
        ne[i] = n_blocks < MAX_BLOCKS ? fuzz_below(dice, 3) + 1 : 1;
        n_blocks *= ne[i];
    }
    if (*n_dims == 0)
        return 1;
    ne[0] *= traits->block_elems;
    if (fuzz_below(dice, 16) == 0)
        ne[fuzz_below(dice, *n_dims)] = generate_odd_number(dice, traits->block_elems);
    return n_blocks;
}

static const pn_quant_traits *random_traits(fuzz_dice *dice)
{
    size_t n = 0;
    while (pn_quant_traits_at(n))
        n++;
    return pn_quant_traits_at(fuzz_below(dice, n));
}

void generate_tensor(gguf_writer *w, uint64_t base, fuzz_dice *dice)
{
    const pn_quant_traits *traits = random_traits(dice);
    uint64_t ne[PN_GGUF_MAX_DIMS];
    char text[TEXT_MAX];
    uint32_t n_dims;
    gssize len;
    const char *name = pick_name(dice, tensors, G_N_ELEMENTS(tensors), text, &len);
    size_t size = random_dims(dice, traits, &n_dims, ne) * traits->block_bytes;
    uint32_t type = fuzz_below(dice, 12) > 0 ? traits->id : (uint32_t)fuzz_below(dice, 140);
    uint64_t offset = base + w->data->len;
    if (fuzz_below(dice, 12) == 0)
        offset = generate_odd_number(dice, offset);

    g_autofree uint8_t *bytes = g_malloc(size);
    random_bytes(dice, bytes, size);
    writer_tensor_info(w, name, len, type, n_dims, ne, offset);
    writer_data(w, bytes, size);
    if (w->alignment > 0 && w->alignment <= 4096)
        writer_data(w, NULL, (w->alignment - w->data->len % w->alignment) % w->alignment);
}

gguf_writer *generate_model(fuzz_dice *dice)
{
    uint32_t version = 1 + (uint32_t)fuzz_below(dice, 3);
    gguf_writer *w = writer_new(version, version == 3 && fuzz_below(dice, 3) == 0);

    for (uint64_t n = fuzz_below(dice, 6); n > 0; n--)
        generate_kv(w, dice);
    for (uint64_t n = fuzz_below(dice, 6); n > 0; n--)
        generate_tensor(w, 0, dice);
    return w;
}
