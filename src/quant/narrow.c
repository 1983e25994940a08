/* float32 to float16 and bfloat16, to nearest, ties to even: in portable C, and the choice between
 * that and the processor's own instructions. */
#include "quant/scalar.h"
#include "quant/types.h"

static uint16_t f16_of_f32(float value)
{
    const uint32_t bits = bits_of_f32(value);
    const uint32_t sign = bits >> 16 & 0x8000;
    const uint32_t magnitude = bits & 0x7fffffff;

    if (magnitude > 0x7f800000) /* NaN: quiet, the top of its payload kept */
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x03ff));
    if (magnitude >= 0x477ff000) /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) {
        /* Below 2^-14 the result is subnormal, a multiple of 2^-24. A half has float32 steps of
         * 2^-24, so the addition rounds as we want. */
        float sum = f32_of_bits(magnitude) + 0.5f;
        return (uint16_t)(sign | (bits_of_f32(sum) - bits_of_f32(0.5f)));
    }
    const uint32_t half_ulp = 0x0fff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | (magnitude - (112u << 23) + half_ulp) >> 13);
}

static uint16_t bf16_of_f32(float value)
{
    const uint32_t bits = bits_of_f32(value);

    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x0040);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The destination may stand anywhere. */
static void store_u16(uint16_t *dst, size_t i, uint16_t value)
{
    memcpy((uint8_t *)dst + 2 * i, &value, 2);
}

static float load_f32(const float *src, size_t i)
{
    float value;
    memcpy(&value, (const uint8_t *)src + 4 * i, 4);
    return value;
}

void quant_portable_to_f16(const float *src, uint16_t *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        store_u16(dst, i, f16_of_f32(load_f32(src, i)));
}

void quant_portable_to_bf16(const float *src, uint16_t *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        store_u16(dst, i, bf16_of_f32(load_f32(src, i)));
}

void pn_f32_to_f16(const float *src, uint16_t *dst, size_t n)
{
#ifdef QUANT_X86
    if (quant_path_now() >= QUANT_AVX2) {
        quant_avx2_to_f16(src, dst, n);
        return;
    }
#endif
    quant_portable_to_f16(src, dst, n);
}

void pn_f32_to_bf16(const float *src, uint16_t *dst, size_t n)
{
#ifdef QUANT_X86
    if (quant_path_now() >= QUANT_AVX2) {
        quant_avx2_to_bf16(src, dst, n);
        return;
    }
#endif
    quant_portable_to_bf16(src, dst, n);
}
