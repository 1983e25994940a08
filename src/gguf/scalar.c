/* Single values for programs: numbers and strings by key, the keys that carry the architecture as
 * their prefix, and the parameters of the Pantheon engine. Knows the names of keys, and no more of
 * what they mean. Allocates nothing, so that it may be left at any touch of the mapping. */
#include <pantheon/gguf.h>

#include <string.h>

/* A number as the file has it. */
typedef struct {
    pn_gguf_type type;
    pn_gguf_number value;
} typed_number;

/* Element `index` of an array, or a scalar, whatever the index. */
static bool read_number(const pn_gguf_file *file, const char *key, size_t key_len, uint64_t index,
                        typed_number *out)
{
    uint64_t i;
    if (!pn_gguf_find_kv(file, key, key_len, 1, &i))
        return false;

    pn_gguf_kv kv = pn_gguf_kv_at(file, i);
    size_t size = pn_gguf_type_size(kv.elem);
    if (size == 0 || (kv.type == PN_GGUF_ARRAY && index >= kv.count))
        return false;
    pn_gguf_walk walk = pn_gguf_walk_value(&kv);
    if (kv.type == PN_GGUF_ARRAY)
        walk.at += index * size;
    out->type = kv.elem;
    return pn_gguf_walk_number(file, &walk, kv.elem, &out->value);
}

static bool whole_number(double d, uint64_t *out)
{
    if (!(d >= 0 && d < 0x1p64) || (double)(uint64_t)d != d)
        return false;
    *out = (uint64_t)d;
    return true;
}

static bool is_signed(pn_gguf_type type)
{
    return type == PN_GGUF_INT8 || type == PN_GGUF_INT16 || type == PN_GGUF_INT32 ||
           type == PN_GGUF_INT64;
}

static bool to_u64(const typed_number *n, uint64_t *out)
{
    if (n->type == PN_GGUF_FLOAT32)
        return whole_number(n->value.f32, out);
    if (n->type == PN_GGUF_FLOAT64)
        return whole_number(n->value.f64, out);
    if (is_signed(n->type) && n->value.i64 < 0)
        return false;
    *out = n->type == PN_GGUF_BOOL ? n->value.u64 != 0 : n->value.u64;
    return true;
}

static double to_f64(const typed_number *n)
{
    if (n->type == PN_GGUF_FLOAT32)
        return n->value.f32;
    if (n->type == PN_GGUF_FLOAT64)
        return n->value.f64;
    if (is_signed(n->type))
        return (double)n->value.i64;
    return n->type == PN_GGUF_BOOL ? n->value.u64 != 0 : (double)n->value.u64;
}

static bool get_u64(const pn_gguf_file *file, const char *key, size_t len, uint64_t index,
                    uint64_t *out)
{
    typed_number n;
    return read_number(file, key, len, index, &n) && to_u64(&n, out);
}

static bool get_f64(const pn_gguf_file *file, const char *key, size_t len, uint64_t index,
                    double *out)
{
    typed_number n;
    if (!read_number(file, key, len, index, &n))
        return false;
    *out = to_f64(&n);
    return true;
}

bool pn_gguf_get_u64(const pn_gguf_file *file, const char *key, uint64_t index, uint64_t *out)
{
    return get_u64(file, key, strlen(key), index, out);
}

bool pn_gguf_get_f64(const pn_gguf_file *file, const char *key, uint64_t index, double *out)
{
    return get_f64(file, key, strlen(key), index, out);
}

bool pn_gguf_get_string(const pn_gguf_file *file, const char *key, const char **out, uint64_t *len)
{
    uint64_t i;
    if (!pn_gguf_find_kv(file, key, strlen(key), 1, &i))
        return false;
    pn_gguf_kv kv = pn_gguf_kv_at(file, i);
    if (kv.type != PN_GGUF_STRING)
        return false;
    *out = (const char *)kv.data;
    *len = kv.nbytes;
    return true;
}

/* `{general.architecture}.suffix`, without a NUL; no real one is longer. */
typedef struct {
    char bytes[256];
    size_t len;
} arch_key;

static bool make_arch_key(const pn_gguf_file *file, const char *suffix, arch_key *key)
{
    const char *arch;
    uint64_t arch_len;
    size_t suffix_len = strlen(suffix);

    if (!pn_gguf_get_string(file, "general.architecture", &arch, &arch_len) ||
        suffix_len + 1 > sizeof key->bytes || arch_len > sizeof key->bytes - suffix_len - 1)
        return false;
    memcpy(key->bytes, arch, arch_len);
    key->bytes[arch_len] = '.';
    memcpy(key->bytes + arch_len + 1, suffix, suffix_len);
    key->len = arch_len + 1 + suffix_len;
    return true;
}

bool pn_gguf_arch_u64(const pn_gguf_file *file, const char *suffix, uint64_t index, uint64_t *out)
{
    arch_key key;
    return make_arch_key(file, suffix, &key) && get_u64(file, key.bytes, key.len, index, out);
}

bool pn_gguf_arch_f64(const pn_gguf_file *file, const char *suffix, uint64_t index, double *out)
{
    arch_key key;
    return make_arch_key(file, suffix, &key) && get_f64(file, key.bytes, key.len, index, out);
}

static uint64_t arch_u64_or(const pn_gguf_file *file, const char *suffix, uint64_t index,
                            uint64_t otherwise)
{
    uint64_t value;
    return pn_gguf_arch_u64(file, suffix, index, &value) ? value : otherwise;
}

static double arch_f64_or(const pn_gguf_file *file, const char *suffix, double otherwise)
{
    double value;
    return pn_gguf_arch_f64(file, suffix, 0, &value) ? value : otherwise;
}

uint64_t pn_gguf_embedding_length(const pn_gguf_file *file)
{
    return arch_u64_or(file, "embedding_length", 0, 0);
}

uint64_t pn_gguf_block_count(const pn_gguf_file *file)
{
    return arch_u64_or(file, "block_count", 0, 0);
}

uint64_t pn_gguf_context_length(const pn_gguf_file *file)
{
    return arch_u64_or(file, "context_length", 0, 0);
}

uint64_t pn_gguf_feed_forward_length(const pn_gguf_file *file, uint64_t layer)
{
    return arch_u64_or(file, "feed_forward_length", layer, 0);
}

uint64_t pn_gguf_head_count(const pn_gguf_file *file, uint64_t layer)
{
    return arch_u64_or(file, "attention.head_count", layer, 0);
}

uint64_t pn_gguf_head_count_kv(const pn_gguf_file *file, uint64_t layer)
{
    uint64_t heads = pn_gguf_head_count(file, layer);
    return arch_u64_or(file, "attention.head_count_kv", layer, heads);
}

uint64_t pn_gguf_sliding_window(const pn_gguf_file *file)
{
    return arch_u64_or(file, "attention.sliding_window", 0, 0);
}

double pn_gguf_rope_freq_base(const pn_gguf_file *file)
{
    return arch_f64_or(file, "rope.freq_base", 10000);
}

double pn_gguf_layer_norm_rms_epsilon(const pn_gguf_file *file)
{
    return arch_f64_or(file, "attention.layer_norm_rms_epsilon", 0);
}

static bool find_tokens(const pn_gguf_file *file, pn_gguf_kv *kv)
{
    static const char key[] = "tokenizer.ggml.tokens";
    uint64_t i;
    if (!pn_gguf_find_kv(file, key, strlen(key), 1, &i))
        return false;
    *kv = pn_gguf_kv_at(file, i);
    return kv->type == PN_GGUF_ARRAY && kv->elem == PN_GGUF_STRING;
}

uint64_t pn_gguf_token_count(const pn_gguf_file *file)
{
    pn_gguf_kv kv;
    return find_tokens(file, &kv) ? kv.count : 0;
}

bool pn_gguf_token(const pn_gguf_file *file, uint64_t id, const char **text, uint64_t *len)
{
    pn_gguf_kv kv;
    if (!find_tokens(file, &kv) || id >= kv.count)
        return false;
    pn_gguf_walk walk = pn_gguf_walk_value(&kv);
    for (uint64_t i = 0; i < id; i++)
        if (!pn_gguf_walk_string(file, &walk, text, len))
            return false;
    return pn_gguf_walk_string(file, &walk, text, len);
}
