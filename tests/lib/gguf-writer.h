/* Writes GGUF files in memory, for tests: every version, byte order and value type, and any wrong
 * field a test wants.
 *
 * Knows the layout of the header and nothing else: it checks nothing, does not use the parser, and
 * takes a tensor's bytes as they are to stand in the file. */
#pragma once

#include <pantheon/gguf.h>

/* Fields may be set at any time before writer_finish; what is counted here is written as it is. */
typedef struct {
    char magic[4];
    uint32_t version; /* 1: lengths, counts and dimensions are uint32 */
    bool big_endian;
    uint32_t alignment; /* of the data section and of each tensor in it; the key is separate */
    uint64_t n_kv;
    uint64_t n_tensors;
    GByteArray *kvs;
    GByteArray *infos;
    GByteArray *data; /* the data section so far */
} gguf_writer;

gguf_writer *writer_new(uint32_t version, bool big_endian);
void writer_free(gguf_writer *w);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(gguf_writer, writer_free)

/* Starts a pair: the key (key_len bytes; -1: up to its NUL) and the value's type. The value follows
 * by writer_put_…; type is an id, so that unknown ones can be written. */
void writer_key(gguf_writer *w, const char *key, gssize key_len, uint32_t type);

/* The pieces of a value. A number is cut to its type's size: signed ones are given as (uint64_t).
 * An array is its head, then `count` elements. */
void writer_put_int(gguf_writer *w, pn_gguf_type type, uint64_t value);
void writer_put_float(gguf_writer *w, pn_gguf_type type, double value);
void writer_put_string(gguf_writer *w, const char *string, gssize len);
void writer_put_array(gguf_writer *w, uint32_t elem, uint64_t count);

/* Whole pairs. */
void writer_int(gguf_writer *w, const char *key, pn_gguf_type type, uint64_t value);
void writer_float(gguf_writer *w, const char *key, pn_gguf_type type, double value);
void writer_string(gguf_writer *w, const char *key, const char *value);
void writer_strings(gguf_writer *w, const char *key, const char *const *strings, size_t n);

/* Sets the alignment, and adds general.alignment. Before the first tensor. */
void writer_alignment(gguf_writer *w, uint32_t alignment);

/* A tensor whose bytes come next in the data section, padded to the alignment. ne[0] is the
 * fastest. bytes NULL: nbytes zeros. */
void writer_tensor(gguf_writer *w, const char *name, gssize name_len, uint32_t type,
                   uint32_t n_dims, const uint64_t *ne, const void *bytes, size_t nbytes);

/* Only the entry of a tensor, at any offset; and only bytes of the data section, unpadded. */
void writer_tensor_info(gguf_writer *w, const char *name, gssize name_len, uint32_t type,
                        uint32_t n_dims, const uint64_t *ne, uint64_t offset);
void writer_data(gguf_writer *w, const void *bytes, size_t nbytes);

/* The file so far: header, padding, data section. A new array, the caller's. */
GByteArray *writer_finish(const gguf_writer *w);

/* The same, written to a file. */
bool writer_save(const gguf_writer *w, const char *path, GError **error);
