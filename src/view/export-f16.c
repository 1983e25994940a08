/* export/model.f16.safetensors: the model as one safetensors file, quantized tensors as float16. */
#include "view/safetensors.h"

static int header_step(const text_job *job, text_state *state, text_sink *sink)
{
    return safetensors_header_step(job, TENSOR_F16, state, sink);
}

static const text_maker header = {.id = TEXT_EXPORT_F16, .step = header_step};

static bool export_is_sized(const view_model *model, uint64_t index)
{
    return safetensors_is_sized(model, TENSOR_F16, &header);
}

static int export_size(view_model *model, uint64_t index, view_scratch *scratch, uint64_t *size)
{
    return safetensors_size(model, TENSOR_F16, &header, scratch, size);
}

static int export_read(view_model *model, uint64_t index, uint64_t offset, void *buffer, size_t len,
                       view_scratch *scratch, view_piece *piece)
{
    return safetensors_read(model, TENSOR_F16, &header, offset, buffer, len, scratch, piece);
}

static bool export_is_cut(const view_model *model, uint64_t index)
{
    return safetensors_is_cut(model, TENSOR_F16);
}

const view view_export_f16 = {
    .path = "export/model.f16.safetensors",
    .scope = VIEW_MODEL,
    .is_sized = export_is_sized,
    .size = export_size,
    .read = export_read,
    .is_cut = export_is_cut,
};
