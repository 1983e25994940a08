/* Dequantization with AVX2 and F16C: the functions of blocks-*.h, storing. Compiled for such
 * processors only; types.c lists the kernels, dequantize.c chooses. */
#include "quant/kernels.h"
#include "quant/x86/store.h"

#include "quant/x86/blocks-iq.h"
#include "quant/x86/blocks-k.h"
#include "quant/x86/blocks-simple.h"

#define KERNEL(name)                                                                               \
    void quant_avx2_##name(const void *src, float *dst, size_t n)                                  \
    {                                                                                              \
        const block_##name *block = src;                                                           \
        sink s = {dst};                                                                            \
        for (size_t i = 0; i < n; i++)                                                             \
            name(block + i, &s);                                                                   \
    }
QUANT_FOR_EACH_BLOCK_KERNEL(KERNEL)

void quant_avx2_f16(const void *src, float *dst, size_t n)
{
    const uint8_t *from = src;
    size_t i = 0;

    for (; i + 32 <= n; i += 32) {
        UNROLLED
        for (size_t k = i; k < i + 32; k += 8)
            _mm256_storeu_ps(dst + k, _mm256_cvtph_ps(load16(from + 2 * k)));
    }
    quant_portable_f16(from + 2 * i, dst + i, n - i);
}

void quant_avx2_bf16(const void *src, float *dst, size_t n)
{
    const uint8_t *from = src;
    size_t i = 0;

    for (; i + 32 <= n; i += 32) {
        UNROLLED
        for (size_t k = i; k < i + 32; k += 8) {
            __m256i words = _mm256_cvtepu16_epi32(load16(from + 2 * k));
            _mm256_storeu_ps(dst + k, _mm256_castsi256_ps(_mm256_slli_epi32(words, 16)));
        }
    }
    quant_portable_bf16(from + 2 * i, dst + i, n - i);
}
