/* A model that parsed can be written as one file, and read again: check-writing.h. */
#include "check-writing.h"

#include <string.h>

#include "gguf/write.h"

/* Larger headers are padding, as a rule: the alignment goes up to 2^31. */
enum { HEADER_MAX = 1024 * 1024 };

static void take(void *user, const void *bytes, size_t len)
{
    GByteArray *header = user;
    g_byte_array_append(header, bytes, (guint)len);
    g_assert_cmpuint(header->len, <=, HEADER_MAX);
}

static void ignore(void *user, unsigned shard, const void *bytes, uint64_t len)
{
}

static GByteArray *write_header(const pn_writing *w)
{
    GByteArray *header = g_byte_array_new();
    pn_writing_sink sink = {take, ignore, header};
    pn_writing_state state = {0};
    pn_writing_result result;

    while ((result = pn_writing_step(w, &state, &sink)) == PN_WRITING_MORE)
        ;
    g_assert_cmpint(result, ==, PN_WRITING_END);
    g_assert_cmpuint(header->len, ==, pn_writing_data_start(w));
    return header;
}

static void check_keys(const pn_writing *w, const pn_gguf_file *file, const pn_gguf_file *again)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < file->n_kv; i++) {
        if (pn_writing_key_fault(w, i) != NULL)
            continue;
        pn_gguf_kv was = pn_gguf_kv_at(file, i), is = pn_gguf_kv_at(again, n++);
        g_assert_cmpmem(is.key, is.key_len, was.key, was.key_len);
        g_assert_true(is.type == was.type && is.elem == was.elem && is.count == was.count);
        if (is.type == PN_GGUF_STRING)
            g_assert_cmpmem(is.data, is.nbytes, was.data, was.nbytes);
    }
    g_assert_cmpuint(n, ==, again->n_kv);
}

static void check_tensors(const pn_writing *w, const pn_gguf_file *file, const pn_gguf_file *again)
{
    uint64_t n = 0, end = 0;

    for (uint64_t i = 0; i < file->n_tensors; i++) {
        if (pn_writing_tensor_fault(w, i) != NULL)
            continue;
        pn_gguf_tensor was = pn_gguf_tensor_at(file, i), is = pn_gguf_tensor_at(again, n++);
        g_assert_cmpmem(is.name, is.name_len, was.name, was.name_len);
        g_assert_true(is.type_id == was.type_id && is.n_dims == was.n_dims);
        g_assert_true(memcmp(is.ne, was.ne, sizeof is.ne) == 0);
        g_assert_cmpuint(is.rel_offset, ==, end);
        end += was.nbytes;
        end += (again->alignment - end % again->alignment) % again->alignment;
        if (was.nbytes == 0)
            continue;
        pn_writing_place place = pn_writing_find(w, is.rel_offset + was.nbytes - 1);
        g_assert_true(place.tensor == i && place.start == is.rel_offset);
        g_assert_true(place.nbytes == was.nbytes && place.end == end);
    }
    g_assert_cmpuint(n, ==, again->n_tensors);
    g_assert_cmpuint(pn_writing_size(w), ==, pn_writing_data_start(w) + end);
}

void check_writing(const pn_gguf_file *file)
{
    g_autoptr(pn_writing) w = pn_writing_new(file);
    g_assert_nonnull(w);
    g_assert_cmpuint(pn_writing_size(w), <=, G_MAXINT64);
    if (pn_writing_is_source(w) || pn_writing_data_start(w) > HEADER_MAX)
        return;

    g_autoptr(GByteArray) header = write_header(w);
    g_autoptr(GError) error = NULL;
    pn_gguf_source source = {header->data, header->len, "written.gguf"};
    g_autoptr(pn_gguf_file) again = pn_gguf_parse(&source, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(again->shards[0].data_start, ==, header->len);
    check_keys(w, file, again);
    check_tensors(w, file, again);
}
