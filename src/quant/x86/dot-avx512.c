/* Dot products of a row with AVX-512 (F, BW, DQ, VL): as dot-avx2.c, 16 elements at a time. */
#include "quant/kernels.h"
#include "quant/x86/unpack.h"

typedef struct {
    const float *x;
    const float *sum16;
    const float *sum32;
    __m512 sum, other_sum;
    __m256 offsets;
    __m128 offset, other_offset;
} sink;

INLINE sink sink_new(const quant_input *x)
{
    return (sink){x->x,
                  x->sum16,
                  x->sum32,
                  _mm512_setzero_ps(),
                  _mm512_setzero_ps(),
                  _mm256_setzero_ps(),
                  _mm_setzero_ps(),
                  _mm_setzero_ps()};
}

INLINE float sink_total(const sink *s)
{
    __m512 sum = _mm512_add_ps(s->sum, s->other_sum);
    __m128 offset = _mm_add_ss(s->offset, s->other_offset);
    sum = _mm512_add_ps(sum, _mm512_zextps256_ps512(s->offsets));
    return _mm512_reduce_add_ps(sum) + _mm_cvtss_f32(offset);
}

INLINE void add_product(sink *s, __m512 product, float scale)
{
    __m512 sum = _mm512_fmadd_ps(product, _mm512_set1_ps(scale), s->sum);
    s->sum = s->other_sum;
    s->other_sum = sum;
}

/* The offsets of n groups, 16 of 16 elements, 8 of 32, or 1 of 32. */
INLINE void all_offsets(sink *s, const float *offset, int n)
{
    const float *sums = n == 16 ? s->sum16 : s->sum32;

    if (n == 1) {
        __m128 sum = _mm_fmadd_ss(_mm_set_ss(*offset), _mm_set_ss(*sums), s->offset);
        s->offset = s->other_offset;
        s->other_offset = sum;
    }
    for (int i = 0; i + 8 <= n; i += 8)
        s->offsets =
            _mm256_fmadd_ps(_mm256_loadu_ps(offset + i), _mm256_loadu_ps(sums + i), s->offsets);
}

INLINE __m512 x16(const sink *s, int k)
{
    return _mm512_loadu_ps(s->x + 16 * k);
}

INLINE void next32(sink *s)
{
    s->x += 32;
    s->sum16 += 2;
    s->sum32 += 1;
}

INLINE void put32_of(sink *s, const int8_t *codes, float scale)
{
    __m512 low = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load16(codes)));
    __m512 high = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load16(codes + 16)));
    __m512 product = _mm512_mul_ps(low, x16(s, 0));
    add_product(s, _mm512_fmadd_ps(high, x16(s, 1), product), scale);
    next32(s);
}

INLINE void put32(sink *s, __m256i codes, float scale)
{
    int8_t bytes[32];
    _mm256_storeu_si256((__m256i *)bytes, codes);
    put32_of(s, bytes, scale);
}

INLINE void put32_plus(sink *s, __m256i codes, float scale, float offset)
{
    put32(s, codes, scale);
}

INLINE void put16x2(sink *s, __m256i codes, const float scale[2])
{
    int8_t bytes[32];
    _mm256_storeu_si256((__m256i *)bytes, codes);
    __m512 low = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load16(bytes)));
    __m512 high = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load16(bytes + 16)));
    add_product(s, _mm512_mul_ps(low, x16(s, 0)), scale[0]);
    add_product(s, _mm512_mul_ps(high, x16(s, 1)), scale[1]);
    next32(s);
}

INLINE void put16x2_plus(sink *s, __m256i codes, const float scale[2], const float offset[2])
{
    put16x2(s, codes, scale);
}

/* Nibbles are looked up as float32: the instruction ignores what is above them. */
INLINE __m512 nibble_values(__m512 value, __m512i bytes, int shift)
{
    return _mm512_permutexvar_ps(shift ? _mm512_srli_epi32(bytes, 4) : bytes, value);
}

INLINE void put_nibbles(sink *s, const uint8_t p[16], const int8_t value[16], float scale)
{
    const __m512 values = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load16(value)));
    __m512i bytes = _mm512_cvtepu8_epi32(load16(p));
    __m512 product = _mm512_mul_ps(nibble_values(values, bytes, 0), x16(s, 0));
    product = _mm512_fmadd_ps(nibble_values(values, bytes, 4), x16(s, 1), product);
    add_product(s, product, scale);
    next32(s);
}

INLINE void put_nibbles_plus(sink *s, const uint8_t p[32], const float scale[2],
                             const float offset[2])
{
    const __m512 values = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i first = _mm512_cvtepu8_epi32(load16(p));
    __m512i second = _mm512_cvtepu8_epi32(load16(p + 16));
    __m512 low = _mm512_mul_ps(nibble_values(values, first, 0), x16(s, 0));
    __m512 high = _mm512_mul_ps(nibble_values(values, first, 4), x16(s, 2));
    low = _mm512_fmadd_ps(nibble_values(values, second, 0), x16(s, 1), low);
    high = _mm512_fmadd_ps(nibble_values(values, second, 4), x16(s, 3), high);
    add_product(s, low, scale[0]);
    add_product(s, high, scale[1]);
    next32(s);
    next32(s);
}

#define QUANT_DOT(name) quant_dot_avx512_##name
#include "quant/x86/dots.h"
