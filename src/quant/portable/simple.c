/* Dequantization in portable C: the types with one scale, and perhaps one minimum, a block. The
 * order of the float32 operations is that of ggml's dequantize_row_*. */
#include "quant/blocks.h"
#include "quant/codebooks.h"
#include "quant/kernels.h"
#include "quant/scalar.h"

static void q4_0(const block_q4_0 *b, float *y)
{
    const float d = f16_at(b->d);

    for (int j = 0; j < 16; j++) {
        y[j] = (float)((b->qs[j] & 15) - 8) * d;
        y[j + 16] = (float)((b->qs[j] >> 4) - 8) * d;
    }
}
QUANT_PORTABLE_KERNEL(q4_0, 32)

static void q4_1(const block_q4_1 *b, float *y)
{
    const float d = f16_at(b->d);
    const float m = f16_at(b->m);

    for (int j = 0; j < 16; j++) {
        y[j] = (float)(b->qs[j] & 15) * d + m;
        y[j + 16] = (float)(b->qs[j] >> 4) * d + m;
    }
}
QUANT_PORTABLE_KERNEL(q4_1, 32)

static void q5_0(const block_q5_0 *b, float *y)
{
    const float d = f16_at(b->d);
    const uint32_t qh = u32_at(b->qh);

    for (int j = 0; j < 16; j++) {
        int low = (b->qs[j] & 15) | (int)(qh >> j & 1) << 4;
        int high = b->qs[j] >> 4 | (int)(qh >> (j + 16) & 1) << 4;
        y[j] = (float)(low - 16) * d;
        y[j + 16] = (float)(high - 16) * d;
    }
}
QUANT_PORTABLE_KERNEL(q5_0, 32)

static void q5_1(const block_q5_1 *b, float *y)
{
    const float d = f16_at(b->d);
    const float m = f16_at(b->m);
    const uint32_t qh = u32_at(b->qh);

    for (int j = 0; j < 16; j++) {
        int low = (b->qs[j] & 15) | (int)(qh >> j & 1) << 4;
        int high = b->qs[j] >> 4 | (int)(qh >> (j + 16) & 1) << 4;
        y[j] = (float)low * d + m;
        y[j + 16] = (float)high * d + m;
    }
}
QUANT_PORTABLE_KERNEL(q5_1, 32)

static void scale_i8(const int8_t *qs, int n, float d, float *y)
{
    for (int j = 0; j < n; j++)
        y[j] = (float)qs[j] * d;
}

static void q8_0(const block_q8_0 *b, float *y)
{
    scale_i8(b->qs, 32, f16_at(b->d), y);
}
QUANT_PORTABLE_KERNEL(q8_0, 32)

static void q8_1(const block_q8_1 *b, float *y)
{
    scale_i8(b->qs, 32, f16_at(b->d), y);
}
QUANT_PORTABLE_KERNEL(q8_1, 32)

static void q8_k(const block_q8_k *b, float *y)
{
    scale_i8(b->qs, 256, f32_of_bits(u32_at(b->d)), y);
}
QUANT_PORTABLE_KERNEL(q8_k, 256)

/* n bytes whose low nibbles index the values of the first n elements, the high ones the next n. */
static void nibble_values(const uint8_t *qs, int n, const int8_t values[16], float d, float *y)
{
    for (int j = 0; j < n; j++) {
        y[j] = (float)values[qs[j] & 15] * d;
        y[j + n] = (float)values[qs[j] >> 4] * d;
    }
}

static void iq4_nl(const block_iq4_nl *b, float *y)
{
    nibble_values(b->qs, 16, quant_iq4nl_values, f16_at(b->d), y);
}
QUANT_PORTABLE_KERNEL(iq4_nl, 32)

static void iq4_xs(const block_iq4_xs *b, float *y)
{
    const float d = f16_at(b->d);
    const uint32_t high = u16_at(b->scales_h);

    for (int i = 0; i < 8; i++) {
        int scale = (b->scales_l[i / 2] >> 4 * (i % 2) & 15) | (int)(high >> 2 * i & 3) << 4;
        nibble_values(b->qs + 16 * i, 16, quant_iq4nl_values, d * (float)(scale - 32), y + 32 * i);
    }
}
QUANT_PORTABLE_KERNEL(iq4_xs, 256)

static void mxfp4(const block_mxfp4 *b, float *y)
{
    nibble_values(b->qs, 16, quant_fp4_values, half_of_e8m0(b->e), y);
}
QUANT_PORTABLE_KERNEL(mxfp4, 32)

static void nvfp4(const block_nvfp4 *b, float *y)
{
    for (int i = 0; i < 4; i++)
        nibble_values(b->qs + 8 * i, 8, quant_fp4_values, half_of_ue4m3(b->d[i]), y + 16 * i);
}
QUANT_PORTABLE_KERNEL(nvfp4, 64)

static void q1_0(const block_q1_0 *b, float *y)
{
    const float d = f16_at(b->d);

    for (int j = 0; j < 128; j++)
        y[j] = b->qs[j / 8] >> j % 8 & 1 ? d : -d;
}
QUANT_PORTABLE_KERNEL(q1_0, 128)

static void q2_0(const block_q2_0 *b, float *y)
{
    const float d = f16_at(b->d);

    for (int j = 0; j < 64; j++)
        y[j] = (float)((b->qs[j / 4] >> 2 * (j % 4) & 3) - 1) * d;
}
QUANT_PORTABLE_KERNEL(q2_0, 64)

static void tq2_0(const block_tq2_0 *b, float *y)
{
    const float d = f16_at(b->d);

    for (int j = 0; j < 256; j++)
        y[j] = (float)((b->qs[j / 128 * 32 + j % 32] >> 2 * (j / 32 % 4) & 3) - 1) * d;
}
QUANT_PORTABLE_KERNEL(tq2_0, 256)

/* Digit `digit` (from the first) of n bytes of ternary digits: the byte is the fraction
 * 0.ddddd × 256, rounded up; multiplied by a power of 3 it keeps, in 8 bits that wrap, what comes
 * after the digits before. */
static void ternary_digit(const uint8_t *qs, int n, int digit, float d, float *y)
{
    static const uint8_t power[5] = {1, 3, 9, 27, 81};

    for (int j = 0; j < n; j++) {
        uint8_t rest = (uint8_t)(qs[j] * power[digit]);
        y[j] = (float)((rest * 3 >> 8) - 1) * d;
    }
}

static void tq1_0(const block_tq1_0 *b, float *y)
{
    const float d = f16_at(b->d);

    for (int digit = 0; digit < 5; digit++)
        ternary_digit(b->qs, 32, digit, d, y + 32 * digit);
    for (int digit = 0; digit < 5; digit++)
        ternary_digit(b->qs + 32, 16, digit, d, y + 160 + 16 * digit);
    for (int digit = 0; digit < 4; digit++)
        ternary_digit(b->qh, 4, digit, d, y + 240 + 4 * digit);
}
QUANT_PORTABLE_KERNEL(tq1_0, 256)
