/* The number formats of GGUF tensors: one table of traits, and the way from any format to float32.
 *
 * Knows nothing of files: it is given bytes. Values are bit-identical to ggml's reference
 * (dequantize_row_* of ggml-quants.c); NaN by class. All sources may be unaligned. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor's type, by its id in the file. A file may hold any uint32; ids that are not listed here
 * have no traits. */
typedef enum {
    PN_GGUF_F32 = 0,
    PN_GGUF_F16 = 1,
    PN_GGUF_Q4_0 = 2,
    PN_GGUF_Q4_1 = 3,
    PN_GGUF_Q5_0 = 6,
    PN_GGUF_Q5_1 = 7,
    PN_GGUF_Q8_0 = 8,
    PN_GGUF_Q8_1 = 9,
    PN_GGUF_Q2_K = 10,
    PN_GGUF_Q3_K = 11,
    PN_GGUF_Q4_K = 12,
    PN_GGUF_Q5_K = 13,
    PN_GGUF_Q6_K = 14,
    PN_GGUF_Q8_K = 15,
    PN_GGUF_IQ2_XXS = 16,
    PN_GGUF_IQ2_XS = 17,
    PN_GGUF_IQ3_XXS = 18,
    PN_GGUF_IQ1_S = 19,
    PN_GGUF_IQ4_NL = 20,
    PN_GGUF_IQ3_S = 21,
    PN_GGUF_IQ2_S = 22,
    PN_GGUF_IQ4_XS = 23,
    PN_GGUF_I8 = 24,
    PN_GGUF_I16 = 25,
    PN_GGUF_I32 = 26,
    PN_GGUF_I64 = 27,
    PN_GGUF_F64 = 28,
    PN_GGUF_IQ1_M = 29,
    PN_GGUF_BF16 = 30,
    PN_GGUF_TQ1_0 = 34,
    PN_GGUF_TQ2_0 = 35,
    PN_GGUF_MXFP4 = 39,
    PN_GGUF_NVFP4 = 40,
    PN_GGUF_Q1_0 = 41,
    PN_GGUF_Q2_0 = 42,
} pn_gguf_quant;

enum {
    PN_QUANT_MAX_BLOCK_ELEMS = 256,
    PN_QUANT_MAX_BLOCK_BYTES = 292,
};

typedef struct {
    pn_gguf_quant id;
    const char *name;     /* as ggml and gguf-py spell it: "F32", "Q4_K", "IQ2_XXS" */
    uint32_t block_elems; /* elements of one block */
    uint32_t block_bytes; /* bytes of one block */
    const char *layout;   /* the fields of a block in byte order, for people: "d16, qs16" */
    bool dequantizes;     /* there is a way to float32 */
    bool be_defined;      /* its big-endian form is defined */
} pn_quant_traits;

/* The traits of type id, or NULL when the id is unknown. */
const pn_quant_traits *pn_quant_traits_of(uint32_t id);

/* The traits in order of id: i from 0; NULL past the last. */
const pn_quant_traits *pn_quant_traits_at(size_t i);

/* Dequantizes n_blocks whole blocks of `type` at src (any alignment) to n_blocks * block_elems
 * float32 at dst (any alignment). src and dst do not overlap. The type must be one that
 * dequantizes. big_endian: the blocks stand in a big-endian file; the type must have be_defined. */
void pn_dequantize(pn_gguf_quant type, bool big_endian, const void *src, float *dst,
                   size_t n_blocks);

/* Swaps n_blocks big-endian blocks at src to their little-endian form at dst (may be the same
 * address). The type must have be_defined. */
void pn_quant_swap(pn_gguf_quant type, const void *src, void *dst, size_t n_blocks);

/* Rounds n float32 at src to float16 / bfloat16 at dst (any alignment): to nearest, ties to even;
 * overflow to infinity; NaN stays NaN; subnormals exact. dst may not overlap src. */
void pn_f32_to_f16(const float *src, uint16_t *dst, size_t n);
void pn_f32_to_bf16(const float *src, uint16_t *dst, size_t n);

/* The rows of a quantized matrix: W[rows][cols], row-major, each row row_stride bytes of whole
 * blocks. */
typedef struct {
    const void *data; /* raw quantized blocks in the mmap; not owned */
    pn_gguf_quant type;
    int rows;          /* output dimension */
    int cols;          /* input dimension */
    size_t row_stride; /* bytes per row */
} pn_qweight;

#ifdef __cplusplus
}
#endif
