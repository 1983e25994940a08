/* The powers of ten that number.c works with. */
#pragma once

#include <stdint.h>

enum { POW10_MIN = -292, POW10_MAX = 324 };

typedef struct {
    uint64_t high;
    uint64_t low;
} pow10_entry;

extern const pow10_entry pow10_table[POW10_MAX - POW10_MIN + 1];
