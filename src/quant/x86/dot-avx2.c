/* Dot products of a row with AVX2, F16C and FMA: the functions of blocks-*.h, multiplying. */
#include "quant/kernels.h"
#include "quant/x86/unpack.h"

/* The codes of a group are multiplied by x and added up first, the sum by the scale of the group:
 * one multiplication more for 32 elements, not one for each. What is added to all of a group is
 * multiplied by the sum of x over the group. Two sums take turns, to hide the latency. */
typedef struct {
    const float *x;
    const float *sum16;
    const float *sum32;
    __m256 sum, other_sum;
    __m128 offsets, other_offsets;
} sink;

INLINE sink sink_new(const quant_input *x)
{
    return (sink){x->x,
                  x->sum16,
                  x->sum32,
                  _mm256_setzero_ps(),
                  _mm256_setzero_ps(),
                  _mm_setzero_ps(),
                  _mm_setzero_ps()};
}

INLINE float sink_total(const sink *s)
{
    __m256 sum = _mm256_add_ps(s->sum, s->other_sum);
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    __m128 one = _mm_add_ss(two, _mm_movehdup_ps(two));
    return _mm_cvtss_f32(_mm_add_ss(one, _mm_add_ss(s->offsets, s->other_offsets)));
}

INLINE void add_product(sink *s, __m256 product, float scale)
{
    __m256 sum = _mm256_fmadd_ps(product, _mm256_set1_ps(scale), s->sum);
    s->sum = s->other_sum;
    s->other_sum = sum;
}

INLINE void add_offset(sink *s, float offset, float x)
{
    __m128 sum = _mm_fmadd_ss(_mm_set_ss(offset), _mm_set_ss(x), s->offsets);
    s->offsets = s->other_offsets;
    s->other_offsets = sum;
}

INLINE __m256 x8(const sink *s, int k)
{
    return _mm256_loadu_ps(s->x + 8 * k);
}

INLINE void next32(sink *s)
{
    s->x += 32;
    s->sum16 += 2;
    s->sum32 += 1;
}

INLINE void put32(sink *s, __m256i codes, float scale)
{
    __m256 product = _mm256_mul_ps(f32x8(codes, 0), x8(s, 0));
    UNROLLED
    for (int k = 1; k < 4; k++)
        product = _mm256_fmadd_ps(f32x8(codes, k), x8(s, k), product);
    add_product(s, product, scale);
    next32(s);
}

INLINE void put32_of(sink *s, const int8_t *codes, float scale)
{
    __m256 product = _mm256_setzero_ps();
    UNROLLED
    for (int k = 0; k < 4; k++) {
        __m256 code = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(load8(codes + 8 * k)));
        product = _mm256_fmadd_ps(code, x8(s, k), product);
    }
    add_product(s, product, scale);
    next32(s);
}

INLINE void put32_plus(sink *s, __m256i codes, float scale, float offset)
{
    add_offset(s, offset, *s->sum32);
    put32(s, codes, scale);
}

INLINE void put16x2(sink *s, __m256i codes, const float scale[2])
{
    UNROLLED
    for (int k = 0; k < 2; k++) {
        __m256 product = _mm256_mul_ps(f32x8(codes, 2 * k), x8(s, 2 * k));
        product = _mm256_fmadd_ps(f32x8(codes, 2 * k + 1), x8(s, 2 * k + 1), product);
        add_product(s, product, scale[k]);
    }
    next32(s);
}

INLINE void put16x2_plus(sink *s, __m256i codes, const float scale[2], const float offset[2])
{
    add_offset(s, offset[0], s->sum16[0]);
    add_offset(s, offset[1], s->sum16[1]);
    put16x2(s, codes, scale);
}

#define QUANT_DOT(name) quant_dot_avx2_##name
#include "quant/x86/dots.h"

/* Numbers: 32 at a time; what is left, fewer than that, one by one. */
#define DOT_NUMBERS(name, bytes, load_8, load_1)                                                   \
    float QUANT_DOT(name)(const void *row, size_t n, const quant_input *x)                         \
    {                                                                                              \
        const uint8_t *p = row;                                                                    \
        __m256 sum[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),            \
                         _mm256_setzero_ps()};                                                     \
        size_t i = 0;                                                                              \
        for (; i + 32 <= n; i += 32)                                                               \
            UNROLLED                                                                               \
        for (size_t k = 0; k < 4; k++)                                                             \
            sum[k] = _mm256_fmadd_ps(load_8(p + (bytes) * (i + 8 * k)),                            \
                                     _mm256_loadu_ps(x->x + i + 8 * k), sum[k]);                   \
        sink s = {.sum = _mm256_add_ps(sum[0], sum[1]),                                            \
                  .other_sum = _mm256_add_ps(sum[2], sum[3])};                                     \
        float total = sink_total(&s);                                                              \
        for (; i < n; i++)                                                                         \
            total += load_1(p + (bytes)*i) * x->x[i];                                              \
        return total;                                                                              \
    }

INLINE __m256 f32_at8(const uint8_t *p)
{
    return _mm256_loadu_ps((const float *)(const void *)p);
}

INLINE float f32_at1(const uint8_t *p)
{
    return f32_of_bits(u32_at(p));
}
DOT_NUMBERS(f32, 4, f32_at8, f32_at1)

INLINE __m256 f16_at8(const uint8_t *p)
{
    return _mm256_cvtph_ps(load16(p));
}
DOT_NUMBERS(f16, 2, f16_at8, f16)

INLINE __m256 bf16_at8(const uint8_t *p)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load16(p)), 16));
}

INLINE float bf16_at1(const uint8_t *p)
{
    return f32_of_bits((uint32_t)u16_at(p) << 16);
}
DOT_NUMBERS(bf16, 2, bf16_at8, bf16_at1)
