/* Counting a model's tensors by type. Touches no byte of the mapping. */
#pragma once

#include <pantheon/gguf.h>

__extension__ typedef unsigned __int128 survey_sum; /* no file can make it overflow */

enum { SURVEY_MAX_TYPES = 64 };

typedef struct {
    uint32_t type_id;
    uint64_t tensors;
    survey_sum parameters;
    survey_sum bytes; /* nominal */
} survey_row;

typedef struct {
    survey_row total;                  /* type_id means nothing */
    survey_row sized;                  /* those of which the bytes are known from the type */
    survey_row rows[SURVEY_MAX_TYPES]; /* most bytes first */
    unsigned n;
    survey_row others; /* types for which there was no row left */
    uint64_t n_cut;    /* tensors that the end of the file cuts off */
} survey;

void survey_tensors(const pn_gguf_file *gguf, survey *out);
