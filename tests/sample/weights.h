/* Pseudo-random bytes of a tensor, that look like a trained model's weights. */
#pragma once

#include <glib.h>
#include <pantheon/quant.h>

/* Appends n_elems (whole blocks) of type, drawn from *state, to out. `norm` gives values around 1.
 * The type is F16, BF16, F32, F64, Q4_0 to Q8_0, or Q2_K to Q6_K. */
void weights_append(GByteArray *out, pn_gguf_quant type, uint64_t n_elems, bool norm,
                    uint64_t *state);
