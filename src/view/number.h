/* Numbers as text, in no locale. Floats come out as NumPy prints them: the shortest digits that
 * read back to the same float32 or float64. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NUMBER_TEXT_MAX = 32 };

/* Each writes the number to out, without NUL, and returns the length. */
size_t number_u64(char out[NUMBER_TEXT_MAX], uint64_t value);
size_t number_i64(char out[NUMBER_TEXT_MAX], int64_t value);

/* As str(np.float32(value)) and str(np.float64(value)): `0.1`, `10000.0`, `1e-05`, `nan`, `-inf`,
 * `-0.0`. Scientific below 1e-4, and from 1e6 (float32; digits that a float32 does not have would
 * have to be made up) or 1e16 (float64). */
size_t number_f32(char out[NUMBER_TEXT_MAX], float value);
size_t number_f64(char out[NUMBER_TEXT_MAX], double value);
