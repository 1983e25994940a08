/* The scales of blocks, for the kernels of several sets of instructions. */
#pragma once

#include "quant/blocks.h"
#include "quant/x86/unpack.h"

/* What the nibbles of Q4_0 stand for. */
static const int8_t q4_0_values[16] = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};

/* Half of each E8M0 scale, as bits: see half_of_e8m0. */
#define HALF_E8M0(e)   ((e) < 2 ? UINT32_C(0x00200000) << ((e)&1) : ((e)-UINT32_C(1)) << 23)
#define HALF_E8M0_4(e) HALF_E8M0(e), HALF_E8M0((e) + 1), HALF_E8M0((e) + 2), HALF_E8M0((e) + 3)
#define HALF_E8M0_16(e)                                                                            \
    HALF_E8M0_4(e), HALF_E8M0_4((e) + 4), HALF_E8M0_4((e) + 8), HALF_E8M0_4((e) + 12)
#define HALF_E8M0_64(e)                                                                            \
    HALF_E8M0_16(e), HALF_E8M0_16((e) + 16), HALF_E8M0_16((e) + 32), HALF_E8M0_16((e) + 48)
static const uint32_t half_e8m0_bits[256] = {HALF_E8M0_64(0), HALF_E8M0_64(64), HALF_E8M0_64(128),
                                             HALF_E8M0_64(192)};

INLINE const float *half_e8m0_at(uint8_t e)
{
    return (const float *)(const void *)&half_e8m0_bits[e];
}

/* The 8 scales times d, and the 8 minima times -dmin, of Q4_K and Q5_K. */
INLINE void q4_k_scales(const uint8_t packed[12], const uint8_t d[2], const uint8_t dmin[2],
                        float scale[8], float offset[8])
{
    const uint32_t six = 0x3f3f3f3f, low = 0x0f0f0f0f, high = 0x03030303;
    const uint32_t a = u32_at(packed), b = u32_at(packed + 4), c = u32_at(packed + 8);
    __m128i scales = _mm_setr_epi32((int)(a & six), (int)((c & low) | (a >> 6 & high) << 4), 0, 0);
    __m128i mins =
        _mm_setr_epi32((int)(b & six), (int)((c >> 4 & low) | (b >> 6 & high) << 4), 0, 0);
    to_memory(scale, scaled(_mm256_cvtepu8_epi32(scales), f16(d)));
    to_memory(offset, scaled(_mm256_cvtepu8_epi32(mins), -f16(dmin)));
}

INLINE __m256 iq4_xs_scales(const block_iq4_xs *b)
{
    const __m256i low_shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256i high_shifts = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
    __m256i low = _mm256_srlv_epi32(_mm256_set1_epi32((int)u32_at(b->scales_l)), low_shifts);
    __m256i high = _mm256_srlv_epi32(_mm256_set1_epi32(u16_at(b->scales_h)), high_shifts);
    low = _mm256_and_si256(low, _mm256_set1_epi32(15));
    high = _mm256_slli_epi32(_mm256_and_si256(high, _mm256_set1_epi32(3)), 4);
    __m256i six = _mm256_or_si256(low, high);
    return scaled(_mm256_sub_epi32(six, _mm256_set1_epi32(32)), f16(b->d));
}
