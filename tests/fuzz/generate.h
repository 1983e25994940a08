/* Random pieces of GGUF files: right ones in the main, and some that are odd. */
#pragma once

#include "fuzz.h"
#include "gguf-writer.h"

void generate_kv(gguf_writer *w, fuzz_dice *dice);

/* The tensor's bytes go to the end of the writer's data section, `base` bytes of which stand
 * elsewhere. */
void generate_tensor(gguf_writer *w, uint64_t base, fuzz_dice *dice);

/* A writer with some of each: version, byte order and alignment by chance. */
gguf_writer *generate_model(fuzz_dice *dice);

/* A number that a program might take wrong. */
uint64_t generate_odd_number(fuzz_dice *dice, uint64_t near);
