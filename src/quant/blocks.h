/* How a block of each quantized type lies in memory, field by field, as ggml defines it
 * (ggml-common.h). All fields are bytes, so a block has no alignment and no byte order; a 16-bit
 * field is read by u16_at or f16_at. */
#pragma once

#include <assert.h>
#include <stdint.h>

typedef struct {
    uint8_t d[2];   /* float16 scale */
    uint8_t qs[16]; /* low nibbles: elements 0 to 15, high: 16 to 31 */
} block_q4_0;

typedef struct {
    uint8_t d[2];
    uint8_t m[2]; /* float16 minimum */
    uint8_t qs[16];
} block_q4_1;

typedef struct {
    uint8_t d[2];
    uint8_t qh[4]; /* bit j: the fifth bit of element j */
    uint8_t qs[16];
} block_q5_0;

typedef struct {
    uint8_t d[2];
    uint8_t m[2];
    uint8_t qh[4];
    uint8_t qs[16];
} block_q5_1;

typedef struct {
    uint8_t d[2];
    int8_t qs[32];
} block_q8_0;

typedef struct {
    uint8_t d[2];
    uint8_t s[2]; /* d times the sum of qs: for dot products, not a part of the values */
    int8_t qs[32];
} block_q8_1;

typedef struct {
    uint8_t scales[16]; /* a group of 16 elements each: low nibble scale, high nibble minimum */
    uint8_t qs[64];     /* 2 bits; byte l of 32 holds elements l, l+32, l+64, l+96 of 128 */
    uint8_t d[2];       /* float16 scale of the scales … */
    uint8_t dmin[2];    /* … and of the minima */
} block_q2_k;

typedef struct {
    uint8_t hmask[32];  /* bit j of byte l: the third bit of element 32j+l is set */
    uint8_t qs[64];     /* as in Q2_K */
    uint8_t scales[12]; /* 16 of 6 bits: 4 low bits in bytes 0 to 7, 2 high bits in 8 to 11 */
    uint8_t d[2];
} block_q3_k;

typedef struct {
    uint8_t d[2];
    uint8_t dmin[2];
    uint8_t scales[12]; /* 8 scales and 8 minima of 6 bits */
    uint8_t qs[128];    /* of each 32 bytes: low nibbles 32 elements, high nibbles the next 32 */
} block_q4_k;

typedef struct {
    uint8_t d[2];
    uint8_t dmin[2];
    uint8_t scales[12];
    uint8_t qh[32]; /* bit j of byte l: the fifth bit of element 32j+l */
    uint8_t qs[128];
} block_q5_k;

typedef struct {
    uint8_t ql[128];   /* of each 64 bytes: low nibbles 64 elements, high nibbles the next 64 */
    uint8_t qh[64];    /* 2 high bits; byte l of 32 holds elements l, l+32, l+64, l+96 of 128 */
    int8_t scales[16]; /* a group of 16 elements each */
    uint8_t d[2];
} block_q6_k;

typedef struct {
    uint8_t d[4]; /* float32 */
    int8_t qs[256];
    uint8_t bsums[32]; /* sums of 16: for dot products, not a part of the values */
} block_q8_k;

typedef struct {
    uint8_t d[2];
    uint8_t qs[64]; /* of each 8 bytes: 4 indices of the grid; 4 × 7 bits of signs, 4 of scale */
} block_iq2_xxs;

typedef struct {
    uint8_t d[2];
    uint8_t qs[64];    /* 32 × 16 bits: 9 of index, 7 of signs */
    uint8_t scales[8]; /* two groups of 16 elements each */
} block_iq2_xs;

typedef struct {
    uint8_t d[2];
    uint8_t qs[32];    /* low 8 bits of the indices */
    uint8_t signs[32]; /* a bit an element */
    uint8_t qh[8];     /* 2 high bits of the indices */
    uint8_t scales[8];
} block_iq2_s;

typedef struct {
    uint8_t d[2];
    uint8_t qs[64];  /* indices of grid entries of 4 elements */
    uint8_t sas[32]; /* 8 × 32 bits: 4 × 7 of signs, 4 of scale */
} block_iq3_xxs;

typedef struct {
    uint8_t d[2];
    uint8_t qs[64];
    uint8_t qh[8];     /* bit j of byte i: the ninth bit of index 8i+j */
    uint8_t signs[32]; /* a bit an element */
    uint8_t scales[4]; /* two groups of 32 elements each */
} block_iq3_s;

typedef struct {
    uint8_t d[2];
    uint8_t qs[32]; /* low 8 bits of the indices */
    uint8_t qh[16]; /* 8 × 16 bits: 4 × 3 high bits of indices, 3 of scale, 1 sign of delta */
} block_iq1_s;

typedef struct {
    uint8_t qs[32];
    uint8_t qh[16];    /* a nibble an index: 3 high bits, 1 sign of delta */
    uint8_t scales[8]; /* 4 × 16 bits: 4 × 3 of scale; the top nibbles together are float16 d */
} block_iq1_m;

typedef struct {
    uint8_t d[2];
    uint8_t qs[16]; /* nibbles as in Q4_0, indices of the 16 values */
} block_iq4_nl;

typedef struct {
    uint8_t d[2];
    uint8_t scales_h[2]; /* 8 × 2 high bits of the scales */
    uint8_t scales_l[4]; /* 8 × 4 low bits */
    uint8_t qs[128];     /* 8 × 16 bytes, each as in IQ4_NL */
} block_iq4_xs;

typedef struct {
    uint8_t qs[48]; /* 5 ternary digits a byte, as a fraction of 256 */
    uint8_t qh[4];  /* 4 ternary digits a byte */
    uint8_t d[2];
} block_tq1_0;

typedef struct {
    uint8_t qs[64]; /* 2 bits; byte l of 32 holds elements l, l+32, l+64, l+96 of 128 */
    uint8_t d[2];
} block_tq2_0;

typedef struct {
    uint8_t e; /* E8M0: a power of two */
    uint8_t qs[16];
} block_mxfp4;

typedef struct {
    uint8_t d[4];   /* UE4M3: the scales of 4 groups of 16 elements */
    uint8_t qs[32]; /* 4 × 8 bytes: low nibbles elements 0 to 7, high: 8 to 15 */
} block_nvfp4;

typedef struct {
    uint8_t d[2];
    uint8_t qs[16]; /* a bit an element */
} block_q1_0;

typedef struct {
    uint8_t d[2];
    uint8_t qs[16]; /* 2 bits an element */
} block_q2_0;

static_assert(sizeof(block_q4_0) == 18 && sizeof(block_q4_1) == 20 && sizeof(block_q5_0) == 22 &&
                  sizeof(block_q5_1) == 24 && sizeof(block_q8_0) == 34 && sizeof(block_q8_1) == 36,
              "a block is its fields and nothing else");
static_assert(sizeof(block_q2_k) == 84 && sizeof(block_q3_k) == 110 && sizeof(block_q4_k) == 144 &&
                  sizeof(block_q5_k) == 176 && sizeof(block_q6_k) == 210 &&
                  sizeof(block_q8_k) == 292,
              "a block is its fields and nothing else");
static_assert(sizeof(block_iq2_xxs) == 66 && sizeof(block_iq2_xs) == 74 &&
                  sizeof(block_iq2_s) == 82 && sizeof(block_iq3_xxs) == 98 &&
                  sizeof(block_iq3_s) == 110 && sizeof(block_iq1_s) == 50 &&
                  sizeof(block_iq1_m) == 56 && sizeof(block_iq4_nl) == 18 &&
                  sizeof(block_iq4_xs) == 136,
              "a block is its fields and nothing else");
static_assert(sizeof(block_tq1_0) == 54 && sizeof(block_tq2_0) == 66 && sizeof(block_mxfp4) == 17 &&
                  sizeof(block_nvfp4) == 36 && sizeof(block_q1_0) == 18 && sizeof(block_q2_0) == 18,
              "a block is its fields and nothing else");
