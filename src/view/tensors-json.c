/* tensors.json: the tensor table for programs, an array of objects, one a line, with true names. */
#include <string.h>

#include "view/escape.h"
#include "view/model.h"
#include "view/number.h"
#include "view/shard.h"
#include "view/tensor.h"

/* text_state.phase of a tensor; names may be of any length, so they come in slices */
enum { AT_TENSOR, IN_NAME };

static void name_part(const pn_gguf_file *gguf, const pn_gguf_tensor *tensor, text_state *state,
                      text_sink *sink)
{
    size_t slice = escape_slice(tensor->name + state->at, tensor->name_len - state->at);

    escape_json(sink, tensor->name + state->at, slice);
    state->at += slice;
    text_depends(sink, gguf, tensor->shard, tensor->name, state->at);
}

static void put_number(text_sink *sink, const char *name, uint64_t value)
{
    char digits[NUMBER_TEXT_MAX];

    text_puts(sink, name);
    text_put(sink, digits, number_u64(digits, value));
}

static void put_fields(const pn_gguf_file *gguf, const pn_gguf_tensor *tensor, text_sink *sink)
{
    char type[TENSOR_TYPE_MAX], shape[TENSOR_DIMS_MAX], ne[TENSOR_DIMS_MAX];
    const char *file = shard_file_name(gguf, tensor->shard);

    tensor_type_text(type, tensor);
    tensor_shape_text(shape, tensor);
    tensor_ne_text(ne, tensor);
    text_puts(sink, "\", \"type\": \"");
    text_puts(sink, type);
    text_puts(sink, "\", \"shape\": ");
    text_puts(sink, shape);
    text_puts(sink, ", \"ne\": ");
    text_puts(sink, ne);
    put_number(sink, ", \"parameters\": ", tensor->n_elems);
    put_number(sink, ", \"bytes\": ", tensor->nbytes);
    if (tensor->offset == UINT64_MAX)
        text_puts(sink, ", \"offset\": null");
    else
        put_number(sink, ", \"offset\": ", tensor->offset);
    text_puts(sink, ", \"file\": \"");
    escape_json(sink, file, strlen(file));
    text_puts(sink, "\"}");
}

static int json_step(const text_job *job, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);

    if (state->item == gguf->n_tensors) {
        text_puts(sink, gguf->n_tensors > 0 ? "\n]\n" : "[]\n");
        return TEXT_END;
    }

    pn_gguf_tensor tensor = pn_gguf_tensor_at(gguf, state->item);
    if (state->phase == AT_TENSOR) {
        text_puts(sink, state->item == 0 ? "[\n  {\"name\": \"" : ",\n  {\"name\": \"");
        state->phase = IN_NAME;
        state->at = 0;
    }
    name_part(gguf, &tensor, state, sink);
    if (state->at < tensor.name_len)
        return TEXT_MORE;

    put_fields(gguf, &tensor, sink);
    state->item++;
    state->phase = AT_TENSOR;
    return TEXT_MORE;
}

static const text_maker json_text = {.id = TEXT_TENSORS_JSON, .step = json_step};

TEXT_VIEW_CALLS(json, json_text)

const view view_tensors_json = {
    .path = "tensors.json",
    .scope = VIEW_MODEL,
    .is_sized = json_is_sized,
    .size = json_size,
    .read = json_read,
};
