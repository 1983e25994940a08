/* One block of each simple type, unpacked to codes and put into a sink, 32 elements at a time. The
 * file that includes this has included a sink before. A portable version of each, which is what it
 * must give, is in portable/simple.c. */
#pragma once

#include "quant/blocks.h"
#include "quant/codebooks.h"
#include "quant/x86/scales.h"

INLINE void q4_0(const block_q4_0 *b, sink *s)
{
    put_nibbles(s, b->qs, q4_0_values, f16x8(b->d));
}

INLINE void q4_1(const block_q4_1 *b, sink *s)
{
    const __m256 m = f16x8(b->m);

    one_offset(s, m);
    put32_plus(s, nibbles(b->qs), f16x8(b->d), m);
}

INLINE void q5_0(const block_q5_0 *b, sink *s)
{
    /* 16 is taken away where the fifth bit is 0: then the code is negative */
    __m256i high = _mm256_andnot_si256(bit_mask(u32_at(b->qh)), _mm256_set1_epi8((char)0xf0));
    put32(s, _mm256_or_si256(nibbles(b->qs), high), f16x8(b->d));
}

INLINE void q5_1(const block_q5_1 *b, sink *s)
{
    const __m256i high = _mm256_and_si256(bit_mask(u32_at(b->qh)), _mm256_set1_epi8(16));
    const __m256 m = f16x8(b->m);

    one_offset(s, m);
    put32_plus(s, _mm256_or_si256(nibbles(b->qs), high), f16x8(b->d), m);
}

INLINE void q8_0(const block_q8_0 *b, sink *s)
{
    put32_of(s, b->qs, f16x8(b->d));
}

INLINE void q8_1(const block_q8_1 *b, sink *s)
{
    put32_of(s, b->qs, f16x8(b->d));
}

INLINE void q8_k(const block_q8_k *b, sink *s)
{
    const __m256 d = _mm256_set1_ps(f32_of_bits(u32_at(b->d)));

    UNROLLED
    for (int i = 0; i < 8; i++)
        put32_of(s, b->qs + 32 * i, d);
}

INLINE void iq4_nl(const block_iq4_nl *b, sink *s)
{
    put_nibbles(s, b->qs, quant_iq4nl_values, f16x8(b->d));
}

INLINE void iq4_xs(const block_iq4_xs *b, sink *s)
{
    float scale[8];
    to_memory(scale, iq4_xs_scales(b));

    UNROLLED
    for (int i = 0; i < 8; i++)
        put_nibbles(s, b->qs + 16 * i, quant_iq4nl_values, all(scale + i));
}

INLINE void mxfp4(const block_mxfp4 *b, sink *s)
{
    put_nibbles(s, b->qs, quant_fp4_values, all(half_e8m0_at(b->e)));
}

INLINE void nvfp4(const block_nvfp4 *b, sink *s)
{
    /* An UE4M3 number is the top half of a float16 times 2^8; 0x7f is 0. */
    __m128i d = _mm_cvtepu8_epi32(_mm_cvtsi32_si128((int)u32_at(b->d)));
    __m128i not_zero = _mm_xor_si128(_mm_cmpeq_epi32(d, _mm_set1_epi32(0x7f)), _mm_set1_epi32(-1));
    __m128i half = _mm_packus_epi32(_mm_slli_epi32(_mm_and_si128(d, _mm_set1_epi32(0x7f)), 7), d);
    __m128 scales = _mm_mul_ps(_mm_cvtph_ps(half), _mm_set1_ps(128));
    float scale[4];
    _mm_storeu_ps(scale, _mm_and_ps(scales, _mm_castsi128_ps(not_zero)));

    UNROLLED
    for (int i = 0; i < 2; i++) { /* 8 bytes: low nibbles, high nibbles; and again */
        __m256i q = _mm256_permute4x64_epi64(_mm256_castsi128_si256(load16(b->qs + 16 * i)),
                                             _MM_SHUFFLE(1, 1, 0, 0));
        q = low_bits(_mm256_srlv_epi64(q, _mm256_setr_epi64x(0, 4, 0, 4)), 4);
        put16x2(s, lookup16(quant_fp4_values, q), scale + 2 * i);
    }
}

INLINE void q1_0(const block_q1_0 *b, sink *s)
{
    const __m256 d = f16x8(b->d);

    UNROLLED
    for (int i = 0; i < 4; i++) { /* 1 for a 1, -1 for a 0 */
        __m256i mask = bit_mask(~u32_at(b->qs + 4 * i));
        put32(s, _mm256_or_si256(mask, _mm256_set1_epi8(1)), d);
    }
}

INLINE void q2_0(const block_q2_0 *b, sink *s)
{
    const __m256 d = f16x8(b->d);

    UNROLLED
    for (int i = 0; i < 2; i++)
        put32(s, pairs_lookup(b->qs + 8 * i, -1, 0, 1, 2), d);
}

INLINE void tq2_0(const block_tq2_0 *b, sink *s)
{
    const __m256 d = f16x8(b->d);

    UNROLLED
    for (int i = 0; i < 8; i++) {
        __m256i q = bit_field(load32(b->qs + i / 4 * 32), 2 * (i % 4), 2);
        put32(s, _mm256_sub_epi8(q, _mm256_set1_epi8(1)), d);
    }
}

/* Times 3 in every byte, wrapping. */
INLINE __m256i times3(__m256i v)
{
    return _mm256_add_epi8(v, _mm256_add_epi8(v, v));
}

/* The first ternary digit of every byte, less 1: -1 up to 85, 0 up to 170, 1 above. The bytes are
 * less 128, since only signed ones can be compared; times3 keeps that so. */
INLINE __m256i ternary(__m256i v)
{
    __m256i above_85 = _mm256_cmpgt_epi8(v, _mm256_set1_epi8(85 - 128));
    __m256i above_170 = _mm256_cmpgt_epi8(v, _mm256_set1_epi8(170 - 128));
    return _mm256_sub_epi8(_mm256_sub_epi8(_mm256_set1_epi8(-1), above_85), above_170);
}

INLINE void tq1_0(const block_tq1_0 *b, sink *s)
{
    const __m256 d = f16x8(b->d);

    const __m256i sign = _mm256_set1_epi8(-128);
    __m256i v = _mm256_xor_si256(load32(b->qs), sign);
    UNROLLED
    for (int digit = 0; digit < 5; digit++, v = times3(v))
        put32(s, ternary(v), d);

    /* 16 bytes, five digits of each: two digits at a time, and with the last the 4 bytes of qh,
     * four digits of each */
    const __m256i first = _mm256_xor_si256(_mm256_broadcastsi128_si256(load16(b->qs + 32)), sign);
    const __m256i qh = _mm256_xor_si256(_mm256_set1_epi32((int)u32_at(b->qh)), sign);
    v = _mm256_blend_epi32(first, times3(first), 0xf0);
    put32(s, ternary(v), d);
    v = times3(times3(v));
    put32(s, ternary(v), d);
    v = times3(times3(v));
    __m256i tail = _mm256_blend_epi32(qh, times3(qh), 0xaa);
    tail = _mm256_blend_epi32(tail, times3(times3(tail)), 0xcc);
    put32(s, ternary(_mm256_blend_epi32(v, tail, 0xf0)), d);
}
