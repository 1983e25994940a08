/* A sink for codes that stores their values: what makes dequantization of the functions in
 * blocks-*.h. */
#pragma once

#include "quant/x86/unpack.h"

typedef struct {
    float *y;
} sink;

INLINE void store8(sink *s, __m256 codes, __m256 scale)
{
    _mm256_storeu_ps(s->y, _mm256_mul_ps(codes, scale));
    s->y += 8;
}

INLINE void store8_plus(sink *s, __m256 codes, __m256 scale, __m256 offset)
{
    _mm256_storeu_ps(s->y, _mm256_add_ps(_mm256_mul_ps(codes, scale), offset));
    s->y += 8;
}

/* The next 32 elements: code * scale. */
INLINE void put32(sink *s, __m256i codes, __m256 scale)
{
    UNROLLED
    for (int k = 0; k < 4; k++)
        store8(s, f32x8(codes, k), scale);
}

/* The same of 32 codes in memory. */
INLINE void put32_of(sink *s, const int8_t *codes, __m256 scale)
{
    UNROLLED
    for (int k = 0; k < 4; k++)
        store8(s, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(load8(codes + 8 * k))), scale);
}

/* code * scale + offset. */
INLINE void put32_plus(sink *s, __m256i codes, __m256 scale, __m256 offset)
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
        store8(s, f32x8(codes, k), all(scale + k / 2));
}

INLINE void put16x2_plus(sink *s, __m256i codes, const float scale[2], const float offset[2])
{
    UNROLLED
    for (int k = 0; k < 4; k++)
        store8_plus(s, f32x8(codes, k), all(scale + k / 2), all(offset + k / 2));
}

/* 16 bytes, the low nibbles, then the high ones: value[nibble] * scale. */
INLINE void put_nibbles(sink *s, const uint8_t p[16], const int8_t value[16], __m256 scale)
{
    put32(s, lookup16(value, nibbles(p)), scale);
}

/* Sinks that add up take the offsets of a block here, before its elements: of its 16 groups of 16
 * elements or its 8 of 32, or that of a block of 32. What the functions above are given as offsets
 * is for sinks that do not. */
INLINE void all_offsets(sink *s, const float *offset, int n)
{
}

INLINE void one_offset(sink *s, __m256 offset)
{
}
