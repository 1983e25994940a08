/* What the parser keeps of a model: everything that was compared with the size of the file, and
 * nothing of what stands in it. Kept small: 40 bytes a key, 48 a tensor and 8 a dimension, with 11
 * to 21 for the index of each name, and 16 a problem. */
#pragma once

#include "gguf/names.h"

/* tag: the type in the low byte, an array's element type in the high one. */
typedef struct {
    pn_name name;
    uint64_t count;
    uint64_t nbytes;
} pn_kv_entry;

enum {
    PN_TENSOR_DIMS = 0x0F,     /* of the tag: the number of dimensions */
    PN_TENSOR_UNSIZED = 0x100, /* of the tag: a type's size is not to be relied on */
};

typedef struct {
    pn_name name;
    uint64_t rel_offset;
    uint64_t nbytes;
    uint32_t type_id;
    uint32_t dims_at; /* in tables.dims */
} pn_tensor_entry;

typedef enum {
    PN_PROBLEM_KEY_EMPTY,
    PN_PROBLEM_KEY_DUPLICATE,
    PN_PROBLEM_KEY_BOOL, /* number: the byte */
    PN_PROBLEM_TENSOR_DUPLICATE,
    PN_PROBLEM_TYPE_UNKNOWN,
    PN_PROBLEM_TYPE_NO_F32,
    PN_PROBLEM_TYPE_BIG_ENDIAN,
    PN_PROBLEM_ROW_PARTIAL,
    PN_PROBLEM_SIZE_CONTRADICTED, /* number: bytes there are for it */
    PN_PROBLEM_UNALIGNED,
    PN_PROBLEM_GAP,     /* number: bytes before the tensor */
    PN_PROBLEM_OVERLAP, /* number: the other tensor */
    PN_PROBLEM_CUT,
    PN_PROBLEM_TRAILING,     /* index: shard; number: bytes */
    PN_PROBLEM_SHARD_ABSENT, /* index: shard */
    PN_PROBLEM_TENSOR_COUNT, /* number: what the set claims */
} pn_problem_kind;

typedef struct {
    uint64_t kind : 8;
    uint64_t index : 56; /* of the key or tensor */
    uint64_t number;
} pn_problem;

/* A growing array. */
#define PN_ARRAY(type)                                                                             \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t n;                                                                                  \
        size_t n_allocated;                                                                        \
    }

/* Makes room for one more item; false when there is no memory. */
#define pn_array_make_room(array)                                                                  \
    pn_array_grow((void **)&(array)->items, &(array)->n_allocated, (array)->n,                     \
                  sizeof *(array)->items)

/* Gives back what was not used. */
#define pn_array_shrink(array)                                                                     \
    pn_array_trim((void **)&(array)->items, &(array)->n_allocated, (array)->n,                     \
                  sizeof *(array)->items)

bool pn_array_grow(void **items, size_t *n_allocated, size_t n, size_t item_size);
void pn_array_trim(void **items, size_t *n_allocated, size_t n, size_t item_size);

typedef PN_ARRAY(pn_kv_entry) pn_kv_array;

struct pn_gguf_tables {
    pn_gguf_source *sources; /* a shard each; names are owned */
    pn_gguf_shard *shards;
    char **absent;                           /* of each shard, why it is not there; NULL: it is */
    void (*release)(const pn_gguf_source *); /* what becomes of each source at last, or NULL */
    pn_kv_array kvs;
    pn_names kv_names;
    PN_ARRAY(pn_tensor_entry) tensors;
    PN_ARRAY(uint64_t) dims;
    pn_names tensor_names;
    PN_ARRAY(pn_problem) problems;
};

/* Bytes between the end of a key and its value's data. */
unsigned pn_kv_head(const pn_gguf_file *file, pn_gguf_type type);

pn_named pn_named_kvs(const pn_gguf_tables *tables);
pn_named pn_named_tensors(const pn_gguf_tables *tables);

/* The traits of an entry, where its size can be relied on. */
const pn_quant_traits *pn_tensor_traits(const pn_gguf_tables *tables, const pn_tensor_entry *t);

/* Adds a problem; false when there is no memory. */
bool pn_problem_add(pn_gguf_tables *tables, pn_problem_kind kind, uint64_t index, uint64_t number);
