/* Dequantization in portable C: the types whose codes are indices of a codebook of 8 or 4 elements,
 * and signs. The order of the float32 operations is that of ggml's dequantize_row_*. */
#include "quant/blocks.h"
#include "quant/codebooks.h"
#include "quant/kernels.h"
#include "quant/scalar.h"

/* n elements of a grid entry; bit j of signs is element j's. */
static void signed_entry(uint64_t entry, int n, unsigned signs, float d, float *y)
{
    for (int j = 0; j < n; j++) {
        float magnitude = d * (float)(entry >> 8 * j & 255);
        y[j] = signs >> j & 1 ? -magnitude : magnitude;
    }
}

static void iq2_xxs(const block_iq2_xxs *b, float *y)
{
    const float d = f16_at(b->d);

    for (int i = 0; i < 8; i++) {
        const uint8_t *qs = b->qs + 8 * i;
        const uint32_t sas = u32_at(qs + 4);
        const float scale = d * (0.5f + (float)(sas >> 28)) * 0.25f;
        for (int l = 0; l < 4; l++)
            signed_entry(quant_iq2xxs_grid[qs[l]], 8, quant_iq_signs[sas >> 7 * l & 127], scale,
                         y + 32 * i + 8 * l);
    }
}
QUANT_PORTABLE_KERNEL(iq2_xxs, 256)

/* IQ2_XS and IQ2_S have a scale of 4 bits for each 16 elements. */
static float iq2_scale(const uint8_t scales[8], int group, float d)
{
    return d * (0.5f + (float)(scales[group / 2] >> 4 * (group % 2) & 15)) * 0.25f;
}

static void iq2_xs(const block_iq2_xs *b, float *y)
{
    const float d = f16_at(b->d);

    for (int i = 0; i < 32; i++) {
        const unsigned q = u16_at(b->qs + 2 * i);
        signed_entry(quant_iq2xs_grid[q & 511], 8, quant_iq_signs[q >> 9],
                     iq2_scale(b->scales, i / 2, d), y + 8 * i);
    }
}
QUANT_PORTABLE_KERNEL(iq2_xs, 256)

static void iq2_s(const block_iq2_s *b, float *y)
{
    const float d = f16_at(b->d);

    for (int i = 0; i < 32; i++) {
        const unsigned index = b->qs[i] | (b->qh[i / 4] >> 2 * (i % 4) & 3u) << 8;
        signed_entry(quant_iq2s_grid[index], 8, b->signs[i], iq2_scale(b->scales, i / 2, d),
                     y + 8 * i);
    }
}
QUANT_PORTABLE_KERNEL(iq2_s, 256)

static void iq3_xxs(const block_iq3_xxs *b, float *y)
{
    const float d = f16_at(b->d);

    for (int i = 0; i < 64; i++) {
        const uint32_t sas = u32_at(b->sas + i / 8 * 4);
        const float scale = d * (0.5f + (float)(sas >> 28)) * 0.5f;
        const unsigned signs = quant_iq_signs[sas >> 7 * (i / 2 % 4) & 127];
        signed_entry(quant_iq3xxs_grid[b->qs[i]], 4, signs >> 4 * (i % 2), scale, y + 4 * i);
    }
}
QUANT_PORTABLE_KERNEL(iq3_xxs, 256)

static void iq3_s(const block_iq3_s *b, float *y)
{
    const float d = f16_at(b->d);

    for (int i = 0; i < 64; i++) {
        const int scale = b->scales[i / 16] >> 4 * (i / 8 % 2) & 15;
        const unsigned index = b->qs[i] | (b->qh[i / 8] >> i % 8 & 1u) << 8;
        signed_entry(quant_iq3s_grid[index], 4, b->signs[i / 2] >> 4 * (i % 2),
                     d * (float)(1 + 2 * scale), y + 4 * i);
    }
}
QUANT_PORTABLE_KERNEL(iq3_s, 256)

/* The IQ1 types: 8 elements of -1, 0 or 1, all moved up or down by an eighth. */
static void iq1_entry(unsigned index, bool down, float d, float *y)
{
    const uint64_t entry = quant_iq1_grid[index];
    const float delta = down ? -0.125f : 0.125f;

    for (int j = 0; j < 8; j++)
        y[j] = d * ((float)(int8_t)(entry >> 8 * j & 255) + delta);
}

static void iq1_s(const block_iq1_s *b, float *y)
{
    const float d = f16_at(b->d);

    for (int i = 0; i < 32; i++) {
        const unsigned qh = u16_at(b->qh + i / 4 * 2);
        const float scale = d * (float)(2 * (qh >> 12 & 7) + 1);
        iq1_entry(b->qs[i] | (qh >> 3 * (i % 4) & 7) << 8, qh >> 15, scale, y + 8 * i);
    }
}
QUANT_PORTABLE_KERNEL(iq1_s, 256)

static void iq1_m(const block_iq1_m *b, float *y)
{
    uint16_t scales[4];
    for (int i = 0; i < 4; i++)
        scales[i] = u16_at(b->scales + 2 * i);
    const float d = f32_of_f16((uint16_t)(scales[0] >> 12 | (scales[1] >> 8 & 0x00f0) |
                                          (scales[2] >> 4 & 0x0f00) | (scales[3] & 0xf000)));

    for (int i = 0; i < 32; i++) {
        const float scale = d * (float)(2 * (scales[i / 8] >> 3 * (i / 2 % 4) & 7) + 1);
        const unsigned nibble = b->qh[i / 2] >> 4 * (i % 2) & 15;
        iq1_entry(b->qs[i] | (nibble & 7) << 8, nibble >> 3, scale, y + 8 * i);
    }
}
QUANT_PORTABLE_KERNEL(iq1_m, 256)
