/* One block of each K type, unpacked to codes and put into a sink, 32 elements at a time. The file
 * that includes this has included a sink before. A portable version of each, which is what it must
 * give, is in portable/k.c. */
#pragma once

#include "quant/blocks.h"
#include "quant/x86/scales.h"

INLINE void q2_k(const block_q2_k *b, sink *s)
{
    float scale[16], offset[16];
    const __m128i scales = load16(b->scales);
    const __m128i nibble = _mm_set1_epi8(15);
    scale_i8x16(_mm_and_si128(scales, nibble), f16(b->d), scale);
    scale_i8x16(_mm_and_si128(_mm_srli_epi16(scales, 4), nibble), -f16(b->dmin), offset);
    all_offsets(s, offset, 16);

    UNROLLED
    for (int i = 0; i < 8; i++) {
        __m256i q = bit_field(load32(b->qs + i / 4 * 32), 2 * (i % 4), 2);
        put16x2_plus(s, q, scale + 2 * i, offset + 2 * i);
    }
}

/* The 16 scales of Q3_K, less 32. */
INLINE __m128i q3_k_scales(const uint8_t scales[12])
{
    const uint32_t low = 0x0f0f0f0f, high = 0x03030303;
    const uint32_t a = u32_at(scales), b = u32_at(scales + 4), c = u32_at(scales + 8);
    __m128i six = _mm_setr_epi32(
        (int)((a & low) | (c & high) << 4), (int)((b & low) | (c >> 2 & high) << 4),
        (int)((a >> 4 & low) | (c >> 4 & high) << 4), (int)((b >> 4 & low) | (c >> 6 & high) << 4));
    return _mm_sub_epi8(six, _mm_set1_epi8(32));
}

INLINE void q3_k(const block_q3_k *b, sink *s)
{
    float scale[16];
    scale_i8x16(q3_k_scales(b->scales), f16(b->d), scale);

    const __m256i third = load32(b->hmask);
    UNROLLED
    for (int i = 0; i < 8; i++) {
        __m256i q = bit_field(load32(b->qs + i / 4 * 32), 2 * (i % 4), 2);
        q = _mm256_or_si256(q, move_bits(third, i, 1, 2));
        put16x2(s, _mm256_sub_epi8(q, _mm256_set1_epi8(4)), scale + 2 * i);
    }
}

INLINE void q4_k(const block_q4_k *b, sink *s)
{
    float scale[8], offset[8];
    q4_k_scales(b->scales, b->d, b->dmin, scale, offset);
    all_offsets(s, offset, 8);

    UNROLLED
    for (int i = 0; i < 8; i++) {
        __m256i q = bit_field(load32(b->qs + i / 2 * 32), 4 * (i % 2), 4);
        put32_plus(s, q, all(scale + i), all(offset + i));
    }
}

INLINE void q5_k(const block_q5_k *b, sink *s)
{
    float scale[8], offset[8];
    q4_k_scales(b->scales, b->d, b->dmin, scale, offset);
    all_offsets(s, offset, 8);

    const __m256i fifth = load32(b->qh);
    UNROLLED
    for (int i = 0; i < 8; i++) {
        __m256i q = bit_field(load32(b->qs + i / 2 * 32), 4 * (i % 2), 4);
        put32_plus(s, _mm256_or_si256(q, move_bits(fifth, i, 1, 4)), all(scale + i),
                   all(offset + i));
    }
}

INLINE void q6_k(const block_q6_k *b, sink *s)
{
    float scale[16];
    scale_i8x16(load16(b->scales), f16(b->d), scale);

    UNROLLED
    for (int i = 0; i < 8; i++) {
        __m256i low = bit_field(load32(b->ql + i / 4 * 64 + i % 2 * 32), i % 4 / 2 * 4, 4);
        __m256i high = move_bits(load32(b->qh + i / 4 * 32), 2 * (i % 4), 2, 4);
        __m256i q = _mm256_or_si256(low, high);
        put16x2(s, _mm256_sub_epi8(q, _mm256_set1_epi8(32)), scale + 2 * i);
    }
}
