/* tensors/raw: a tensor's bytes as stored, straight from the mapping. */
#include "view/model.h"
#include "view/tensor.h"

static int raw_size(view_model *model, uint64_t index, view_scratch *scratch, uint64_t *size)
{
    *size = pn_gguf_tensor_at(view_model_gguf(model), index).nbytes;
    return 0;
}

static int raw_read(view_model *model, uint64_t index, uint64_t offset, void *buffer, size_t len,
                    view_scratch *scratch, view_piece *piece)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(view_model_gguf(model), index);
    return tensor_read_raw(&tensor, offset, len, piece);
}

const view view_raw = {
    .path = "tensors/raw",
    .scope = VIEW_TENSOR,
    .size = raw_size,
    .read = raw_read,
    .is_cut = tensor_view_is_cut,
};
