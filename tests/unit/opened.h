/* A model with its tree, opened for a test, and its virtual files as bytes. */
#pragma once

#include "tree/tree.h"

#include <check.h>
#include <errno.h>
#include <string.h>

typedef struct {
    GByteArray *bytes;
    pn_gguf_file *gguf;
    view_model *model;
    view_scratch *scratch;
    tree *t;
} opened;

/* Takes the bytes; they must parse. */
static inline opened open_with(GByteArray *bytes, const pn_gguf_options *options, const char *views)
{
    opened o = {.bytes = bytes};
    GError *error = NULL;
    pn_gguf_source source = {bytes->data, bytes->len, "folder/test.gguf"};

    o.gguf = pn_gguf_parse(&source, options, &error);
    ck_assert_msg(o.gguf != NULL, "%s", error ? error->message : "no message");
    o.model = view_model_new(o.gguf);
    o.scratch = view_scratch_new();
    o.t = tree_new(o.model, views, &error);
    ck_assert_msg(o.t != NULL, "%s", error ? error->message : "no message");
    return o;
}

static inline opened open_bytes(GByteArray *bytes, const char *views)
{
    return open_with(bytes, NULL, views);
}

/* A file of tests/data: "cases/065_past_eof.gguf". NULL bytes when it does not parse. */
static inline opened open_data(const char *name)
{
    g_autofree char *path = g_build_filename(g_getenv("PN_TEST_DATA"), name, NULL);
    char *contents;
    gsize size;

    ck_assert_msg(g_file_get_contents(path, &contents, &size, NULL), "%s", path);
    return open_bytes(g_byte_array_new_take((guint8 *)contents, size), NULL);
}

static inline void opened_close(opened *o)
{
    tree_free(o->t);
    view_scratch_free(o->scratch);
    view_model_free(o->model);
    pn_gguf_free(o->gguf);
    g_byte_array_unref(o->bytes);
}

static inline uint64_t ino_of(const opened *o, const char *path)
{
    uint64_t ino = 0;
    int result = tree_resolve(o->t, path, &ino);
    ck_assert_msg(result == 0, "%s: %s", path, g_strerror(result));
    return ino;
}

static inline tree_stat stat_of(const opened *o, uint64_t ino)
{
    tree_stat st;
    ck_assert_int_eq(tree_getattr(o->t, ino, o->scratch, &st), 0);
    return st;
}

/* What can be read from offset up to `to`, in reads of at most `step` bytes at an odd address; the
 * errno that ended it, or 0. */
static inline GByteArray *read_range(const opened *o, uint64_t ino, uint64_t offset, uint64_t to,
                                     size_t step, int *result)
{
    GByteArray *out = g_byte_array_new();
    g_autofree uint8_t *buffer = g_malloc(step + 1);

    *result = 0;
    while (offset < to) {
        view_piece piece;
        size_t len = MIN(step, to - offset);
        *result = tree_read(o->t, ino, offset, buffer + 1, len, o->scratch, &piece);
        if (*result != 0 || piece.len == 0)
            break;
        ck_assert_uint_le(piece.len, len);
        ck_assert_uint_lt(piece.shard, o->gguf->n_shards);
        ck_assert_uint_le(piece.source_end, o->gguf->shards[piece.shard].size);
        g_byte_array_append(out, piece.direct ? piece.direct : buffer + 1, (guint)piece.len);
        offset += piece.len;
    }
    return out;
}

/* The whole of a file. */
static inline GByteArray *read_all(const opened *o, const char *path)
{
    int result;
    GByteArray *out = read_range(o, ino_of(o, path), 0, UINT64_MAX, 1 << 20, &result);
    ck_assert_msg(result == 0, "%s: %s", path, g_strerror(result));
    return out;
}
