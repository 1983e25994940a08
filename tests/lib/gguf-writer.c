/* The writer of GGUF files for tests: gguf-writer.h. */
#include "gguf-writer.h"

#include <string.h>

gguf_writer *writer_new(uint32_t version, bool big_endian)
{
    gguf_writer *w = g_new0(gguf_writer, 1);
    memcpy(w->magic, "GGUF", 4);
    w->version = version;
    w->big_endian = big_endian;
    w->alignment = 32;
    w->kvs = g_byte_array_new();
    w->infos = g_byte_array_new();
    w->data = g_byte_array_new();
    return w;
}

void writer_free(gguf_writer *w)
{
    g_byte_array_unref(w->kvs);
    g_byte_array_unref(w->infos);
    g_byte_array_unref(w->data);
    g_free(w);
}

/* The lowest n bytes of value in the file's byte order. */
static void put(const gguf_writer *w, GByteArray *out, uint64_t value, unsigned n)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < n; i++) {
        bytes[w->big_endian ? n - 1 - i : i] = (uint8_t)(value >> (8 * i));
    }
    g_byte_array_append(out, bytes, n);
}

/* A length, count or dimension. */
static void put_count(const gguf_writer *w, GByteArray *out, uint64_t value)
{
    put(w, out, value, w->version == 1 ? 4 : 8);
}

static void put_string(const gguf_writer *w, GByteArray *out, const char *string, gssize len)
{
    size_t n = len < 0 ? strlen(string) : (size_t)len;
    put_count(w, out, n);
    g_byte_array_append(out, (const uint8_t *)string, (guint)n);
}

static unsigned number_size(pn_gguf_type type)
{
    switch (type) {
    case PN_GGUF_UINT8:
    case PN_GGUF_INT8:
    case PN_GGUF_BOOL:
        return 1;
    case PN_GGUF_UINT16:
    case PN_GGUF_INT16:
        return 2;
    case PN_GGUF_UINT32:
    case PN_GGUF_INT32:
    case PN_GGUF_FLOAT32:
        return 4;
    default:
        return 8;
    }
}

void writer_key(gguf_writer *w, const char *key, gssize key_len, uint32_t type)
{
    put_string(w, w->kvs, key, key_len);
    put(w, w->kvs, type, 4);
    w->n_kv++;
}

void writer_put_int(gguf_writer *w, pn_gguf_type type, uint64_t value)
{
    put(w, w->kvs, value, number_size(type));
}

void writer_put_float(gguf_writer *w, pn_gguf_type type, double value)
{
    uint64_t bits = 0;
    if (type == PN_GGUF_FLOAT32) {
        float single = (float)value;
        uint32_t half = 0;
        memcpy(&half, &single, sizeof half);
        bits = half;
    } else {
        memcpy(&bits, &value, sizeof bits);
    }
    put(w, w->kvs, bits, number_size(type));
}

void writer_put_string(gguf_writer *w, const char *string, gssize len)
{
    put_string(w, w->kvs, string, len);
}

void writer_put_array(gguf_writer *w, uint32_t elem, uint64_t count)
{
    put(w, w->kvs, elem, 4);
    put_count(w, w->kvs, count);
}

void writer_int(gguf_writer *w, const char *key, pn_gguf_type type, uint64_t value)
{
    writer_key(w, key, -1, type);
    writer_put_int(w, type, value);
}

void writer_float(gguf_writer *w, const char *key, pn_gguf_type type, double value)
{
    writer_key(w, key, -1, type);
    writer_put_float(w, type, value);
}

void writer_string(gguf_writer *w, const char *key, const char *value)
{
    writer_key(w, key, -1, PN_GGUF_STRING);
    writer_put_string(w, value, -1);
}

void writer_strings(gguf_writer *w, const char *key, const char *const *strings, size_t n)
{
    writer_key(w, key, -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_STRING, n);
    for (size_t i = 0; i < n; i++) {
        writer_put_string(w, strings[i], -1);
    }
}

void writer_alignment(gguf_writer *w, uint32_t alignment)
{
    w->alignment = alignment;
    writer_int(w, "general.alignment", PN_GGUF_UINT32, alignment);
}

static void pad(const gguf_writer *w, GByteArray *out)
{
    static const uint8_t zeros[4096];
    while (out->len % w->alignment != 0) {
        guint missing = w->alignment - out->len % w->alignment;
        g_byte_array_append(out, zeros, MIN(missing, sizeof zeros));
    }
}

void writer_tensor_info(gguf_writer *w, const char *name, gssize name_len, uint32_t type,
                        uint32_t n_dims, const uint64_t *ne, uint64_t offset)
{
    put_string(w, w->infos, name, name_len);
    put(w, w->infos, n_dims, 4);
    for (uint32_t i = 0; i < n_dims; i++) {
        put_count(w, w->infos, ne[i]);
    }
    put(w, w->infos, type, 4);
    put(w, w->infos, offset, 8);
    w->n_tensors++;
}

void writer_data(gguf_writer *w, const void *bytes, size_t nbytes)
{
    if (bytes != NULL) {
        g_byte_array_append(w->data, bytes, (guint)nbytes);
    } else {
        guint start = w->data->len;
        g_byte_array_set_size(w->data, start + (guint)nbytes);
        memset(w->data->data + start, 0, nbytes);
    }
}

void writer_tensor(gguf_writer *w, const char *name, gssize name_len, uint32_t type,
                   uint32_t n_dims, const uint64_t *ne, const void *bytes, size_t nbytes)
{
    writer_tensor_info(w, name, name_len, type, n_dims, ne, w->data->len);
    writer_data(w, bytes, nbytes);
    pad(w, w->data);
}

GByteArray *writer_finish(const gguf_writer *w)
{
    GByteArray *out = g_byte_array_new();
    g_byte_array_append(out, (const uint8_t *)w->magic, 4);
    put(w, out, w->version, 4);
    put_count(w, out, w->n_tensors);
    put_count(w, out, w->n_kv);
    g_byte_array_append(out, w->kvs->data, w->kvs->len);
    g_byte_array_append(out, w->infos->data, w->infos->len);
    pad(w, out);
    g_byte_array_append(out, w->data->data, w->data->len);
    return out;
}

bool writer_save(const gguf_writer *w, const char *path, GError **error)
{
    g_autoptr(GByteArray) file = writer_finish(w);
    return g_file_set_contents_full(path, (const char *)file->data, file->len,
                                    G_FILE_SET_CONTENTS_NONE, 0644, error);
}
