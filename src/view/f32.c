/* tensors/f32: a tensor as float32, in host byte order, without header. */
#include "view/tensor.h"

static bool f32_has(const view_model *model, uint64_t index)
{
    return tensor_view_has(model, index, TENSOR_F32);
}

static int f32_size(view_model *model, uint64_t index, view_scratch *scratch, uint64_t *size)
{
    return tensor_view_size(model, index, TENSOR_F32, size);
}

static int f32_read(view_model *model, uint64_t index, uint64_t offset, void *buffer, size_t len,
                    view_scratch *scratch, view_piece *piece)
{
    return tensor_view_read(model, index, TENSOR_F32, offset, buffer, len, scratch, piece);
}

const view view_f32 = {
    .path = "tensors/f32",
    .scope = VIEW_TENSOR,
    .has = f32_has,
    .size = f32_size,
    .read = f32_read,
    .is_cut = tensor_view_is_cut,
};
