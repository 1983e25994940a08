/* From any type to float32: chooses the kernel, and brings what it is given into the form that
 * kernels take, little-endian blocks and an aligned destination. */
#include "quant/types.h"

#include <stdalign.h>
#include <string.h>

/* Piece by piece through buffers of our own. */
static void dequantize_by_pieces(const quant_type *type, bool big_endian, const uint8_t *src,
                                 uint8_t *dst, size_t n_blocks)
{
    enum { PIECE_ELEMS = 1024 };
    uint8_t blocks[PIECE_ELEMS * 8];
    float values[PIECE_ELEMS];
    const pn_quant_traits *traits = &type->traits;
    const size_t piece = PIECE_ELEMS / traits->block_elems;

    while (n_blocks > 0) {
        size_t n = n_blocks < piece ? n_blocks : piece;
        const uint8_t *from = src;
        if (big_endian) {
            pn_quant_swap(traits->id, src, blocks, n);
            from = blocks;
        }
        quant_kernel_now(type)(from, values, n);
        memcpy(dst, values, n * traits->block_elems * sizeof *values);
        src += n * traits->block_bytes;
        dst += n * traits->block_elems * sizeof *values;
        n_blocks -= n;
    }
}

void pn_dequantize(pn_gguf_quant id, bool big_endian, const void *src, float *dst, size_t n_blocks)
{
    const quant_type *type = quant_type_of(id);

    if (n_blocks == 0) /* then src may be NULL, to which nothing can be added */
        return;
    if (big_endian || (uintptr_t)dst % alignof(float) != 0)
        dequantize_by_pieces(type, big_endian, src, (uint8_t *)dst, n_blocks);
    else
        quant_kernel_now(type)(src, dst, n_blocks);
}
