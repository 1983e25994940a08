/* Dequantization with AVX-512, for the type that gains by it: BF16, which is so little work that
 * the width of the stores counts. */
#include "quant/kernels.h"
#include "quant/x86/unpack.h"

void quant_avx512_bf16(const void *src, float *dst, size_t n)
{
    const uint8_t *from = src;
    size_t i = 0;

    for (; i + 64 <= n; i += 64) {
        UNROLLED
        for (size_t k = i; k < i + 64; k += 16) {
            __m512i words = _mm512_cvtepu16_epi32(load32(from + 2 * k));
            _mm512_storeu_si512(dst + k, _mm512_slli_epi32(words, 16));
        }
    }
    quant_portable_bf16(from + 2 * i, dst + i, n - i);
}
