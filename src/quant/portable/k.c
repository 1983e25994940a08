/* Dequantization in portable C: the K types, blocks of 256 in groups of 16 or 32 that have scales
 * of their own. The order of the float32 operations is that of ggml's dequantize_row_*. */
#include "quant/blocks.h"
#include "quant/kernels.h"
#include "quant/scalar.h"

static void q2_k(const block_q2_k *b, float *y)
{
    const float d = f16_at(b->d);
    const float dmin = f16_at(b->dmin);

    for (int j = 0; j < 256; j++) {
        int group = j / 16;
        float scale = d * (float)(b->scales[group] & 15);
        float min = dmin * (float)(b->scales[group] >> 4);
        int q = b->qs[j / 128 * 32 + j % 32] >> 2 * (j / 32 % 4) & 3;
        y[j] = scale * (float)q - min;
    }
}
QUANT_PORTABLE_KERNEL(q2_k, 256)

static int q3_k_scale(const uint8_t scales[12], int group)
{
    int low = group < 8 ? scales[group] & 15 : scales[group - 8] >> 4;
    int high = scales[8 + group % 4] >> 2 * (group / 4) & 3;

    return (low | high << 4) - 32;
}

static void q3_k(const block_q3_k *b, float *y)
{
    const float d = f16_at(b->d);

    for (int group = 0; group < 16; group++) {
        float scale = d * (float)q3_k_scale(b->scales, group);
        for (int j = 16 * group; j < 16 * group + 16; j++) {
            int q = b->qs[j / 128 * 32 + j % 32] >> 2 * (j / 32 % 4) & 3;
            int third = b->hmask[j % 32] >> j / 32 & 1;
            y[j] = scale * (float)(q - (third ? 0 : 4));
        }
    }
}
QUANT_PORTABLE_KERNEL(q3_k, 256)

/* Scale and minimum of group i of 8, 6 bits each: those of the first four groups in the low bits of
 * bytes 0 to 3 and 4 to 7; of the last four the low bits are the nibbles of bytes 8 to 11, the high
 * ones the top bits of bytes 0 to 7. */
static void q4_k_scale(const uint8_t s[12], int i, int *scale, int *min)
{
    if (i < 4) {
        *scale = s[i] & 63;
        *min = s[i + 4] & 63;
    } else {
        *scale = (s[i + 4] & 15) | s[i - 4] >> 6 << 4;
        *min = s[i + 4] >> 4 | s[i] >> 6 << 4;
    }
}

static void q4_k(const block_q4_k *b, float *y)
{
    const float d = f16_at(b->d);
    const float dmin = f16_at(b->dmin);

    for (int i = 0; i < 8; i++) {
        int scale, min;
        q4_k_scale(b->scales, i, &scale, &min);
        const float ds = d * (float)scale;
        const float m = dmin * (float)min;
        for (int j = 0; j < 32; j++) {
            int q = b->qs[i / 2 * 32 + j] >> 4 * (i % 2) & 15;
            y[32 * i + j] = ds * (float)q - m;
        }
    }
}
QUANT_PORTABLE_KERNEL(q4_k, 256)

static void q5_k(const block_q5_k *b, float *y)
{
    const float d = f16_at(b->d);
    const float dmin = f16_at(b->dmin);

    for (int i = 0; i < 8; i++) {
        int scale, min;
        q4_k_scale(b->scales, i, &scale, &min);
        const float ds = d * (float)scale;
        const float m = dmin * (float)min;
        for (int j = 0; j < 32; j++) {
            int q = b->qs[i / 2 * 32 + j] >> 4 * (i % 2) & 15;
            int fifth = b->qh[j] >> i & 1;
            y[32 * i + j] = ds * (float)(q | fifth << 4) - m;
        }
    }
}
QUANT_PORTABLE_KERNEL(q5_k, 256)

static void q6_k(const block_q6_k *b, float *y)
{
    const float d = f16_at(b->d);

    for (int group = 0; group < 16; group++) {
        const float scale = d * (float)b->scales[group];
        for (int j = 16 * group; j < 16 * group + 16; j++) {
            int low = b->ql[j / 128 * 64 + j % 64] >> 4 * (j / 64 % 2) & 15;
            int high = b->qh[j / 128 * 32 + j % 32] >> 2 * (j / 32 % 4) & 3;
            y[j] = scale * (float)((low | high << 4) - 32);
        }
    }
}
QUANT_PORTABLE_KERNEL(q6_k, 256)
