/* Building blocks of the vector kernels: from packed bits to 32 codes of one byte each, in order,
 * and from the scales of a block to float32. Needs AVX2 and F16C. */
#pragma once

#include "quant/scalar.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline, unused))

#ifdef QUANT_ROLLED
#define UNROLLED
#else
#define UNROLLED _Pragma("GCC unroll 8")
#endif

INLINE __m256i load32(const void *p)
{
    return _mm256_loadu_si256(p);
}

INLINE __m128i load16(const void *p)
{
    return _mm_loadu_si128(p);
}

INLINE __m128i load8(const void *p)
{
    return _mm_loadl_epi64(p);
}

INLINE float f16(const uint8_t *p)
{
    return _cvtsh_ss(u16_at(p));
}

INLINE float f32_at1(const uint8_t *p)
{
    return f32_of_bits(u32_at(p));
}

INLINE float bf16_at1(const uint8_t *p)
{
    return f32_of_bits((uint32_t)u16_at(p) << 16);
}

/* Asks for what is read 2 KiB after the `size` bytes at p; harmless where there is nothing. */
INLINE void fetch_ahead(const void *p, size_t size)
{
    const uintptr_t ahead = (uintptr_t)p + 2048;

    UNROLLED
    for (size_t i = 0; i < size; i += 64)
        _mm_prefetch((const char *)(ahead + i), _MM_HINT_T0);
}

/* A float16 eight times; cheaper than f16 and a broadcast. */
INLINE __m256 f16x8(const uint8_t *p)
{
    return _mm256_cvtph_ps(_mm_set1_epi16((short)u16_at(p)));
}

/* A float32 in memory eight times. */
INLINE __m256 all(const float *p)
{
    return _mm256_broadcast_ss(p);
}

/* 2^bits - 1 in every byte. */
INLINE __m256i low_bits(__m256i v, int bits)
{
    return _mm256_and_si256(v, _mm256_set1_epi8((char)((1 << bits) - 1)));
}

/* Bits `from` to `from + bits` of every byte. */
INLINE __m256i bit_field(__m256i v, int from, int bits)
{
    return low_bits(_mm256_srli_epi16(v, from), bits);
}

/* Bits `from` to `from + bits` of every byte, moved to `to`. */
INLINE __m256i move_bits(__m256i v, int from, int bits, int to)
{
    __m256i moved = from < to ? _mm256_slli_epi16(v, to - from) : _mm256_srli_epi16(v, from - to);
    return _mm256_and_si256(moved, _mm256_set1_epi8((char)(((1 << bits) - 1) << to)));
}

/* 16 bytes: the low nibbles, then the high ones. */
INLINE __m256i nibbles(const uint8_t *p)
{
    __m256i twice = _mm256_broadcastsi128_si256(load16(p));
    return low_bits(_mm256_srlv_epi64(twice, _mm256_setr_epi64x(0, 0, 4, 4)), 4);
}

/* 32 bits: 0xff for a 1, 0 for a 0. */
INLINE __m256i bit_mask(uint32_t bits)
{
    const __m256i spread =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201);
    __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), spread);
    return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
}

/* values[code] for codes below 16. */
INLINE __m256i lookup16(const int8_t values[16], __m256i codes)
{
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load16(values)), codes);
}

/* 8 bytes of four codes of 2 bits: value[code], in order. */
INLINE __m256i pairs_lookup(const uint8_t *p, int v0, int v1, int v2, int v3)
{
    /* A code is looked up where it stands in its nibble. */
    const __m256i value =
        _mm256_broadcastsi128_si256(_mm_setr_epi8((char)v0, (char)v1, (char)v2, (char)v3, (char)v1,
                                                  0, 0, 0, (char)v2, 0, 0, 0, (char)v3, 0, 0, 0));
    const __m256i spread = _mm256_setr_epi64x(0x0101010100000000, 0x0303030302020202,
                                              0x0505050504040404, 0x0707070706060606);
    __m256i q = _mm256_shuffle_epi8(_mm256_broadcastq_epi64(load8(p)), spread);
    q = _mm256_blend_epi16(q, _mm256_srli_epi16(q, 4), 0xaa);
    return _mm256_shuffle_epi8(value, _mm256_and_si256(q, _mm256_set1_epi16(0x0c03)));
}

/* Four codebook entries of 8 bytes. */
INLINE __m256i entries8(const uint64_t *grid, unsigned a, unsigned b, unsigned c, unsigned d)
{
    return _mm256_setr_epi64x((long long)grid[a], (long long)grid[b], (long long)grid[c],
                              (long long)grid[d]);
}

/* Negates the codes whose sign bit is set. */
INLINE __m256i apply_signs(__m256i codes, uint32_t signs)
{
    __m256i mask = bit_mask(signs);
    return _mm256_sub_epi8(_mm256_xor_si256(codes, mask), mask);
}

/* Adds to 32 bytes of 7 signs the eighth: their parity. */
INLINE __m256i even_signs(__m256i seven)
{
    const __m256i odd = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128, 0));
    __m256i folded = low_bits(_mm256_xor_si256(seven, _mm256_srli_epi16(seven, 4)), 4);
    return _mm256_or_si256(seven, _mm256_shuffle_epi8(odd, folded));
}

/* 8 × 32 bits with 4 × 7 signs each, from the lowest bit: 32 bytes of 8 signs. */
INLINE __m256i signs_of_28_bits(__m256i words)
{
    __m256i first = _mm256_and_si256(words, _mm256_set1_epi32(0x7f));
    __m256i second = _mm256_and_si256(_mm256_slli_epi32(words, 1), _mm256_set1_epi32(0x7f00));
    __m256i third = _mm256_and_si256(_mm256_slli_epi32(words, 2), _mm256_set1_epi32(0x7f0000));
    __m256i fourth = _mm256_and_si256(_mm256_slli_epi32(words, 3), _mm256_set1_epi32(0x7f000000));
    return even_signs(
        _mm256_or_si256(_mm256_or_si256(first, second), _mm256_or_si256(third, fourth)));
}

/* Eight 32-bit integers times d. */
INLINE __m256 scaled(__m256i integers, float d)
{
    return _mm256_mul_ps(_mm256_cvtepi32_ps(integers), _mm256_set1_ps(d));
}

/* Stores eight scales for good: a scale that is broadcast from memory costs no shuffle, but
 * compilers would rather take it from the register. */
INLINE void to_memory(float out[8], __m256 scales)
{
    _mm256_storeu_ps(out, scales);
    __asm__("" : "+m"(*(float(*)[8])out));
}

/* The same for integers that are broadcast, or are indices. */
INLINE void integers_to_memory(void *out, __m256i integers)
{
    _mm256_storeu_si256(out, integers);
    __asm__("" : "+m"(*(uint8_t(*)[32])out));
}

/* 16 signed bytes times d. */
INLINE void scale_i8x16(__m128i bytes, float d, float out[16])
{
    to_memory(out, scaled(_mm256_cvtepi8_epi32(bytes), d));
    to_memory(out + 8, scaled(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)), d));
}

/* Codes 8k to 8k+7 as float32. */
INLINE __m256 f32x8(__m256i codes, int k)
{
    __m128i half = k < 2 ? _mm256_castsi256_si128(codes) : _mm256_extracti128_si256(codes, 1);
    if (k % 2)
        half = _mm_unpackhi_epi64(half, half);
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(half));
}
