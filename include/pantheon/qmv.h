/* The fused matrix-vector product on quantized weights. */
#pragma once

#include <pantheon/quant.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y = W x for any type that dequantizes: x has w->cols float32, y has w->rows; neither overlaps the
 * other. Walks the rows, expands one block at a time, accumulates in float32; never a whole row in
 * memory. n_threads: rows are dealt to this many threads; 0 and 1 mean the caller's thread alone.
 * Returns 0, or EINVAL when the weight's shape and stride do not fit its type. */
int pn_qmv(const pn_qweight *w, const float *x, float *y, unsigned n_threads);

#ifdef __cplusplus
}
#endif
