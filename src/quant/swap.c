/* Between the byte orders: which fields of a block have one is a column of the table. */
#include "quant/types.h"

#include <string.h>

static void swap_field(uint8_t *field, uint8_t width)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    if (width == 2) {
        memcpy(&two, field, 2);
        two = __builtin_bswap16(two);
        memcpy(field, &two, 2);
    } else if (width == 4) {
        memcpy(&four, field, 4);
        four = __builtin_bswap32(four);
        memcpy(field, &four, 4);
    } else {
        memcpy(&eight, field, 8);
        eight = __builtin_bswap64(eight);
        memcpy(field, &eight, 8);
    }
}

void pn_quant_swap(pn_gguf_quant id, const void *src, void *dst, size_t n_blocks)
{
    const quant_type *type = quant_type_of(id);
    const size_t bytes = type->traits.block_bytes;
    const quant_fields fields = type->swapped;
    uint8_t *block = dst;

    if (n_blocks > 0)
        memmove(dst, src, n_blocks * bytes);
    if (fields.width == 1)
        return;
    for (size_t i = 0; i < n_blocks; i++, block += bytes)
        for (uint8_t f = 0; f < fields.count; f++)
            swap_field(block + fields.offset[f], fields.width);
}
