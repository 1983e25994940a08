/* The tables that the codes of some types are indices of. A grid entry is 8 (in a uint64_t) or 4
 * (in a uint32_t) elements of one byte, the first in the lowest byte. */
#pragma once

#include <stdint.h>

extern const int8_t quant_iq4nl_values[16]; /* IQ4_NL, IQ4_XS */
extern const int8_t quant_fp4_values[16];   /* MXFP4, NVFP4: E2M1, doubled */

/* 7 bits of signs, and the eighth that makes their number even. */
extern const uint8_t quant_iq_signs[128];

extern const uint64_t quant_iq2xxs_grid[256];
extern const uint64_t quant_iq2xs_grid[512];
extern const uint64_t quant_iq2s_grid[1024];
extern const uint32_t quant_iq3xxs_grid[256];
extern const uint32_t quant_iq3s_grid[512];
extern const uint64_t quant_iq1_grid[2048]; /* signed bytes: -1, 0, 1 */
