/* What the virtual files of a model must contain: check-files.h. */
#include "check-files.h"

#include <string.h>

#include "check-model.h"
#include "json.h"

enum { MAX_ELEMS = 16 * 1024 };

static size_t count_of(const uint8_t *bytes, size_t len, char wanted)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += bytes[i] == (uint8_t)wanted;
    return n;
}

/* Lines that a terminal can take. */
static void check_text(const uint8_t *bytes, size_t len)
{
    g_assert_true(g_utf8_validate_len((const char *)bytes, len, NULL));
    for (size_t i = 0; i < len; i++)
        g_assert_true(bytes[i] == '\n' || bytes[i] == '\t' || !g_ascii_iscntrl(bytes[i]));
    g_assert_true(len == 0 || bytes[len - 1] == '\n');
}

static void check_table(const pn_gguf_file *file, const uint8_t *bytes, size_t len)
{
    const uint8_t *end = memchr(bytes, '\n', len);
    g_assert_nonnull(end);
    size_t tabs = count_of(bytes, (size_t)(end - bytes), '\t');

    check_text(bytes, len);
    g_assert_cmpuint(count_of(bytes, len, '\n'), ==, file->n_tensors + 1);
    g_assert_cmpuint(count_of(bytes, len, '\t'), ==, tabs * (file->n_tensors + 1));
}

static void check_model_file(const pn_gguf_file *file, const char *name, const uint8_t *bytes,
                             size_t len)
{
    if (g_str_has_suffix(name, ".json"))
        g_assert_true(json_is_valid((const char *)bytes, len));
    else if (g_str_has_suffix(name, ".tsv"))
        check_table(file, bytes, len);
    else
        check_text(bytes, len);
    if (strcmp(name, "problems.txt") == 0)
        g_assert_cmpuint(count_of(bytes, len, '\n'), >=, file->n_problems);
}

static bool is_number(pn_gguf_type type)
{
    return type != PN_GGUF_STRING && type != PN_GGUF_ARRAY;
}

static void check_value_text(const pn_gguf_kv *kv, const uint8_t *bytes, size_t len)
{
    if (kv->type == PN_GGUF_STRING) {
        g_assert_cmpuint(len, ==, kv->nbytes + 1);
        g_assert_cmpint(memcmp(bytes, kv->data, kv->nbytes), ==, 0);
        g_assert_true(bytes[len - 1] == '\n');
        return;
    }
    g_assert_cmpuint(count_of(bytes, len, '\n'), ==, kv->count);
    g_assert_true(len == 0 || bytes[len - 1] == '\n');
    if (is_number(kv->elem))
        check_text(bytes, len);
}

static void check_value_bytes(const pn_gguf_file *file, const pn_gguf_kv *kv, const uint8_t *bytes,
                              size_t len)
{
    size_t prefix = file->version == 1 ? 4 : 8;

    if (kv->type == PN_GGUF_ARRAY && kv->elem == PN_GGUF_STRING) {
        g_assert_cmpuint(len, ==, kv->nbytes - kv->count * prefix + kv->count);
        return;
    }
    g_assert_cmpuint(len, ==, kv->nbytes);
    size_t size = is_number(kv->elem) && file->big_endian ? pn_gguf_type_size(kv->elem) : 1;
    for (size_t i = 0; i < len; i++)
        g_assert_true(bytes[i] == kv->data[i / size * size + (size - 1 - i % size)]);
}

/* The float32 values of the blocks that are there; the caller's. */
static float *values_of(const pn_gguf_tensor *t, size_t *n)
{
    size_t elems = t->traits->block_elems;
    size_t n_blocks = MIN(t->available / t->traits->block_bytes, MAX_ELEMS / elems);
    float *values = g_new(float, n_blocks *elems + 1);

    pn_dequantize(t->traits->id, t->big_endian, t->data, values, n_blocks);
    *n = n_blocks * elems;
    return values;
}

/* The stored elements in host byte order; the caller's. */
static uint8_t *own_elements(const pn_gguf_tensor *t, size_t *n)
{
    *n = MIN(t->available / t->traits->block_bytes, MAX_ELEMS);
    uint8_t *elements = g_malloc(*n * t->traits->block_bytes + 1);

    if (*n > 0 && t->big_endian)
        pn_quant_swap(t->traits->id, t->data, elements, *n);
    else if (*n > 0)
        memcpy(elements, t->data, *n * t->traits->block_bytes);
    return elements;
}

static void check_beginning(const uint8_t *bytes, size_t len, const void *wanted, size_t size)
{
    if (MIN(len, size) > 0)
        g_assert_cmpint(memcmp(bytes, wanted, MIN(len, size)), ==, 0);
}

static void check_floats(const pn_gguf_tensor *t, const char *form, const uint8_t *bytes,
                         size_t len)
{
    static const struct {
        const char *name;
        pn_gguf_quant own;
    } forms[] = {{"f32", PN_GGUF_F32}, {"f16", PN_GGUF_F16}, {"bf16", PN_GGUF_BF16}};
    size_t n;

    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        if (strcmp(form, forms[i].name) == 0 && t->type_id == forms[i].own) {
            g_autofree uint8_t *own = own_elements(t, &n);
            check_beginning(bytes, len, own, n * t->traits->block_bytes);
            return;
        }
    }

    g_autofree float *values = values_of(t, &n);
    g_autofree uint16_t *narrow = g_new(uint16_t, n + 1);
    if (strcmp(form, "f16") == 0)
        pn_f32_to_f16(values, narrow, n);
    else if (strcmp(form, "bf16") == 0)
        pn_f32_to_bf16(values, narrow, n);
    else {
        check_beginning(bytes, len, values, n * sizeof *values);
        return;
    }
    check_beginning(bytes, len, narrow, n * sizeof *narrow);
}

static void check_npy(const pn_gguf_tensor *t, const uint8_t *bytes, size_t len)
{
    g_assert_cmpuint(len, >=, 64);
    g_assert_cmpint(memcmp(bytes, "\x93NUMPY\x01", 8), ==, 0);
    size_t start = 10 + (size_t)(bytes[8] | bytes[9] << 8);
    g_assert_cmpuint(start % 64, ==, 0);
    g_assert_cmpuint(start, <=, len);
    g_assert_true(bytes[start - 1] == '\n');

    bool is_own = t->traits->block_elems == 1 && t->type_id != PN_GGUF_BF16;
    size_t n;
    if (!is_own) {
        check_floats(t, "f32", bytes + start, len - start);
    } else {
        g_autofree uint8_t *own = own_elements(t, &n);
        check_beginning(bytes + start, len - start, own, n * t->traits->block_bytes);
    }
}

static void check_tensor_file(const pn_gguf_tensor *t, const char *form, const uint8_t *bytes,
                              size_t len)
{
    if (strcmp(form, "info") == 0)
        check_text(bytes, len);
    else if (strcmp(form, "raw") == 0)
        check_beginning(bytes, len, t->data, t->available);
    else if (strcmp(form, "npy") == 0)
        check_npy(t, bytes, len);
    else
        check_floats(t, form, bytes, len);
}

/* The exported model is one, with as many tensors (those that are missing apart). */
static void check_gguf_export(const pn_gguf_file *file, const uint8_t *bytes, size_t len)
{
    pn_gguf_source source = {bytes, len, "folder/export.gguf"};
    g_autoptr(GError) error = NULL;
    g_autoptr(pn_gguf_file) again = pn_gguf_parse(&source, NULL, &error);

    g_assert_no_error(error);
    check_model(again);
    g_assert_cmpuint(again->n_tensors, <=, file->n_tensors);
    g_assert_cmpuint(again->n_kv, <=, file->n_kv + 1);
}

static void check_safetensors(const uint8_t *bytes, size_t len)
{
    uint64_t header = 0;

    g_assert_cmpuint(len, >=, 8);
    for (unsigned i = 0; i < 8; i++)
        header |= (uint64_t)bytes[i] << (8 * i);
    g_assert_cmpuint(header, <=, len - 8);
    g_assert_true(json_is_valid((const char *)bytes + 8, header));
}

void check_file(const pn_gguf_file *file, const char *folder, const char *name, uint64_t index,
                const uint8_t *bytes, size_t len, bool is_whole)
{
    const char *slash = strrchr(folder, '/');
    const char *form = slash ? slash + 1 : folder;

    if (g_str_has_prefix(folder, "tensors")) {
        pn_gguf_tensor t = pn_gguf_tensor_at(file, index);
        check_tensor_file(&t, form, bytes, len);
    } else if (is_whole && strcmp(folder, "metadata") == 0) {
        pn_gguf_kv kv = pn_gguf_kv_at(file, index);
        check_value_text(&kv, bytes, len);
    } else if (is_whole && strcmp(folder, "metadata.raw") == 0) {
        pn_gguf_kv kv = pn_gguf_kv_at(file, index);
        check_value_bytes(file, &kv, bytes, len);
    } else if (is_whole && strcmp(name, "model.gguf") == 0) {
        check_gguf_export(file, bytes, len);
    } else if (is_whole && strcmp(folder, "export") == 0) {
        check_safetensors(bytes, len);
    } else if (is_whole && *folder == '\0') {
        check_model_file(file, name, bytes, len);
    }
}
