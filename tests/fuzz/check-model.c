/* What is true of every model that parsed: check-model.h. */
#include "check-model.h"

#include <string.h>

#include "fuzz.h"

/* Reads each byte, so that a sanitizer sees it read. */
static void touch(const void *bytes, uint64_t len)
{
    uint8_t sum = 0;
    for (uint64_t i = 0; i < len; i++)
        sum ^= ((const uint8_t *)bytes)[i];
    __asm__ volatile("" : : "r"(sum));
}

static bool lies_in(const pn_gguf_shard *shard, const void *bytes, uint64_t len)
{
    const uint8_t *at = bytes;
    return len == 0 || (at >= shard->data && len <= shard->size &&
                        (uint64_t)(at - shard->data) <= shard->size - len);
}

void check_sentence(const char *sentence)
{
    g_assert_true(*sentence != '\0');
    g_assert_true(g_utf8_validate(sentence, -1, NULL));
    for (const char *at = sentence; *at != '\0'; at++)
        g_assert_true(!g_ascii_iscntrl(*at));
}

/* Elements [from, to) of an array of arrays are walked to the end. */
static void walk_elements(const pn_gguf_file *file, pn_gguf_walk *walk, pn_gguf_type elem,
                          uint64_t count, unsigned depth)
{
    pn_gguf_number number;
    const char *string;
    uint64_t len, inner;
    pn_gguf_type type;

    for (uint64_t i = 0; i < count; i++) {
        if (elem == PN_GGUF_STRING) {
            g_assert_true(pn_gguf_walk_string(file, walk, &string, &len));
            touch(string, len);
        } else if (elem == PN_GGUF_ARRAY) {
            g_assert_cmpuint(depth, <, PN_GGUF_MAX_NESTING);
            g_assert_true(pn_gguf_walk_array(file, walk, &type, &inner));
            walk_elements(file, walk, type, inner, depth + 1);
        } else {
            g_assert_true(pn_gguf_walk_number(file, walk, elem, &number));
        }
    }
}

static void check_value(const pn_gguf_file *file, const pn_gguf_kv *kv)
{
    pn_gguf_walk walk = pn_gguf_walk_value(kv);

    g_assert_nonnull(pn_gguf_type_name(kv->type));
    g_assert_nonnull(pn_gguf_type_name(kv->elem));
    if (kv->type == PN_GGUF_ARRAY) {
        walk_elements(file, &walk, kv->elem, kv->count, 1);
        g_assert_true(walk.at == walk.end);
        return;
    }
    g_assert_true(kv->elem == kv->type && kv->count == 1);
    if (kv->type != PN_GGUF_STRING)
        g_assert_cmpuint(kv->nbytes, ==, pn_gguf_type_size(kv->type));
}

static void check_keys(const pn_gguf_file *file)
{
    const pn_gguf_shard *shard = &file->shards[file->kv_shard];

    for (uint64_t i = 0; i < file->n_kv; i++) {
        pn_gguf_kv kv = pn_gguf_kv_at(file, i);
        uint64_t found;
        g_assert_true(lies_in(shard, kv.key, kv.key_len));
        g_assert_true(lies_in(shard, kv.data, kv.nbytes));
        touch(kv.key, kv.key_len);
        touch(kv.data, kv.nbytes);
        check_value(file, &kv);
        g_assert_cmpuint(kv.nth, >=, 1);
        g_assert_true(pn_gguf_find_kv(file, kv.key, kv.key_len, kv.nth, &found));
        g_assert_cmpuint(found, ==, i);
    }
}

static void check_tensor(const pn_gguf_file *file, const pn_gguf_tensor *t)
{
    g_assert_cmpuint(t->shard, <, file->n_shards);
    const pn_gguf_shard *shard = &file->shards[t->shard];
    g_assert_true(shard->present);
    g_assert_true(lies_in(shard, t->name, t->name_len));
    g_assert_true(lies_in(shard, t->data, t->available));
    touch(t->name, t->name_len);
    touch(t->data, t->available);

    g_assert_cmpuint(t->n_dims, <=, PN_GGUF_MAX_DIMS);
    uint64_t n = 1;
    for (unsigned i = 0; i < PN_GGUF_MAX_DIMS; i++) {
        if (i >= t->n_dims)
            g_assert_cmpuint(t->ne[i], ==, 1);
        n *= t->ne[i];
    }
    g_assert_cmpuint(n, ==, t->n_elems);
    g_assert_cmpuint(n, <, UINT64_C(1) << 59);
    g_assert_cmpuint(t->available, <=, t->nbytes);
    g_assert_true(t->big_endian == shard->big_endian);
    if (t->traits != NULL)
        g_assert_cmpuint(t->nbytes, ==, n / t->traits->block_elems * t->traits->block_bytes);
    if (t->has_f32)
        g_assert_true(t->traits != NULL && (!t->big_endian || t->traits->be_defined));
    if (t->available > 0)
        g_assert_true(t->data == shard->data + t->offset);
}

/* The matrix of every tensor that is one lies in the file. */
static void check_qweight(const pn_gguf_file *file, uint64_t i, const pn_gguf_tensor *t)
{
    const uint64_t experts[] = {0, 1, t->ne[2] - 1, t->ne[2], UINT64_MAX};

    for (unsigned e = 0; e < G_N_ELEMENTS(experts); e++) {
        g_autoptr(GError) error = NULL;
        pn_qweight w;
        if (!pn_gguf_qweight(file, i, experts[e], &w, &error)) {
            check_sentence(error->message);
            continue;
        }
        g_assert_true(w.rows >= 0 && w.cols >= 0);
        g_assert_true(lies_in(&file->shards[t->shard], w.data, (uint64_t)w.rows * w.row_stride));
    }
}

static void check_tensors(const pn_gguf_file *file)
{
    for (uint64_t i = 0; i < file->n_tensors; i++) {
        pn_gguf_tensor t = pn_gguf_tensor_at(file, i);
        uint64_t found;
        check_tensor(file, &t);
        check_qweight(file, i, &t);
        g_assert_true(pn_gguf_find_tensor(file, t.name, t.name_len, t.nth, &found));
        g_assert_cmpuint(found, ==, i);
    }
}

/* They answer something, whatever the values are. */
static void ask_for_parameters(const pn_gguf_file *file)
{
    const char *text;
    uint64_t len;

    pn_gguf_embedding_length(file);
    pn_gguf_block_count(file);
    pn_gguf_context_length(file);
    pn_gguf_feed_forward_length(file, 1);
    pn_gguf_head_count(file, 0);
    pn_gguf_head_count_kv(file, UINT64_MAX);
    pn_gguf_sliding_window(file);
    pn_gguf_rope_freq_base(file);
    pn_gguf_layer_norm_rms_epsilon(file);
    if (pn_gguf_token(file, pn_gguf_token_count(file) / 2, &text, &len))
        touch(text, len);
    g_assert_true(!pn_gguf_token(file, pn_gguf_token_count(file), &text, &len));
}

void check_model(const pn_gguf_file *file)
{
    g_autoptr(GString) sentence = g_string_new(NULL);

    g_assert_true(file->version >= 1 && file->version <= 3);
    g_assert_true(file->alignment > 0 && (file->alignment & (file->alignment - 1)) == 0);
    g_assert_cmpuint(file->n_shards, >=, 1);
    check_keys(file);
    check_tensors(file);
    ask_for_parameters(file);
    for (uint64_t i = 0; i < file->n_problems; i++) {
        g_string_truncate(sentence, 0);
        pn_gguf_problem_text(file, i, sentence);
        check_sentence(sentence->str);
    }
}
