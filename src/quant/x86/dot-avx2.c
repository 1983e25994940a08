/* Dot products of a row with AVX2, F16C and FMA: the functions of blocks-*.h, multiplying. */
#include "quant/kernels.h"
#include "quant/x86/unpack.h"

/* The codes of a group are multiplied by x and added up first, the sum by the scale of the group:
 * one multiplication more for 32 elements, not one for each. What is added to all of a group is
 * multiplied by the sum of x over the group. Two sums take turns, to hide the latency.
 *
 * A shuffle puts codes into the top bytes of 32-bit integers, which so get their sign and a factor
 * of 2^24; x is in the order, and has the factor, that goes with this (quant_input). */
typedef struct {
    const float *x; /* of the 64 elements that the next 32 are half of */
    int half;
    const float *sum16;
    const float *sum32;
    __m256 sum, other_sum;
    __m256 offsets;
    __m128 offset, other_offset;
} sink;

INLINE sink sink_new(const quant_input *x)
{
    return (sink){
        .x = x->shuffled,
        .sum16 = x->sum16,
        .sum32 = x->sum32,
        .sum = _mm256_setzero_ps(),
        .other_sum = _mm256_setzero_ps(),
        .offsets = _mm256_setzero_ps(),
        .offset = _mm_setzero_ps(),
        .other_offset = _mm_setzero_ps(),
    };
}

INLINE float sum8(__m256 v)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

INLINE float sink_total(const sink *s)
{
    __m256 sum = _mm256_add_ps(_mm256_add_ps(s->sum, s->other_sum), s->offsets);
    return sum8(sum) + _mm_cvtss_f32(_mm_add_ss(s->offset, s->other_offset));
}

INLINE void sink_at_64(sink *s)
{
    s->half = 0;
}

INLINE void all_offsets(sink *s, const float *offset, int n)
{
    const float *sums = n == 16 ? s->sum16 : s->sum32;

    UNROLLED
    for (int i = 0; i < n; i += 8)
        s->offsets =
            _mm256_fmadd_ps(_mm256_loadu_ps(offset + i), _mm256_loadu_ps(sums + i), s->offsets);
}

INLINE void one_offset(sink *s, __m256 offset)
{
    __m128 sum = _mm_fmadd_ss(_mm256_castps256_ps128(offset), _mm_load_ss(s->sum32), s->offset);
    s->offset = s->other_offset;
    s->other_offset = sum;
}

/* Codes 4j to 4j+3 of the first 16, and of the last 16, times 2^24. */
INLINE __m256 quarter(__m256i codes, int j)
{
    const __m256i top = _mm256_setr_epi32(0x00808080, 0x01808080, 0x02808080, 0x03808080,
                                          0x00808080, 0x01808080, 0x02808080, 0x03808080);
    const __m256i which = _mm256_add_epi8(top, _mm256_set1_epi32(4 * j << 24));
    return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(codes, which));
}

INLINE void put32(sink *s, __m256i codes, __m256 scale)
{
    const float *x = s->x + 8 * s->half;
    __m256 product = _mm256_mul_ps(quarter(codes, 0), _mm256_loadu_ps(x));
    UNROLLED
    for (int j = 1; j < 4; j++)
        product = _mm256_fmadd_ps(quarter(codes, j), _mm256_loadu_ps(x + 16 * j), product);
    __m256 sum = _mm256_fmadd_ps(product, scale, s->sum);
    s->sum = s->other_sum;
    s->other_sum = sum;
    s->x += s->half ? 64 : 0;
    s->half ^= 1;
    s->sum16 += 2;
    s->sum32 += 1;
}

INLINE void put32_of(sink *s, const int8_t *codes, __m256 scale)
{
    put32(s, load32(codes), scale);
}

INLINE void put32_plus(sink *s, __m256i codes, __m256 scale, __m256 offset)
{
    put32(s, codes, scale);
}

INLINE void put16x2(sink *s, __m256i codes, const float scale[2])
{
    put32(s, codes, _mm256_blend_ps(all(scale), all(scale + 1), 0xf0));
}

INLINE void put16x2_plus(sink *s, __m256i codes, const float scale[2], const float offset[2])
{
    put16x2(s, codes, scale);
}

INLINE void put_nibbles(sink *s, const uint8_t p[16], const int8_t value[16], __m256 scale)
{
    put32(s, lookup16(value, nibbles(p)), scale);
}

#include "quant/x86/blocks-iq.h"
#include "quant/x86/blocks-k.h"
#include "quant/x86/blocks-simple.h"

/* Small blocks four at a time, so that they too keep both sums going; then x stands at a multiple
 * of 64 elements. */
#define DOT(name)                                                                                  \
    float quant_dot_avx2_##name(const void *row, size_t n, const quant_input *x)                   \
    {                                                                                              \
        enum { AT_ONCE = sizeof(block_##name) < 50 ? 4 : 1 };                                      \
        const block_##name *block = row;                                                           \
        sink s = sink_new(x);                                                                      \
        for (; n >= AT_ONCE; n -= AT_ONCE, block += AT_ONCE) {                                     \
            fetch_ahead(block, sizeof *block *AT_ONCE);                                            \
            sink_at_64(&s);                                                                        \
            UNROLLED                                                                               \
            for (int i = 0; i < AT_ONCE; i++)                                                      \
                name(block + i, &s);                                                               \
        }                                                                                          \
        for (; n > 0; n--, block++)                                                                \
            name(block, &s);                                                                       \
        return sink_total(&s);                                                                     \
    }
QUANT_FOR_EACH_BLOCK_KERNEL(DOT)

/* Numbers: 64 at a time, in eight sums; what is left, fewer than that, one by one. */
#define DOT_NUMBERS(name, bytes, load_8, load_1)                                                   \
    float quant_dot_avx2_##name(const void *row, size_t n, const quant_input *x)                   \
    {                                                                                              \
        const uint8_t *p = row;                                                                    \
        __m256 sum[8] = {_mm256_setzero_ps()};                                                     \
        size_t i = 0;                                                                              \
        for (; i + 64 <= n; i += 64) {                                                             \
            fetch_ahead(p + (bytes)*i, 64 * (bytes));                                              \
            UNROLLED                                                                               \
            for (size_t k = 0; k < 8; k++)                                                         \
                sum[k] = _mm256_fmadd_ps(load_8(p + (bytes) * (i + 8 * k)),                        \
                                         _mm256_loadu_ps(x->x + i + 8 * k), sum[k]);               \
        }                                                                                          \
        for (size_t k = 1; k < 8; k++)                                                             \
            sum[0] = _mm256_add_ps(sum[0], sum[k]);                                                \
        float total = sum8(sum[0]);                                                                \
        for (; i < n; i++)                                                                         \
            total += load_1(p + (bytes)*i) * x->x[i];                                              \
        return total;                                                                              \
    }

INLINE __m256 f32_at8(const uint8_t *p)
{
    return _mm256_loadu_ps((const float *)(const void *)p);
}

DOT_NUMBERS(f32, 4, f32_at8, f32_at1)

INLINE __m256 f16_at8(const uint8_t *p)
{
    return _mm256_cvtph_ps(load16(p));
}
DOT_NUMBERS(f16, 2, f16_at8, f16)

/* 16 at a time: the odd ones stand where float32 has them, the even ones are moved there. */
float quant_dot_avx2_bf16(const void *row, size_t n, const quant_input *x)
{
    const uint8_t *p = row;
    const __m256i high = _mm256_set1_epi32((int)0xffff0000);
    __m256 sum[8] = {_mm256_setzero_ps()};
    size_t i = 0;

    for (; i + 64 <= n; i += 64) {
        fetch_ahead(p + 2 * i, 128);
        UNROLLED
        for (size_t k = 0; k < 8; k += 2) {
            const float *even_odd = x->even_odd + i + k / 4 * 32 + k / 2 % 2 * 8;
            __m256i pairs = load32(p + 2 * (i + 8 * k));
            __m256 even = _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
            __m256 odd = _mm256_castsi256_ps(_mm256_and_si256(pairs, high));
            sum[k] = _mm256_fmadd_ps(even, _mm256_loadu_ps(even_odd), sum[k]);
            sum[k + 1] = _mm256_fmadd_ps(odd, _mm256_loadu_ps(even_odd + 16), sum[k + 1]);
        }
    }
    for (size_t k = 1; k < 8; k++)
        sum[0] = _mm256_add_ps(sum[0], sum[k]);
    float total = sum8(sum[0]);
    for (; i < n; i++)
        total += bf16_at1(p + 2 * i) * x->x[i];
    return total;
}
