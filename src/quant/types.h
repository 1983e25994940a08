/* The internal face of the table of types: what the public traits do not show. */
#pragma once

#include "quant/kernels.h"

/* The sets of instructions that kernels are written for, the later the faster. */
typedef enum {
    QUANT_PORTABLE,
    QUANT_PATHS,
} quant_path;

/* The fields of a block that have a byte order. */
typedef struct {
    uint8_t width; /* bytes of each: 1, 2, 4 or 8 */
    uint8_t count;
    uint8_t offset[2];
} quant_fields;

typedef struct {
    pn_quant_traits traits;
    quant_fields swapped; /* meaningful where traits.be_defined */
    quant_kernel kernels[QUANT_PATHS];
} quant_type;

/* The row of type id, or NULL when the id is unknown. */
const quant_type *quant_type_of(uint32_t id);
