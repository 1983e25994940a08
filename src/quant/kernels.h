/* The kernels behind the table of types: what they are, and the list of the portable ones. */
#pragma once

#include <pantheon/quant.h>

/* Dequantizes n whole little-endian blocks at src (any alignment) to dst (aligned for float). */
typedef void (*quant_kernel)(const void *src, float *dst, size_t n);

/* What a row is multiplied by: x, its sums over groups of 16 and 32, which are what an offset
 * common to a group is multiplied by, and x in the order in which 64 codes are best unpacked:
 * shuffled[64i + 16j + 4l + k] is x[64i + 16l + 4j + k] * 2^-24. For types whose block is one
 * number there is instead x with the even elements of each whole 32 before the odd ones. */
typedef struct {
    const float *x;
    const float *sum16;
    const float *sum32;
    const float *shuffled;
    const float *even_odd;
} quant_input;

/* The dot product of n blocks with as many elements of x, in float32. */
typedef float (*quant_dot)(const void *row, size_t n, const quant_input *x);

/* clang-format off */
#define QUANT_FOR_EACH_NUMBER_KERNEL(X)                                                            \
    X(f32) X(f16) X(bf16) X(f64) X(i8) X(i16) X(i32) X(i64)
#define QUANT_FOR_EACH_BLOCK_KERNEL(X)                                                             \
    X(q4_0) X(q4_1) X(q5_0) X(q5_1) X(q8_0) X(q8_1)                                                \
    X(q2_k) X(q3_k) X(q4_k) X(q5_k) X(q6_k) X(q8_k)                                                \
    X(iq2_xxs) X(iq2_xs) X(iq2_s) X(iq3_xxs) X(iq3_s) X(iq1_s) X(iq1_m) X(iq4_nl) X(iq4_xs)        \
    X(tq1_0) X(tq2_0) X(mxfp4) X(nvfp4) X(q1_0) X(q2_0)
/* clang-format on */

#define QUANT_DECLARE_PORTABLE(name)                                                               \
    void quant_portable_##name(const void *src, float *dst, size_t n);
QUANT_FOR_EACH_NUMBER_KERNEL(QUANT_DECLARE_PORTABLE)
QUANT_FOR_EACH_BLOCK_KERNEL(QUANT_DECLARE_PORTABLE)

float quant_dot_portable_f32(const void *row, size_t n, const quant_input *x);

/* Narrowing; source and destination of any alignment. */
void quant_portable_to_f16(const float *src, uint16_t *dst, size_t n);
void quant_portable_to_bf16(const float *src, uint16_t *dst, size_t n);

#ifdef QUANT_X86
void quant_avx2_to_f16(const float *src, uint16_t *dst, size_t n);
void quant_avx2_to_bf16(const float *src, uint16_t *dst, size_t n);

#define QUANT_DECLARE_AVX2(name) void quant_avx2_##name(const void *src, float *dst, size_t n);
QUANT_DECLARE_AVX2(f16)
QUANT_DECLARE_AVX2(bf16)
QUANT_FOR_EACH_BLOCK_KERNEL(QUANT_DECLARE_AVX2)

void quant_avx512_bf16(const void *src, float *dst, size_t n);

#define QUANT_DECLARE_DOT_AVX2(name)                                                               \
    float quant_dot_avx2_##name(const void *row, size_t n, const quant_input *x);
QUANT_DECLARE_DOT_AVX2(f32)
QUANT_DECLARE_DOT_AVX2(f16)
QUANT_DECLARE_DOT_AVX2(bf16)
QUANT_FOR_EACH_BLOCK_KERNEL(QUANT_DECLARE_DOT_AVX2)

/* The types of blocks whose product is faster with AVX-512 than with AVX2. */
#define QUANT_FOR_EACH_AVX512_DOT(X)                                                               \
    X(q4_0) X(q4_k) X(q5_k) X(q6_k) X(iq4_nl) X(iq4_xs) X(mxfp4) X(tq1_0)
#define QUANT_DECLARE_DOT_AVX512(name)                                                             \
    float quant_dot_avx512_##name(const void *row, size_t n, const quant_input *x);
QUANT_DECLARE_DOT_AVX512(f32)
QUANT_DECLARE_DOT_AVX512(f16)
QUANT_DECLARE_DOT_AVX512(bf16)
QUANT_DECLARE_DOT_AVX512(f64)
QUANT_DECLARE_DOT_AVX512(i64)
QUANT_FOR_EACH_AVX512_DOT(QUANT_DECLARE_DOT_AVX512)
#endif

/* Defines the portable kernel of a type from the function `name` that dequantizes one block. */
#define QUANT_PORTABLE_KERNEL(name, elems)                                                         \
    void quant_portable_##name(const void *src, float *dst, size_t n)                              \
    {                                                                                              \
        const block_##name *block = src;                                                           \
        for (size_t i = 0; i < n; i++)                                                             \
            name(block + i, dst + i * (elems));                                                    \
    }
