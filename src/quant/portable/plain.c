/* Dequantization in portable C: the types whose block is one number. */
#include "quant/kernels.h"
#include "quant/scalar.h"

void quant_portable_f32(const void *src, float *dst, size_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (n > 0) /* bit for bit, signalling NaNs too */
        memcpy(dst, src, n * sizeof *dst);
#else
    for (size_t i = 0; i < n; i++)
        dst[i] = f32_of_bits(u32_at((const uint8_t *)src + 4 * i));
#endif
}

void quant_portable_f16(const void *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = f16_at((const uint8_t *)src + 2 * i);
}

void quant_portable_bf16(const void *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = f32_of_bits((uint32_t)u16_at((const uint8_t *)src + 2 * i) << 16);
}

void quant_portable_f64(const void *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = u64_at((const uint8_t *)src + 8 * i);
        double value;
        memcpy(&value, &bits, sizeof value);
        dst[i] = (float)value;
    }
}

void quant_portable_i8(const void *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = ((const int8_t *)src)[i];
}

void quant_portable_i16(const void *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (int16_t)u16_at((const uint8_t *)src + 2 * i);
}

void quant_portable_i32(const void *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)(int32_t)u32_at((const uint8_t *)src + 4 * i);
}

void quant_portable_i64(const void *src, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)(int64_t)u64_at((const uint8_t *)src + 8 * i);
}
