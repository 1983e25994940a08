/* Reading GGUF: a zero-copy parser of the header, and a table of keys and tensors on top of the
 * mapping.
 *
 * The bytes of a file (an mmap, as a rule) are the only copy: keys, strings, arrays and tensors are
 * pointers into them. What was compared with the size of the file is kept apart from it (a few
 * dozen bytes a key and a tensor), so a file that is rewritten later changes values, never bounds.
 *
 * One pn_gguf_file is one model: a single file, or all shards of a split set. */
#pragma once

#include <glib.h>
#include <pantheon/quant.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PN_GGUF_MAX_DIMS = 8, PN_GGUF_MAX_NESTING = 16 };

/* The type of a value, by its id in the file. */
typedef enum {
    PN_GGUF_UINT8 = 0,
    PN_GGUF_INT8 = 1,
    PN_GGUF_UINT16 = 2,
    PN_GGUF_INT16 = 3,
    PN_GGUF_UINT32 = 4,
    PN_GGUF_INT32 = 5,
    PN_GGUF_FLOAT32 = 6,
    PN_GGUF_BOOL = 7,
    PN_GGUF_STRING = 8,
    PN_GGUF_ARRAY = 9,
    PN_GGUF_UINT64 = 10,
    PN_GGUF_INT64 = 11,
    PN_GGUF_FLOAT64 = 12,
} pn_gguf_type;

/* "uint32", "string", "array"…; NULL for an unknown id. Size of one packed element; 0 for string
 * and array. */
const char *pn_gguf_type_name(pn_gguf_type type);
size_t pn_gguf_type_size(pn_gguf_type type);

/* Bytes of one file. They stay the caller's, and must outlive the pn_gguf_file. */
typedef struct {
    const uint8_t *data;
    uint64_t size;
    const char *name; /* for messages: the path as the user gave it; copied */
} pn_gguf_source;

/* Gives the shard `no` (from 0) of `count` beside the first file. Returns false with a sentence in
 * error when it cannot be had. */
typedef bool (*pn_gguf_shard_opener)(void *user, unsigned no, unsigned count, pn_gguf_source *out,
                                     GError **error);

typedef struct {
    pn_gguf_shard_opener open_shard; /* NULL: a split set is refused with a sentence */
    void *user;
    bool partial; /* serve what is there of a split set with missing shards */
} pn_gguf_options;

typedef struct {
    const uint8_t *data; /* the bytes of the file, as given by its pn_gguf_source */
    uint64_t size;       /* of the file */
    uint64_t data_start; /* where its data section starts; may lie past the end */
    uint32_t alignment;
    bool big_endian;
    bool present; /* false: a missing shard of a set opened with `partial` */
} pn_gguf_shard;

typedef struct pn_gguf_tables pn_gguf_tables;

/* Read-only to the caller. */
typedef struct {
    uint32_t version; /* 1 to 3 */
    bool big_endian;
    uint32_t alignment;
    uint64_t n_kv;
    uint64_t n_tensors;
    uint64_t n_problems;
    unsigned n_shards; /* 1 for a single file */
    const pn_gguf_shard *shards;
    unsigned kv_shard;    /* which the keys come from: 0, unless `partial` does without it */
    uint64_t header_size; /* bytes of that file's header: magic to the last tensor info */
    pn_gguf_tables *tables;
} pn_gguf_file;

#define PN_GGUF_ERROR pn_gguf_error_quark()
GQuark pn_gguf_error_quark(void);
typedef enum {
    PN_GGUF_ERROR_NOT_GGUF, /* the magic is another's; the sentence says what the file looks like */
    PN_GGUF_ERROR_TRUNCATED, /* the header runs past the end */
    PN_GGUF_ERROR_INVALID,   /* an impossible number */
    PN_GGUF_ERROR_SHARD,     /* a shard is missing or does not fit */
    PN_GGUF_ERROR_IO,        /* pn_gguf_open only */
} pn_gguf_error;

/* Parses the header(s). options may be NULL. Returns a new model (free with pn_gguf_free), or NULL
 * with one clear sentence in error, that names the file, the key or tensor, and what is wrong;
 * control bytes in it are escaped. Time and memory are linear in the header that is there, whatever
 * its numbers say. */
pn_gguf_file *pn_gguf_parse(const pn_gguf_source *source, const pn_gguf_options *options,
                            GError **error);

/* Opens and maps the file at path, and the other shards of its set beside it, and parses them. */
pn_gguf_file *pn_gguf_open(const char *path, bool partial, GError **error);

void pn_gguf_free(pn_gguf_file *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(pn_gguf_file, pn_gguf_free)

/* A key and its value. Pointers are into the mapping and end with it. */
typedef struct {
    const char *key; /* key_len bytes, no NUL at the end, any bytes inside */
    uint64_t key_len;
    uint32_t nth; /* 1; 2 for the second key of the same name, and so on */
    pn_gguf_type type;
    pn_gguf_type elem; /* of an array; else == type */
    uint64_t count;    /* elements of an array; else 1 */
    const uint8_t
        *data; /* the value without length prefix or array head: a string's bytes, packed elements
                  in the file's byte order, length-prefixed strings, nested arrays */
    uint64_t nbytes;
} pn_gguf_kv;

/* Key i < n_kv, in file order. Touches no byte of the mapping. */
pn_gguf_kv pn_gguf_kv_at(const pn_gguf_file *file, uint64_t i);

/* The index of the nth (from 1) key of this name; false when there is none. O(1) expected. */
bool pn_gguf_find_kv(const pn_gguf_file *file, const char *key, size_t key_len, uint32_t nth,
                     uint64_t *i);

typedef struct {
    const char *name; /* name_len bytes, no NUL at the end, any bytes inside */
    uint64_t name_len;
    uint32_t nth;                  /* as of a key; over all shards */
    uint32_t type_id;              /* as in the file */
    const pn_quant_traits *traits; /* NULL: the size of the type is unknown, or a row is no whole
                                      number of blocks (see problems): raw bytes only */
    bool has_f32;    /* traits are known and it dequantizes in its file's byte order */
    bool big_endian; /* as its shard */
    unsigned shard;
    uint32_t n_dims;
    uint64_t ne[PN_GGUF_MAX_DIMS]; /* ne[0] is the fastest; 1 past n_dims */
    uint64_t n_elems;              /* product of ne; < 2^59 */
    uint64_t rel_offset;           /* as in the file: from the start of the data section */
    uint64_t offset; /* from the start of its file; UINT64_MAX when the sum does not fit */
    uint64_t nbytes; /* nominal; without traits: the bytes up to the next tensor or the end of the
                        file */
    uint64_t available;  /* how many of them the file holds: less than nbytes when it is cut off */
    const uint8_t *data; /* `available` bytes; NULL when there are none */
} pn_gguf_tensor;

/* Tensor i < n_tensors, in file order, shard after shard. Touches no byte of the mapping. */
pn_gguf_tensor pn_gguf_tensor_at(const pn_gguf_file *file, uint64_t i);
bool pn_gguf_find_tensor(const pn_gguf_file *file, const char *name, size_t name_len, uint32_t nth,
                         uint64_t *i);

/* The path a shard was opened by (as in pn_gguf_source.name). */
const char *pn_gguf_shard_name(const pn_gguf_file *file, unsigned shard);

/* Whether the header of a shard that is present still says what it said when it was parsed, as far
 * as its file, of `size` bytes now, goes: the same keys and tensors of the same types and shapes in
 * the same places. If not, somebody wrote another model into the file, and what the tables tell of
 * it is no longer so; values may be new. O(keys and tensors), allocates nothing. */
bool pn_gguf_shard_holds(const pn_gguf_file *file, unsigned shard, uint64_t size);

/* Appends problem i < n_problems to out as one sentence, no newline, control bytes escaped. */
void pn_gguf_problem_text(const pn_gguf_file *file, uint64_t i, GString *out);

/* Walking a value. A walk is a range of bytes; every step checks it, and returns false (moving
 * nothing) where the range ends too early: with a file that was rewritten after the parse this
 * happens, and is an error, not a crash. */
typedef struct {
    const uint8_t *at;
    const uint8_t *end;
} pn_gguf_walk;

/* One number, in host byte order: integers widened to 64 bits, floats as they are, bool as its
 * byte. */
typedef union {
    uint64_t u64; /* the unsigned types and bool */
    int64_t i64;  /* the signed types */
    float f32;
    double f64;
} pn_gguf_number;

pn_gguf_walk pn_gguf_walk_value(const pn_gguf_kv *kv);
bool pn_gguf_walk_number(const pn_gguf_file *file, pn_gguf_walk *walk, pn_gguf_type type,
                         pn_gguf_number *out);
bool pn_gguf_walk_string(const pn_gguf_file *file, pn_gguf_walk *walk, const char **string,
                         uint64_t *len);
bool pn_gguf_walk_array(const pn_gguf_file *file, pn_gguf_walk *walk, pn_gguf_type *elem,
                        uint64_t *count);

/* Scalars, for programs: the value of a key that is a number or bool of any type; element `index`
 * where the key is an array in this model and a scalar in the next (a scalar answers for every
 * index). False when there is no such key, element or number, or it does not fit. */
bool pn_gguf_get_u64(const pn_gguf_file *file, const char *key, uint64_t index, uint64_t *out);
bool pn_gguf_get_f64(const pn_gguf_file *file, const char *key, uint64_t index, double *out);
bool pn_gguf_get_string(const pn_gguf_file *file, const char *key, const char **out, uint64_t *len);

/* The keys that carry the architecture as their prefix: `{general.architecture}.suffix`. */
bool pn_gguf_arch_u64(const pn_gguf_file *file, const char *suffix, uint64_t index, uint64_t *out);
bool pn_gguf_arch_f64(const pn_gguf_file *file, const char *suffix, uint64_t index, double *out);

/* The Pantheon engine's parameters of a model. A layer's count is that layer's, where the key is an
 * array. 0 where the file does not say; rope.freq_base defaults to 10000. */
uint64_t pn_gguf_embedding_length(const pn_gguf_file *file);
uint64_t pn_gguf_block_count(const pn_gguf_file *file);
uint64_t pn_gguf_context_length(const pn_gguf_file *file);
uint64_t pn_gguf_feed_forward_length(const pn_gguf_file *file, uint64_t layer);
uint64_t pn_gguf_head_count(const pn_gguf_file *file, uint64_t layer);
uint64_t pn_gguf_head_count_kv(const pn_gguf_file *file,
                               uint64_t layer); /* defaults to head_count */
uint64_t pn_gguf_sliding_window(const pn_gguf_file *file);
double pn_gguf_rope_freq_base(const pn_gguf_file *file);
double pn_gguf_layer_norm_rms_epsilon(const pn_gguf_file *file);
uint64_t pn_gguf_token_count(const pn_gguf_file *file); /* tokenizer.ggml.tokens */
bool pn_gguf_token(const pn_gguf_file *file, uint64_t id, const char **text,
                   uint64_t *len); /* O(id) */

/* The matrix of tensor i as rows and columns: cols = ne[0], rows = ne[1] (1 for one dimension); of
 * three dimensions, index `expert` of the outermost. An error when the tensor has more dimensions,
 * a dimension is past INT_MAX, it is cut off, big-endian, or cannot be dequantized. */
bool pn_gguf_qweight(const pn_gguf_file *file, uint64_t i, uint64_t expert, pn_qweight *out,
                     GError **error);

#ifdef __cplusplus
}
#endif
