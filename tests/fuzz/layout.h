/* Where the pieces of a GGUF header stand: a reader for the mutator that refuses nothing, and stops
 * where it can go no further. Independent of the parser under test. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    FIELD_VERSION,
    FIELD_COUNT,  /* of keys, tensors, elements */
    FIELD_LENGTH, /* of a string, which follows it */
    FIELD_TYPE,   /* of a value */
    FIELD_NUMBER, /* a scalar value */
    FIELD_N_DIMS,
    FIELD_DIM,
    FIELD_QUANT,
    FIELD_OFFSET,
} field_kind;

typedef struct {
    size_t at;
    unsigned size;
    field_kind kind;
} field;

typedef struct {
    size_t from, to;
} span;

typedef struct {
    uint32_t version;
    bool big_endian;
    unsigned count_size; /* bytes of a length, count or dimension */
    size_t n_tensors_at, n_kv_at;
    GArray *fields;   /* of field */
    GArray *kvs;      /* of span */
    GArray *tensors;  /* of span */
    size_t infos_at;  /* past the last pair */
    size_t header_to; /* past the last tensor info */
    bool is_whole;    /* all that the counts promise is there */
} layout;

/* Reads what it can of the bytes; free with layout_clear. */
layout layout_read(const uint8_t *data, size_t size);
void layout_clear(layout *l);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(layout, layout_clear)

uint64_t layout_get(const layout *l, const uint8_t *at, unsigned size);
void layout_set(const layout *l, uint8_t *at, unsigned size, uint64_t value);
