/* Dot products of a row with AVX-512 (F, BW, DQ, VL), for the types that gain by it: those of
 * nibbles, which one instruction looks up as float32, those of 5 and 6 bits and of ternary digits,
 * 64 of which are unpacked at a time, and numbers. */
#include "quant/codebooks.h"
#include "quant/kernels.h"
#include "quant/x86/scales.h"

/* As in dot-avx2.c: codes times x first, the sum of a group by its scale; two sums take turns. */
typedef struct {
    const float *x;
    const float *sum32;
    const float *shuffled;
    __m512 sum, other_sum;
    __m256 offsets;
} sink;

INLINE sink sink_new(const quant_input *x)
{
    return (sink){
        .x = x->x,
        .sum32 = x->sum32,
        .shuffled = x->shuffled,
        .sum = _mm512_setzero_ps(),
        .other_sum = _mm512_setzero_ps(),
        .offsets = _mm256_setzero_ps(),
    };
}

INLINE float sink_total(const sink *s)
{
    __m512 sum = _mm512_add_ps(s->sum, s->other_sum);
    return _mm512_reduce_add_ps(_mm512_add_ps(sum, _mm512_zextps256_ps512(s->offsets)));
}

INLINE void add_product(sink *s, __m512 product, __m512 scale)
{
    __m512 sum = _mm512_fmadd_ps(product, scale, s->sum);
    s->sum = s->other_sum;
    s->other_sum = sum;
}

INLINE void add_offsets(sink *s, const float offset[8])
{
    s->offsets = _mm256_fmadd_ps(_mm256_loadu_ps(offset), _mm256_loadu_ps(s->sum32), s->offsets);
    s->sum32 += 8;
}

INLINE __m512 f16x16(const uint8_t *p)
{
    return _mm512_cvtph_ps(_mm256_set1_epi16((short)u16_at(p)));
}

INLINE __m512 f32_of_i8(__m128i bytes)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
}

/* value[low nibble] of 16 bytes, each widened to 32 bits: the instruction ignores all higher bits.
 */
INLINE __m512 low_values(__m512i bytes, __m512 value)
{
    return _mm512_permutexvar_ps(bytes, value);
}

INLINE __m512 high_values(__m512i bytes, __m512 value)
{
    return _mm512_permutexvar_ps(_mm512_srli_epi32(bytes, 4), value);
}

/* 16 bytes, the low nibbles, then the high ones. */
INLINE void put_nibbles(sink *s, const uint8_t p[16], __m512 value, __m512 scale)
{
    __m512i bytes = _mm512_cvtepu8_epi32(load16(p));
    __m512 product = _mm512_mul_ps(low_values(bytes, value), _mm512_loadu_ps(s->x));
    product = _mm512_fmadd_ps(high_values(bytes, value), _mm512_loadu_ps(s->x + 16), product);
    add_product(s, product, scale);
    s->x += 32;
}

INLINE void q4_0(const block_q4_0 *b, sink *s)
{
    put_nibbles(s, b->qs, f32_of_i8(load16(q4_0_values)), f16x16(b->d));
}

INLINE void iq4_nl(const block_iq4_nl *b, sink *s)
{
    put_nibbles(s, b->qs, f32_of_i8(load16(quant_iq4nl_values)), f16x16(b->d));
}

INLINE void mxfp4(const block_mxfp4 *b, sink *s)
{
    put_nibbles(s, b->qs, f32_of_i8(load16(quant_fp4_values)), _mm512_set1_ps(*half_e8m0_at(b->e)));
}

INLINE void iq4_xs(const block_iq4_xs *b, sink *s)
{
    const __m512 value = f32_of_i8(load16(quant_iq4nl_values));
    float scale[8];
    to_memory(scale, iq4_xs_scales(b));

    UNROLLED
    for (int i = 0; i < 8; i++)
        put_nibbles(s, b->qs + 16 * i, value, _mm512_set1_ps(scale[i]));
}

INLINE void q4_k(const block_q4_k *b, sink *s)
{
    const __m512 value = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    float scale[8], offset[8];
    q4_k_scales(b->scales, b->d, b->dmin, scale, offset);
    add_offsets(s, offset);

    UNROLLED
    for (int i = 0; i < 4; i++, s->x += 64) { /* 32 low nibbles, 32 high ones */
        __m512i a = _mm512_cvtepu8_epi32(load16(b->qs + 32 * i));
        __m512i c = _mm512_cvtepu8_epi32(load16(b->qs + 32 * i + 16));
        __m512 low = _mm512_mul_ps(low_values(a, value), _mm512_loadu_ps(s->x));
        __m512 high = _mm512_mul_ps(high_values(a, value), _mm512_loadu_ps(s->x + 32));
        low = _mm512_fmadd_ps(low_values(c, value), _mm512_loadu_ps(s->x + 16), low);
        high = _mm512_fmadd_ps(high_values(c, value), _mm512_loadu_ps(s->x + 48), high);
        add_product(s, low, _mm512_set1_ps(scale[2 * i]));
        add_product(s, high, _mm512_set1_ps(scale[2 * i + 1]));
    }
}

/* Codes 4j to 4j+3 of each 16, times 2^24: see dot-avx2.c. */
INLINE __m512 quarter(__m512i codes, int j)
{
    const __m512i top =
        _mm512_broadcast_i32x4(_mm_setr_epi32(0x00808080, 0x01808080, 0x02808080, 0x03808080));
    const __m512i which = _mm512_add_epi8(top, _mm512_set1_epi32(4 * j << 24));
    return _mm512_cvtepi32_ps(_mm512_shuffle_epi8(codes, which));
}

INLINE void put64(sink *s, __m512i codes, __m512 scale)
{
    __m512 product = _mm512_mul_ps(quarter(codes, 0), _mm512_loadu_ps(s->shuffled));
    UNROLLED
    for (int j = 1; j < 4; j++)
        product =
            _mm512_fmadd_ps(quarter(codes, j), _mm512_loadu_ps(s->shuffled + 16 * j), product);
    add_product(s, product, scale);
    s->shuffled += 64;
}

INLINE __m512i load32_twice(const void *p)
{
    return _mm512_broadcast_i64x4(load32(p));
}

/* Rotations to the right, in each 64 bits, of the lower and the upper 32 bytes. */
INLINE __m512i rotate_halves(__m512i v, int lower, int upper)
{
    return _mm512_rorv_epi64(v, _mm512_setr_epi64(lower & 63, lower & 63, lower & 63, lower & 63,
                                                  upper & 63, upper & 63, upper & 63, upper & 63));
}

INLINE __m512i masked(__m512i v, int mask)
{
    return _mm512_and_si512(v, _mm512_set1_epi8((char)mask));
}

INLINE void q5_k(const block_q5_k *b, sink *s)
{
    const __m512i fifth = load32_twice(b->qh);
    const __m512i first_half = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    float scale[8], offset[8];
    q4_k_scales(b->scales, b->d, b->dmin, scale, offset);
    add_offsets(s, offset);
    const __m512 scales = _mm512_zextps256_ps512(_mm256_loadu_ps(scale));

    UNROLLED
    for (int i = 0; i < 4; i++) {
        __m512i low = masked(rotate_halves(load32_twice(b->qs + 32 * i), 0, 4), 15);
        __m512i high = masked(rotate_halves(fifth, 2 * i - 4, 2 * i - 3), 16);
        __m512i group = _mm512_add_epi32(first_half, _mm512_set1_epi32(2 * i));
        put64(s, _mm512_or_si512(low, high), _mm512_permutexvar_ps(group, scales));
    }
}

INLINE void q6_k(const block_q6_k *b, sink *s)
{
    const __m512i first_group = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512 scales = _mm512_mul_ps(f32_of_i8(load16(b->scales)), f16x16(b->d));

    UNROLLED
    for (int i = 0; i < 4; i++) {
        __m512i low = _mm512_loadu_si512(b->ql + i / 2 * 64);
        __m512i high = load32_twice(b->qh + i / 2 * 32);
        low = masked(i % 2 ? _mm512_srli_epi16(low, 4) : low, 15);
        high = masked(rotate_halves(high, 4 * (i % 2) - 4, 4 * (i % 2) - 2), 48);
        __m512i q = _mm512_sub_epi8(_mm512_or_si512(low, high), _mm512_set1_epi8(32));
        __m512i group = _mm512_add_epi32(first_group, _mm512_set1_epi32(4 * i));
        put64(s, q, _mm512_permutexvar_ps(group, scales));
    }
}

/* Times 3 in every byte, wrapping. */
INLINE __m512i times3(__m512i v)
{
    return _mm512_add_epi8(v, _mm512_add_epi8(v, v));
}

/* The first ternary digit of every byte, less 1: see blocks-simple.h. */
INLINE __m512i ternary(__m512i v)
{
    __mmask64 above_85 = _mm512_cmpgt_epu8_mask(v, _mm512_set1_epi8(85));
    __mmask64 above_170 = _mm512_cmpgt_epu8_mask(v, _mm512_set1_epi8((char)170));
    __m512i zero_or_less =
        _mm512_mask_mov_epi8(_mm512_set1_epi8(-1), above_85, _mm512_setzero_si512());
    return _mm512_mask_mov_epi8(zero_or_less, above_170, _mm512_set1_epi8(1));
}

INLINE void tq1_0(const block_tq1_0 *b, sink *s)
{
    const __m512 d = f16x16(b->d);

    /* 32 bytes, five digits of each, two at a time; beside the fifth the first two of 16 bytes */
    __m512i v = load32_twice(b->qs);
    v = _mm512_mask_mov_epi32(v, 0xff00, times3(v));
    put64(s, ternary(v), d);
    v = times3(times3(v));
    put64(s, ternary(v), d);
    v = times3(times3(v));
    __m512i last = _mm512_broadcast_i32x4(load16(b->qs + 32));
    last = _mm512_mask_mov_epi32(last, 0xf0f0, times3(last));
    put64(s, ternary(_mm512_mask_mov_epi32(v, 0xff00, last)), d);

    /* the other three of these, and four digits of each of the 4 bytes of qh */
    v = times3(times3(last));
    v = _mm512_mask_mov_epi32(v, 0x0f00, times3(times3(v)));
    __m512i qh = _mm512_set1_epi32((int)u32_at(b->qh));
    qh = _mm512_mask_mov_epi32(qh, 0xa000, times3(qh));
    qh = _mm512_mask_mov_epi32(qh, 0xc000, times3(times3(qh)));
    put64(s, ternary(_mm512_mask_mov_epi32(v, 0xf000, qh)), d);
}

/* Small blocks four at a time, so that they too keep both sums going. */
#define DOT(name)                                                                                  \
    float quant_dot_avx512_##name(const void *row, size_t n, const quant_input *x)                 \
    {                                                                                              \
        enum { AT_ONCE = sizeof(block_##name) < 50 ? 4 : 1 };                                      \
        const block_##name *block = row;                                                           \
        sink s = sink_new(x);                                                                      \
        for (; n >= AT_ONCE; n -= AT_ONCE, block += AT_ONCE) {                                     \
            fetch_ahead(block, sizeof *block *AT_ONCE);                                            \
            UNROLLED                                                                               \
            for (int i = 0; i < AT_ONCE; i++)                                                      \
                name(block + i, &s);                                                               \
        }                                                                                          \
        for (; n > 0; n--, block++)                                                                \
            name(block, &s);                                                                       \
        return sink_total(&s);                                                                     \
    }
QUANT_FOR_EACH_AVX512_DOT(DOT)

/* Numbers: 64 at a time, in four sums; what is left, fewer than that, one by one. */
#define DOT_NUMBERS(name, bytes, load_16, load_1)                                                  \
    float quant_dot_avx512_##name(const void *row, size_t n, const quant_input *x)                 \
    {                                                                                              \
        const uint8_t *p = row;                                                                    \
        __m512 sum[4] = {_mm512_setzero_ps()};                                                     \
        size_t i = 0;                                                                              \
        for (; i + 64 <= n; i += 64) {                                                             \
            fetch_ahead(p + (bytes)*i, 64 * (bytes));                                              \
            UNROLLED                                                                               \
            for (size_t k = 0; k < 4; k++)                                                         \
                sum[k] = _mm512_fmadd_ps(load_16(p + (bytes) * (i + 16 * k)),                      \
                                         _mm512_loadu_ps(x->x + i + 16 * k), sum[k]);              \
        }                                                                                          \
        sum[0] = _mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3]));      \
        float total = _mm512_reduce_add_ps(sum[0]);                                                \
        for (; i < n; i++)                                                                         \
            total += load_1(p + (bytes)*i) * x->x[i];                                              \
        return total;                                                                              \
    }

INLINE __m512 f32_at16(const uint8_t *p)
{
    return _mm512_loadu_ps(p);
}
DOT_NUMBERS(f32, 4, f32_at16, f32_at1)

INLINE __m512 f16_at16(const uint8_t *p)
{
    return _mm512_cvtph_ps(load32(p));
}
DOT_NUMBERS(f16, 2, f16_at16, f16)

/* 32 at a time: the odd ones stand where float32 has them, the even ones are moved there. */
float quant_dot_avx512_bf16(const void *row, size_t n, const quant_input *x)
{
    const uint8_t *p = row;
    const __m512i high = _mm512_set1_epi32((int)0xffff0000);
    __m512 sum[4] = {_mm512_setzero_ps()};
    size_t i = 0;

    for (; i + 64 <= n; i += 64) {
        fetch_ahead(p + 2 * i, 128);
        UNROLLED
        for (size_t k = 0; k < 4; k += 2) {
            const float *even_odd = x->even_odd + i + 16 * k;
            __m512i pairs = _mm512_loadu_si512(p + 2 * (i + 16 * k));
            __m512 even = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
            __m512 odd = _mm512_castsi512_ps(_mm512_and_si512(pairs, high));
            sum[k] = _mm512_fmadd_ps(even, _mm512_loadu_ps(even_odd), sum[k]);
            sum[k + 1] = _mm512_fmadd_ps(odd, _mm512_loadu_ps(even_odd + 16), sum[k + 1]);
        }
    }
    sum[0] = _mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3]));
    float total = _mm512_reduce_add_ps(sum[0]);
    for (; i < n; i++)
        total += bf16_at1(p + 2 * i) * x->x[i];
    return total;
}

/* Two halves of 8 numbers, as float32. */
INLINE __m512 join(__m256 low, __m256 high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

INLINE float f64_at1(const uint8_t *p)
{
    double value;
    memcpy(&value, p, sizeof value);
    return (float)value;
}

INLINE __m512 f64_at16(const uint8_t *p)
{
    return join(_mm512_cvtpd_ps(_mm512_loadu_pd(p)), _mm512_cvtpd_ps(_mm512_loadu_pd(p + 64)));
}
DOT_NUMBERS(f64, 8, f64_at16, f64_at1)

INLINE float i64_at1(const uint8_t *p)
{
    return (float)(int64_t)u64_at(p);
}

INLINE __m512 i64_at16(const uint8_t *p)
{
    return join(_mm512_cvtepi64_ps(_mm512_loadu_si512(p)),
                _mm512_cvtepi64_ps(_mm512_loadu_si512(p + 64)));
}
DOT_NUMBERS(i64, 8, i64_at16, i64_at1)
