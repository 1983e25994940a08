/* Small floating-point formats and unaligned little-endian numbers, one at a time, in portable C:
 * what all kernels read their scales with. */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t u16_at(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return le16toh(v);
}

static inline uint32_t u32_at(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return le32toh(v);
}

static inline uint64_t u64_at(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return le64toh(v);
}

static inline float f32_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t bits_of_f32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* float16 to float32, exact; a signalling NaN becomes quiet, as the hardware does it. */
static inline float f32_of_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t exponent = h >> 10 & 31;
    uint32_t mantissa = h & 1023;

    if (exponent == 31)
        return f32_of_bits(sign | 0x7f800000 | mantissa << 13 | (mantissa ? 0x400000 : 0));
    if (exponent == 0) { /* zero and subnormals: mantissa * 2^-24 */
        float magnitude = (float)mantissa * 0x1p-24f;
        return f32_of_bits(sign | bits_of_f32(magnitude));
    }
    return f32_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

static inline float f16_at(const uint8_t *p)
{
    return f32_of_f16(u16_at(p));
}

/* Half of an E8M0 scale, 2^(e-128): MXFP4's codes are doubled. */
static inline float half_of_e8m0(uint8_t e)
{
    return f32_of_bits(e < 2 ? UINT32_C(0x00200000) << e : (uint32_t)(e - 1) << 23);
}

/* Half of a UE4M3 scale (bias 7, no infinities): NVFP4's codes are doubled. The top bit counts for
 * nothing, save that 0x7f is 0 and 0xff is 240, as ggml has it. */
static inline float half_of_ue4m3(uint8_t x)
{
    uint32_t exponent = x >> 3 & 15;
    uint32_t mantissa = x & 7;

    if (x == 0x7f)
        return 0.0f;
    if (exponent == 0)
        return (float)mantissa * 0x1p-10f;
    return f32_of_bits((exponent + 119) << 23 | mantissa << 20);
}
