/* The internal face of the table of types: what the public traits do not show. */
#pragma once

#include "quant/kernels.h"

/* The sets of instructions that kernels are written for, the later the faster. */
typedef enum {
    QUANT_PORTABLE,
    QUANT_AVX2,   /* and F16C, FMA */
    QUANT_AVX512, /* F, BW, DQ, VL */
    QUANT_PATHS,
} quant_path;

/* The best path of this processor, or the one that was chosen. A type that has no kernel there uses
 * the next lower one that it has. */
quant_path quant_path_now(void);

/* For tests and benchmarks: from now on this path, in all threads. False: this processor does not
 * have it. */
bool quant_path_choose(quant_path path);
const char *quant_path_name(quant_path path);

/* The fields of a block that have a byte order. */
typedef struct {
    uint8_t width; /* bytes of each: 1, 2, 4 or 8 */
    uint8_t count;
    uint8_t offset[2];
} quant_fields;

typedef struct {
    pn_quant_traits traits;
    quant_fields swapped;              /* meaningful where traits.be_defined */
    quant_kernel kernels[QUANT_PATHS]; /* NULL: see quant_path_now */
    quant_dot dots[QUANT_PATHS];       /* likewise; none at all: dequantize, then multiply */
} quant_type;

/* The kernel of the path now, which each type has; the dot product, or NULL. */
quant_kernel quant_kernel_now(const quant_type *type);
quant_dot quant_dot_now(const quant_type *type);

/* The row of type id, or NULL when the id is unknown. */
const quant_type *quant_type_of(uint32_t id);
