/* The dot product of float32 in portable C: what types without a kernel of their own end in. */
#include "quant/kernels.h"
#include "quant/scalar.h"

/* 16 sums, for compilers to turn into vectors. */
float quant_dot_portable_f32(const void *row, size_t n, const quant_input *input)
{
    enum { LANES = 16 };
    const uint8_t *w = row;
    const float *x = input->x;
    float sums[LANES] = {0};
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] += f32_of_bits(u32_at(w + 4 * (i + lane))) * x[i + lane];
    for (; i < n; i++)
        sums[i % LANES] += f32_of_bits(u32_at(w + 4 * i)) * x[i];
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t lane = 0; lane < width; lane++)
            sums[lane] += sums[lane + width];
    return sums[0];
}
