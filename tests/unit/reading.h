/* A model from bytes, and its views read whole and in pieces. For the tests of views. */
#pragma once

#include "view/model.h"

#include <check.h>
#include <string.h>

/* An assertion for inner loops: check writes a line to a file at each ck_assert. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg("%s", #condition);                                                        \
    } while (0)

typedef struct {
    GByteArray *bytes;
    pn_gguf_file *gguf;
    view_model *model;
    view_scratch *scratch;
} opened_model;

/* Takes the bytes. */
static inline opened_model open_bytes(GByteArray *bytes)
{
    g_autoptr(GError) error = NULL;
    pn_gguf_source source = {.data = bytes->data, .size = bytes->len, .name = "dir/test.gguf"};
    opened_model m = {.bytes = bytes, .gguf = pn_gguf_parse(&source, NULL, &error)};

    ck_assert_msg(m.gguf != NULL, "%s", error ? error->message : "");
    m.model = view_model_new(m.gguf);
    m.scratch = view_scratch_new();
    return m;
}

static inline opened_model open_data(const char *name)
{
    g_autofree char *path = g_build_filename(g_getenv("PN_TEST_DATA"), name, NULL);
    char *data;
    gsize size;

    ck_assert(g_file_get_contents(path, &data, &size, NULL));
    return open_bytes(g_byte_array_new_take((guint8 *)data, size));
}

static inline void close_model(opened_model *m)
{
    view_scratch_free(m->scratch);
    view_model_free(m->model);
    pn_gguf_free(m->gguf);
    g_byte_array_unref(m->bytes);
}

/* One read; its bytes to `out`, its length. */
static inline size_t read_piece(opened_model *m, const view *v, uint64_t index, uint64_t offset,
                                char *out, size_t len)
{
    view_piece piece;

    MUST(v->read(m->model, index, offset, out, len, m->scratch, &piece) == 0);
    MUST(piece.len <= len);
    MUST(piece.source_end <= m->bytes->len);
    if (piece.direct)
        memcpy(out, piece.direct, piece.len);
    return piece.len;
}

static inline uint64_t size_of(opened_model *m, const view *v, uint64_t index)
{
    uint64_t size = 0;

    ck_assert_int_eq(v->size(m->model, index, m->scratch, &size), 0);
    return size;
}

/* The whole file, in reads of `step` bytes; as long as its size says. */
static inline GString *read_in_steps(opened_model *m, const view *v, uint64_t index, size_t step)
{
    uint64_t size = size_of(m, v, index);
    GString *whole = g_string_sized_new(size + 1);
    g_autofree char *buffer = g_malloc(step);

    for (;;) {
        size_t len = read_piece(m, v, index, whole->len, buffer, step);
        if (len == 0)
            break;
        g_string_append_len(whole, buffer, (gssize)len);
    }
    ck_assert_uint_eq(whole->len, size);
    return whole;
}

static inline GString *read_whole(opened_model *m, const view *v, uint64_t index)
{
    return read_in_steps(m, v, index, 1 << 20);
}

/* The whole file as a NUL-terminated string, the caller's. */
static inline char *text_of(opened_model *m, const view *v, uint64_t index)
{
    return g_string_free(read_whole(m, v, index), FALSE);
}

/* That n reads from anywhere, of any length, are slices of the whole. */
static inline void check_slices(opened_model *m, const view *v, uint64_t index, unsigned n)
{
    GString *whole = read_whole(m, v, index);
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    char *buffer = g_malloc(200000);

    for (unsigned i = 0; i < n; i++) {
        uint64_t offset = (uint64_t)(g_rand_double(rand) * (double)(whole->len + 2));
        size_t most = i % 3 == 0 ? 17 : i % 3 == 1 ? 5000 : 200000;
        size_t len = 1 + g_rand_int(rand) % most, got = 0;
        uint64_t there = offset < whole->len ? MIN(len, whole->len - offset) : 0;
        while (got < there) {
            size_t more = read_piece(m, v, index, offset + got, buffer + got, len - got);
            ck_assert_uint_gt(more, 0);
            got += more;
        }
        ck_assert_uint_eq(got, there);
        ck_assert_int_eq(memcmp(buffer, whole->str + offset, got), 0);
        if (there == 0)
            ck_assert_uint_eq(read_piece(m, v, index, offset, buffer, len), 0);
    }
    g_free(buffer);
    g_string_free(whole, TRUE);
}
