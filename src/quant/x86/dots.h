/* The dot products of one row, made of the functions of blocks-*.h and a sink that multiplies and
 * adds. The file that includes this has defined the sink, sink_new, sink_total, and
 * QUANT_DOT(name), the name of a kernel. */
#include "quant/x86/blocks-iq.h"
#include "quant/x86/blocks-k.h"
#include "quant/x86/blocks-simple.h"

/* Four blocks at a time, so that small ones too keep several sums going. */
#define DOT(name)                                                                                  \
    float QUANT_DOT(name)(const void *row, size_t n, const quant_input *x)                         \
    {                                                                                              \
        enum { AT_ONCE = sizeof(block_##name) < 50 ? 4 : 1 };                                      \
        const block_##name *block = row;                                                           \
        sink s = sink_new(x);                                                                      \
        for (; n >= AT_ONCE; n -= AT_ONCE, block += AT_ONCE) {                                     \
            UNROLLED                                                                               \
            for (int i = 0; i < AT_ONCE; i++)                                                      \
                name(block + i, &s);                                                               \
        }                                                                                          \
        for (; n > 0; n--, block++)                                                                \
            name(block, &s);                                                                       \
        return sink_total(&s);                                                                     \
    }
QUANT_FOR_EACH_BLOCK_KERNEL(DOT)
