/* Reads the files of tests/data/golden, which hold one tensor a type, and the values beside them.
 * Knows just enough of GGUF for these files, so that the number formats are tested without the
 * parser. */
#pragma once

#include <pantheon/quant.h>

#include <glib.h>
#include <string.h>

typedef struct {
    char *name;
    uint32_t type;
    uint64_t n_elems;
    const uint8_t *data;
} golden_tensor;

typedef struct {
    uint8_t *bytes;
    size_t size;
    bool big_endian;
    GArray *tensors; /* of golden_tensor */
} golden_file;

static inline uint64_t golden_number(const golden_file *file, const uint8_t *at, int width)
{
    uint64_t value = 0;
    for (int i = 0; i < width; i++)
        value |= (uint64_t)at[i] << 8 * (file->big_endian ? width - 1 - i : i);
    return value;
}

static inline char *golden_path(const char *name)
{
    return g_build_filename(g_getenv("PN_TEST_DATA"), "golden", name, NULL);
}

/* A name of a tensor ends in ".weight", which stands nowhere else in these files. */
static inline const uint8_t *golden_first_info(const golden_file *file)
{
    const uint8_t *end = memmem(file->bytes, file->size, ".weight", 7);
    g_assert_nonnull(end);
    for (const uint8_t *at = end - 8;; at--)
        if (golden_number(file, at, 8) == (uint64_t)(end + 7 - (at + 8)))
            return at;
}

static inline golden_file golden_open(const char *name)
{
    golden_file file = {.tensors = g_array_new(FALSE, FALSE, sizeof(golden_tensor))};
    g_autofree char *path = golden_path(name);
    g_assert_true(g_file_get_contents(path, (char **)&file.bytes, &file.size, NULL));
    file.big_endian = file.bytes[7] != 0;

    const uint8_t *at = golden_first_info(&file);
    for (uint64_t n = golden_number(&file, file.bytes + 8, 8); n > 0; n--) {
        golden_tensor tensor = {.n_elems = 1};
        uint64_t len = golden_number(&file, at, 8);
        tensor.name = g_strndup((const char *)at + 8, len);
        at += 8 + len;
        uint64_t n_dims = golden_number(&file, at, 4);
        at += 4;
        for (; n_dims > 0; n_dims--, at += 8)
            tensor.n_elems *= golden_number(&file, at, 8);
        tensor.type = (uint32_t)golden_number(&file, at, 4);
        tensor.data = file.bytes + golden_number(&file, at + 4, 8); /* from the data section */
        at += 12;
        g_array_append_val(file.tensors, tensor);
    }
    size_t data_start = (size_t)(at - file.bytes + 31) / 32 * 32;
    for (guint i = 0; i < file.tensors->len; i++)
        g_array_index(file.tensors, golden_tensor, i).data += data_start;
    return file;
}

static inline void golden_close(golden_file *file)
{
    for (guint i = 0; i < file->tensors->len; i++)
        g_free(g_array_index(file->tensors, golden_tensor, i).name);
    g_array_unref(file->tensors);
    g_free(file->bytes);
}

/* The float32 values of a tensor, as bits: golden/<folder>/<tensor>. */
static inline uint32_t *golden_values(const char *folder, const golden_tensor *tensor)
{
    g_autofree char *dir = golden_path(folder);
    g_autofree char *path = g_build_filename(dir, tensor->name, NULL);
    uint32_t *values;
    size_t size;
    g_assert_true(g_file_get_contents(path, (char **)&values, &size, NULL));
    g_assert_cmpuint(size, ==, tensor->n_elems * 4);
    for (size_t i = 0; i < size / 4; i++)
        values[i] = GUINT32_FROM_LE(values[i]);
    return values;
}

/* Equal bits, or both NaN. */
static inline bool same_value(uint32_t a, uint32_t b)
{
    return a == b || ((a & 0x7fffffff) > 0x7f800000 && (b & 0x7fffffff) > 0x7f800000);
}
