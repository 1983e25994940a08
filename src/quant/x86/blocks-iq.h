/* One block of each codebook type, unpacked to codes and put into a sink, 32 elements at a time.
 * The file that includes this has included a sink before. A portable version of each, which is what
 * it must give, is in portable/iq.c. */
#pragma once

#include "quant/blocks.h"
#include "quant/codebooks.h"
#include "quant/x86/unpack.h"

/* d * (0.5 + scale) * factor, as the reference rounds it. */
INLINE __m256 half_scaled(__m256i scales, float d, float factor)
{
    __m256 sum = _mm256_add_ps(_mm256_cvtepi32_ps(scales), _mm256_set1_ps(0.5f));
    return _mm256_mul_ps(_mm256_mul_ps(sum, _mm256_set1_ps(d)), _mm256_set1_ps(factor));
}

/* d * (2 * scale + 1) * factor. */
INLINE __m256 odd_scaled(__m256i scales, float d, float factor)
{
    __m256i odd = _mm256_add_epi32(_mm256_slli_epi32(scales, 1), _mm256_set1_epi32(1));
    return _mm256_mul_ps(scaled(odd, d), _mm256_set1_ps(factor));
}

/* 8 bytes, nibble by nibble, the low one first. */
INLINE __m128i nibbles_in_order(const uint8_t *p)
{
    __m128i bytes = load8(p);
    __m128i pairs = _mm_unpacklo_epi8(bytes, _mm_srli_epi16(bytes, 4));
    return _mm_and_si128(pairs, _mm_set1_epi8(15));
}

/* The scales of IQ2_XS and IQ2_S: 4 bits for 16 elements. */
INLINE void iq2_scales(const uint8_t scales[8], float d, float scale[16])
{
    __m128i in_order = nibbles_in_order(scales);
    __m128i upper = _mm_srli_si128(in_order, 8);
    to_memory(scale, half_scaled(_mm256_cvtepu8_epi32(in_order), d, 0.25f));
    to_memory(scale + 8, half_scaled(_mm256_cvtepu8_epi32(upper), d, 0.25f));
}

INLINE void iq2_xxs(const block_iq2_xxs *b, sink *s)
{
    /* the second word of each 8 bytes */
    __m256 pairs =
        _mm256_shuffle_ps(_mm256_castsi256_ps(load32(b->qs)),
                          _mm256_castsi256_ps(load32(b->qs + 32)), _MM_SHUFFLE(3, 1, 3, 1));
    __m256i sas = _mm256_permute4x64_epi64(_mm256_castps_si256(pairs), _MM_SHUFFLE(3, 1, 2, 0));
    float scale[8];
    uint32_t signs[8];
    to_memory(scale, half_scaled(_mm256_srli_epi32(sas, 28), f16(b->d), 0.25f));
    integers_to_memory(signs, signs_of_28_bits(sas));

    UNROLLED
    for (int i = 0; i < 8; i++) {
        const uint8_t *q = b->qs + 8 * i;
        __m256i codes = entries8(quant_iq2xxs_grid, q[0], q[1], q[2], q[3]);
        put32(s, apply_signs(codes, signs[i]), all(scale + i));
    }
}

/* 32 indices: a low byte and a high one. */
INLINE void join_indices(__m256i low, __m256i high, uint16_t out[32])
{
    __m256i a = _mm256_unpacklo_epi8(low, high); /* 0 to 7, 16 to 23 */
    __m256i b = _mm256_unpackhi_epi8(low, high);
    integers_to_memory(out, _mm256_permute2x128_si256(a, b, 0x20));
    integers_to_memory(out + 16, _mm256_permute2x128_si256(a, b, 0x31));
}

INLINE void iq2_xs(const block_iq2_xs *b, sink *s)
{
    __m256i seven = _mm256_packus_epi16(_mm256_srli_epi16(load32(b->qs), 9),
                                        _mm256_srli_epi16(load32(b->qs + 32), 9));
    float scale[16];
    uint32_t signs[8];
    iq2_scales(b->scales, f16(b->d), scale);
    seven = _mm256_permute4x64_epi64(seven, _MM_SHUFFLE(3, 1, 2, 0));
    integers_to_memory(signs, even_signs(seven));

    UNROLLED
    for (int i = 0; i < 8; i++) {
        const uint8_t *q = b->qs + 8 * i;
        __m256i codes = entries8(quant_iq2xs_grid, u16_at(q) & 511, u16_at(q + 2) & 511,
                                 u16_at(q + 4) & 511, u16_at(q + 6) & 511);
        put16x2(s, apply_signs(codes, signs[i]), scale + 2 * i);
    }
}

INLINE void iq2_s(const block_iq2_s *b, sink *s)
{
    float scale[16];
    uint16_t index[32];
    iq2_scales(b->scales, f16(b->d), scale);
    join_indices(load32(b->qs), pairs_lookup(b->qh, 0, 1, 2, 3), index);

    UNROLLED
    for (int i = 0; i < 8; i++) {
        const uint16_t *q = index + 4 * i;
        __m256i codes = entries8(quant_iq2s_grid, q[0], q[1], q[2], q[3]);
        put16x2(s, apply_signs(codes, u32_at(b->signs + 4 * i)), scale + 2 * i);
    }
}

/* Eight codebook entries of 4 bytes. */
#define ENTRIES4(grid, q)                                                                          \
    _mm256_setr_epi32((int)(grid)[(q)[0]], (int)(grid)[(q)[1]], (int)(grid)[(q)[2]],               \
                      (int)(grid)[(q)[3]], (int)(grid)[(q)[4]], (int)(grid)[(q)[5]],               \
                      (int)(grid)[(q)[6]], (int)(grid)[(q)[7]])

INLINE void iq3_xxs(const block_iq3_xxs *b, sink *s)
{
    const __m256i sas = load32(b->sas);
    float scale[8];
    uint32_t signs[8];
    to_memory(scale, half_scaled(_mm256_srli_epi32(sas, 28), f16(b->d), 0.5f));
    integers_to_memory(signs, signs_of_28_bits(sas));

    UNROLLED
    for (int i = 0; i < 8; i++) {
        __m256i codes = ENTRIES4(quant_iq3xxs_grid, b->qs + 8 * i);
        put32(s, apply_signs(codes, signs[i]), all(scale + i));
    }
}

INLINE void iq3_s(const block_iq3_s *b, sink *s)
{
    const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    __m256i scales = _mm256_srlv_epi32(_mm256_set1_epi32((int)u32_at(b->scales)), shifts);
    float scale[8];
    scales = _mm256_and_si256(scales, _mm256_set1_epi32(15));
    to_memory(scale, odd_scaled(scales, f16(b->d), 1));

    uint16_t index[64];
    const __m256i one = _mm256_set1_epi8(1);
    join_indices(load32(b->qs), _mm256_and_si256(bit_mask(u32_at(b->qh)), one), index);
    join_indices(load32(b->qs + 32), _mm256_and_si256(bit_mask(u32_at(b->qh + 4)), one),
                 index + 32);

    UNROLLED
    for (int i = 0; i < 8; i++) {
        __m256i codes = ENTRIES4(quant_iq3s_grid, index + 8 * i);
        put32(s, apply_signs(codes, u32_at(b->signs + 4 * i)), all(scale + i));
    }
}

/* The IQ1 types in eighths, so that their codes are whole: -1, 0, 1 times 8, plus 1 or minus 1. */
INLINE __m256i iq1_codes(__m256i entries, __m256i delta)
{
    return _mm256_add_epi8(_mm256_sign_epi8(_mm256_set1_epi8(8), entries), delta);
}

INLINE void iq1_s(const block_iq1_s *b, sink *s)
{
    const __m256i words = _mm256_cvtepu16_epi32(load16(b->qh));
    __m256i scales = _mm256_and_si256(_mm256_srli_epi32(words, 12), _mm256_set1_epi32(7));
    float scale[8];
    to_memory(scale, odd_scaled(scales, f16(b->d), 0.125f));

    UNROLLED
    for (int i = 0; i < 8; i++) {
        const uint8_t *q = b->qs + 4 * i;
        const unsigned high = u16_at(b->qh + 2 * i);
        __m256i entries =
            entries8(quant_iq1_grid, q[0] | (high << 8 & 0x700), q[1] | (high << 5 & 0x700),
                     q[2] | (high << 2 & 0x700), q[3] | (high >> 1 & 0x700));
        __m256i delta = _mm256_set1_epi8(high & 0x8000 ? -1 : 1);
        put32(s, iq1_codes(entries, delta), all(scale + i));
    }
}

INLINE void iq1_m(const block_iq1_m *b, sink *s)
{
    const uint64_t packed = u64_at(b->scales);
    const uint16_t d = (uint16_t)((packed >> 12 & 0x000f) | (packed >> 24 & 0x00f0) |
                                  (packed >> 36 & 0x0f00) | (packed >> 48 & 0xf000));
    const __m256i shifts = _mm256_setr_epi64x(0, 3, 6, 9);
    float scale[16];
    UNROLLED
    for (int i = 0; i < 2; i++) { /* two 16-bit words: 4 scales each */
        __m256i low = _mm256_srlv_epi64(_mm256_set1_epi64x((long long)(packed >> 32 * i)), shifts);
        __m256i high = _mm256_srli_epi64(low, 16);
        __m256i low7 = _mm256_and_si256(low, _mm256_set1_epi64x(7));
        __m256i high7 = _mm256_and_si256(high, _mm256_set1_epi64x(7));
        /* packed to 32 bits: low 0, low 1, high 0, high 1 | low 2, low 3, high 2, high 3 */
        __m256i scales = _mm256_castps_si256(_mm256_shuffle_ps(
            _mm256_castsi256_ps(low7), _mm256_castsi256_ps(high7), _MM_SHUFFLE(2, 0, 2, 0)));
        scales = _mm256_permute4x64_epi64(scales, _MM_SHUFFLE(3, 1, 2, 0));
        to_memory(scale + 8 * i, odd_scaled(scales, _cvtsh_ss(d), 0.125f));
    }

    UNROLLED
    for (int i = 0; i < 8; i++) {
        const uint8_t *q = b->qs + 4 * i;
        const unsigned high = u16_at(b->qh + 2 * i);
        __m256i entries =
            entries8(quant_iq1_grid, q[0] | (high << 8 & 0x700), q[1] | (high << 4 & 0x700),
                     q[2] | (high & 0x700), q[3] | (high >> 4 & 0x700));
        /* bits 3, 7, 11 and 15: minus an eighth for 8 elements each */
        __m256i bit = _mm256_setr_epi64x(8, 0x80, 0x800, 0x8000);
        __m256i down = _mm256_and_si256(_mm256_set1_epi64x(high), bit);
        __m256i delta = _mm256_or_si256(_mm256_cmpeq_epi64(down, bit), _mm256_set1_epi8(1));
        put16x2(s, iq1_codes(entries, delta), scale + 2 * i);
    }
}
