/* tensors/bf16: a tensor as bfloat16, rounded to nearest even, in host byte order, without header.
 */
#include "view/tensor.h"

static bool bf16_has(const view_model *model, uint64_t index)
{
    return tensor_view_has(model, index, TENSOR_BF16);
}

static int bf16_size(view_model *model, uint64_t index, view_scratch *scratch, uint64_t *size)
{
    return tensor_view_size(model, index, TENSOR_BF16, size);
}

static int bf16_read(view_model *model, uint64_t index, uint64_t offset, void *buffer, size_t len,
                     view_scratch *scratch, view_piece *piece)
{
    return tensor_view_read(model, index, TENSOR_BF16, offset, buffer, len, scratch, piece);
}

const view view_bf16 = {
    .path = "tensors/bf16",
    .scope = VIEW_TENSOR,
    .has = bf16_has,
    .size = bf16_size,
    .read = bf16_read,
    .is_cut = tensor_view_is_cut,
};
