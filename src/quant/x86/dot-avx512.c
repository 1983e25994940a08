/* Dot products of a row with AVX-512 (F, BW, DQ, VL): as dot-avx2.c, 16 elements at a time. */
#include "quant/kernels.h"
#include "quant/x86/unpack.h"

typedef struct {
    const float *x;
    const float *sum16;
    const float *sum32;
    __m512 sum, other_sum;
    __m128 offsets, other_offsets;
} sink;

INLINE sink sink_new(const quant_input *x)
{
    return (sink){x->x,
                  x->sum16,
                  x->sum32,
                  _mm512_setzero_ps(),
                  _mm512_setzero_ps(),
                  _mm_setzero_ps(),
                  _mm_setzero_ps()};
}

INLINE float sink_total(const sink *s)
{
    float offsets = _mm_cvtss_f32(_mm_add_ss(s->offsets, s->other_offsets));
    return _mm512_reduce_add_ps(_mm512_add_ps(s->sum, s->other_sum)) + offsets;
}

INLINE void add_product(sink *s, __m512 product, float scale)
{
    __m512 sum = _mm512_fmadd_ps(product, _mm512_set1_ps(scale), s->sum);
    s->sum = s->other_sum;
    s->other_sum = sum;
}

INLINE void add_offset(sink *s, float offset, float x)
{
    __m128 sum = _mm_fmadd_ss(_mm_set_ss(offset), _mm_set_ss(x), s->offsets);
    s->offsets = s->other_offsets;
    s->other_offsets = sum;
}

INLINE __m512 x16(const sink *s, int k)
{
    return _mm512_loadu_ps(s->x + 16 * k);
}

INLINE __m512 f32x16(__m256i codes, int k)
{
    __m128i half = k ? _mm256_extracti128_si256(codes, 1) : _mm256_castsi256_si128(codes);
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(half));
}

INLINE void next32(sink *s)
{
    s->x += 32;
    s->sum16 += 2;
    s->sum32 += 1;
}

INLINE void put32(sink *s, __m256i codes, float scale)
{
    __m512 product = _mm512_mul_ps(f32x16(codes, 0), x16(s, 0));
    add_product(s, _mm512_fmadd_ps(f32x16(codes, 1), x16(s, 1), product), scale);
    next32(s);
}

INLINE void put32_of(sink *s, const int8_t *codes, float scale)
{
    __m512 low = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load16(codes)));
    __m512 high = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load16(codes + 16)));
    __m512 product = _mm512_mul_ps(low, x16(s, 0));
    add_product(s, _mm512_fmadd_ps(high, x16(s, 1), product), scale);
    next32(s);
}

INLINE void put32_plus(sink *s, __m256i codes, float scale, float offset)
{
    add_offset(s, offset, *s->sum32);
    put32(s, codes, scale);
}

INLINE void put16x2(sink *s, __m256i codes, const float scale[2])
{
    add_product(s, _mm512_mul_ps(f32x16(codes, 0), x16(s, 0)), scale[0]);
    add_product(s, _mm512_mul_ps(f32x16(codes, 1), x16(s, 1)), scale[1]);
    next32(s);
}

INLINE void put16x2_plus(sink *s, __m256i codes, const float scale[2], const float offset[2])
{
    add_offset(s, offset[0], s->sum16[0]);
    add_offset(s, offset[1], s->sum16[1]);
    put16x2(s, codes, scale);
}

#define QUANT_DOT(name) quant_dot_avx512_##name
#include "quant/x86/dots.h"
