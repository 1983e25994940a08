/* Changes GGUF files as one who knows their layout: pieces are made, doubled, dropped and resized
 * with lengths and counts kept right, and single fields are made wrong. */
#pragma once

#include "fuzz.h"

/* As LLVMFuzzerCustomMutator: changes `size` bytes at data in place, and returns the new size, at
 * most max_size. Works on anything; what is no GGUF file becomes one, or is changed blindly. */
size_t mutate_gguf(uint8_t *data, size_t size, size_t max_size, fuzz_dice *dice);

/* libFuzzer's blind mutation; driver.c has a simple one in its place. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
