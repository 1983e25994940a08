/* tensors/f16: a tensor as float16, rounded to nearest even, in host byte order, without header. */
#include "view/tensor.h"

static bool f16_has(const view_model *model, uint64_t index)
{
    return tensor_view_has(model, index, TENSOR_F16);
}

static int f16_size(view_model *model, uint64_t index, view_scratch *scratch, uint64_t *size)
{
    return tensor_view_size(model, index, TENSOR_F16, size);
}

static int f16_read(view_model *model, uint64_t index, uint64_t offset, void *buffer, size_t len,
                    view_scratch *scratch, view_piece *piece)
{
    return tensor_view_read(model, index, TENSOR_F16, offset, buffer, len, scratch, piece);
}

const view view_f16 = {
    .path = "tensors/f16",
    .scope = VIEW_TENSOR,
    .has = f16_has,
    .size = f16_size,
    .read = f16_read,
    .is_cut = tensor_view_is_cut,
};
