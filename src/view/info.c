/* tensors/info/<name>: what is known about a tensor, `key: value` lines. */
#include <inttypes.h>
#include <string.h>

#include "gguf/escape.h"
#include "view/model.h"
#include "view/name.h"
#include "view/number.h"
#include "view/shard.h"
#include "view/tensor.h"

static void append_bits(GString *out, const pn_quant_traits *traits)
{
    char digits[NUMBER_TEXT_MAX];
    size_t len = number_f64(digits, traits->block_bytes * 8.0 / traits->block_elems);

    g_string_append(out, "bits per weight: ");
    g_string_append_len(out, digits, (gssize)len);
    g_string_append_c(out, '\n');
}

static void append_place(GString *out, const pn_gguf_file *gguf, const pn_gguf_tensor *tensor)
{
    const char *file = shard_file_name(gguf, tensor->shard);

    if (tensor->offset != UINT64_MAX)
        g_string_append_printf(out, "offset: %" PRIu64 "\n", tensor->offset);
    g_string_append(out, "file: ");
    pn_escape(out, file, strlen(file));
    g_string_append_c(out, '\n');
    if (tensor->available < tensor->nbytes)
        g_string_append_printf(out, "available: %" PRIu64 " bytes; the file ends there\n",
                               tensor->available);
}

static void append_block(GString *out, const pn_gguf_tensor *tensor)
{
    const pn_quant_traits *traits = tensor->traits;

    if (tensor->big_endian)
        g_string_append(out, "byte order: big-endian\n");
    if (!traits)
        g_string_append(out, "block: unknown\n");
    else if (traits->block_elems == 1)
        g_string_append_printf(out, "block: 1 element, %" PRIu32 " bytes\n", traits->block_bytes);
    else
        g_string_append_printf(out, "block: %" PRIu32 " elements, %" PRIu32 " bytes: %s\n",
                               traits->block_elems, traits->block_bytes, traits->layout);
}

static int info_step(const text_job *job, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);
    pn_gguf_tensor tensor = pn_gguf_tensor_at(gguf, job->index);
    char name[VIEW_NAME_MAX + 1], type[TENSOR_TYPE_MAX];
    char shape[TENSOR_DIMS_MAX], ne[TENSOR_DIMS_MAX];
    GString *out = job->line;

    text_depends(sink, gguf, tensor.shard, tensor.name, tensor.name_len);
    view_file_name(name, tensor.name, tensor.name_len, tensor.nth, NULL);
    tensor_type_text(type, &tensor);
    tensor_shape_text(shape, &tensor);
    tensor_ne_text(ne, &tensor);

    g_string_printf(
        out, "name: %s\ntype: %s\nshape: %s\nne: %s\nparameters: %" PRIu64 "\nbytes: %" PRIu64 "\n",
        name, type, shape, ne, tensor.n_elems, tensor.nbytes);
    if (tensor.traits)
        append_bits(out, tensor.traits);
    append_place(out, gguf, &tensor);
    append_block(out, &tensor);
    text_put(sink, out->str, out->len);
    return TEXT_END;
}

static const text_maker info_text = {.id = TEXT_NOT_KEPT, .step = info_step};

static int info_size(view_model *model, uint64_t index, view_scratch *scratch, uint64_t *size)
{
    return text_size(&info_text, model, index, scratch, size);
}

static int info_read(view_model *model, uint64_t index, uint64_t offset, void *buffer, size_t len,
                     view_scratch *scratch, view_piece *piece)
{
    return text_read(&info_text, model, index, offset, buffer, len, scratch, piece);
}

const view view_info = {
    .path = "tensors/info",
    .scope = VIEW_TENSOR,
    .size = info_size,
    .read = info_read,
};
