/* The fused matrix-vector product on quantized weights. */
#pragma once

#include <pantheon/quant.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y = W x for any type that dequantizes: x has w->cols float32, y has w->rows; neither overlaps the
 * other. Walks the rows, expands one block at a time, accumulates in float32; never a whole row in
 * memory. n_threads: rows are dealt to this many threads, 256 at most; 0 and 1 mean the caller's
 * thread alone.
 *
 * The weights are taken as scale * code + offset, and x is not rounded. Against the product in
 * float64 of the same weights an element of y is off by at most
 *
 *     (cols / 8 + 64) * 2^-24 * sum over its row of (|scale * code| + |offset|) * |x|
 *
 * as long as nothing overflows or is subnormal, and no |x| but 0 below 2^-100; for types without
 * offsets that is the sum of |weight| * |x|. A row with a weight that is not finite gives infinity
 * or NaN, unless only scale * code is too large for float32 (MXFP4, Q8_K). The order of the
 * additions, and so the last bits, depend on the processor.
 *
 * Returns 0, or EINVAL when the weight's shape and stride do not fit its type. */
int pn_qmv(const pn_qweight *w, const float *x, float *y, unsigned n_threads);

#ifdef __cplusplus
}
#endif
