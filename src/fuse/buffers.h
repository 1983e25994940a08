/* The buffers that reads are answered from, shared by all threads.
 *
 * Whoever answers a read takes one and gives it back. It is always the lowest that is free, so a
 * reader whose requests go round the threads still meets the same memory, warm in the processor's
 * cache, and no more is touched than reads are under way at once. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { BUFFERS_MAX = 64 };

typedef struct {
    uint8_t *memory; /* BUFFERS_MAX of them, the first in a huge page where the system has these */
    size_t size;     /* of one */
    _Atomic(uint64_t) taken;
} buffers;

/* Buffers of `size` bytes, a power of two. 0, or an errno. */
int buffers_init(buffers *b, size_t size);
void buffers_clear(buffers *b);

/* A buffer for the caller alone; NULL when all are taken. */
uint8_t *buffers_take(buffers *b);
void buffers_give(buffers *b, uint8_t *buffer);
