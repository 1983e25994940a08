/* What the fuzz targets share. A target is one function of libFuzzer's; where libFuzzer is not
 * built in, driver.c calls it for every file of a corpus. A check that fails aborts. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a target may have besides: a mutation of its own. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* A small generator of numbers, so that a run depends on its input alone. */
typedef struct {
    uint64_t state; /* not 0 */
} fuzz_dice;

static inline fuzz_dice fuzz_dice_from(uint64_t seed)
{
    return (fuzz_dice){(seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1};
}

static inline fuzz_dice fuzz_dice_of(const uint8_t *data, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
    return (fuzz_dice){hash | 1};
}

static inline uint64_t fuzz_roll(fuzz_dice *dice)
{
    dice->state ^= dice->state << 13;
    dice->state ^= dice->state >> 7;
    dice->state ^= dice->state << 17;
    return dice->state;
}

/* A number below limit; 0 for a limit of 0. */
static inline uint64_t fuzz_below(fuzz_dice *dice, uint64_t limit)
{
    return limit > 0 ? fuzz_roll(dice) % limit : 0;
}

/* The input, taken bit by bit; zeros where it has ended. */
typedef struct {
    const uint8_t *at, *end;
} fuzz_input;

static inline uint64_t fuzz_take(fuzz_input *in, unsigned n_bytes)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < n_bytes && in->at < in->end; i++)
        number |= (uint64_t)*in->at++ << (8 * i);
    return number;
}
