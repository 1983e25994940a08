/* A sink for codes that stores their values: what makes dequantization of the functions in
 * blocks-*.h. */
#pragma once

#include "quant/x86/unpack.h"

typedef struct {
    float *y;
} sink;

INLINE void store8(sink *s, __m256 codes, float scale)
{
    _mm256_storeu_ps(s->y, _mm256_mul_ps(codes, _mm256_set1_ps(scale)));
    s->y += 8;
}

INLINE void store8_plus(sink *s, __m256 codes, float scale, float offset)
{
    __m256 product = _mm256_mul_ps(codes, _mm256_set1_ps(scale));
    _mm256_storeu_ps(s->y, _mm256_add_ps(product, _mm256_set1_ps(offset)));
    s->y += 8;
}

/* The next 32 elements: code * scale. */
INLINE void put32(sink *s, __m256i codes, float scale)
{
    UNROLLED
    for (int k = 0; k < 4; k++)
        store8(s, f32x8(codes, k), scale);
}

/* The same of 32 codes in memory. */
INLINE void put32_of(sink *s, const int8_t *codes, float scale)
{
    UNROLLED
    for (int k = 0; k < 4; k++)
        store8(s, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(load8(codes + 8 * k))), scale);
}

/* code * scale + offset. */
INLINE void put32_plus(sink *s, __m256i codes, float scale, float offset)
{
    UNROLLED
    for (int k = 0; k < 4; k++)
        store8_plus(s, f32x8(codes, k), scale, offset);
}

/* Twice 16, each with a scale, and offset, of its own. */
INLINE void put16x2(sink *s, __m256i codes, const float scale[2])
{
    UNROLLED
    for (int k = 0; k < 4; k++)
        store8(s, f32x8(codes, k), scale[k / 2]);
}

INLINE void put16x2_plus(sink *s, __m256i codes, const float scale[2], const float offset[2])
{
    UNROLLED
    for (int k = 0; k < 4; k++)
        store8_plus(s, f32x8(codes, k), scale[k / 2], offset[k / 2]);
}

/* Eight elements that are numbers already. */
INLINE void put8(sink *s, __m256 values)
{
    _mm256_storeu_ps(s->y, values);
    s->y += 8;
}
