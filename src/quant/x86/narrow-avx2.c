/* float32 to float16 and bfloat16 with AVX2 and F16C, eight at a time. */
#include "quant/kernels.h"
#include "quant/x86/unpack.h"

INLINE const float *at(const float *src, size_t i)
{
    return (const float *)(const void *)((const uint8_t *)src + 4 * i);
}

INLINE uint16_t *to(uint16_t *dst, size_t i)
{
    return (uint16_t *)(void *)((uint8_t *)dst + 2 * i);
}

void quant_avx2_to_f16(const float *src, uint16_t *dst, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(at(src, i)), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(void *)to(dst, i), halves);
    }
    quant_portable_to_f16(at(src, i), to(dst, i), n - i);
}

void quant_avx2_to_bf16(const float *src, uint16_t *dst, size_t n)
{
    const __m256i one = _mm256_set1_epi32(1);
    const __m256i below_half = _mm256_set1_epi32(0x7fff);
    const __m256i quiet = _mm256_set1_epi32(0x400000);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        __m256 value = _mm256_loadu_ps(at(src, i));
        __m256i bits = _mm256_castps_si256(value);
        __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
        __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, below_half));
        __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
        __m256i result = _mm256_blendv_epi8(rounded, _mm256_or_si256(bits, quiet), nan);
        __m256i words = _mm256_srli_epi32(result, 16);
        __m128i packed =
            _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        _mm_storeu_si128((__m128i *)(void *)to(dst, i), packed);
    }
    quant_portable_to_bf16(at(src, i), to(dst, i), n - i);
}
