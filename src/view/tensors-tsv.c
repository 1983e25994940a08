/* tensors.tsv: the tensor table, a line a tensor, under a header line. Names are file names, so no
 * field holds a tab or another control byte. */
#include <string.h>

#include "gguf/escape.h"
#include "view/model.h"
#include "view/name.h"
#include "view/number.h"
#include "view/shard.h"
#include "view/tensor.h"

/* The step before the first tensor gives the header line, each further one a tensor. */
enum { AT_HEADER, AT_TENSOR };

static void put_field(text_sink *sink, const char *field)
{
    text_puts(sink, field);
    text_put(sink, "\t", 1);
}

static void put_number(text_sink *sink, uint64_t value)
{
    char digits[NUMBER_TEXT_MAX];

    text_put(sink, digits, number_u64(digits, value));
    text_put(sink, "\t", 1);
}

static void put_tensor(const pn_gguf_file *gguf, uint64_t i, GString *line, text_sink *sink)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(gguf, i);
    char name[VIEW_NAME_MAX + 1], type[TENSOR_TYPE_MAX], shape[TENSOR_DIMS_MAX];
    const char *file = shard_file_name(gguf, tensor.shard);

    text_depends(sink, gguf, tensor.shard, tensor.name, tensor.name_len);
    view_file_name(name, tensor.name, tensor.name_len, tensor.nth, NULL);
    tensor_type_text(type, &tensor);
    tensor_shape_text(shape, &tensor);

    put_field(sink, name);
    put_field(sink, type);
    put_field(sink, shape);
    put_number(sink, tensor.n_elems);
    put_number(sink, tensor.nbytes);
    if (tensor.offset == UINT64_MAX)
        put_field(sink, "-");
    else
        put_number(sink, tensor.offset);
    g_string_truncate(line, 0);
    pn_escape(line, file, strlen(file));
    g_string_append_c(line, '\n');
    text_put(sink, line->str, line->len);
}

static int tsv_step(const text_job *job, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);

    if (state->phase == AT_HEADER) {
        text_puts(sink, "name\ttype\tshape\tparameters\tbytes\toffset\tfile\n");
        state->phase = AT_TENSOR;
        return TEXT_MORE;
    }
    if (state->item == gguf->n_tensors)
        return TEXT_END;
    put_tensor(gguf, state->item++, job->line, sink);
    return TEXT_MORE;
}

static const text_maker tsv_text = {.id = TEXT_TENSORS_TSV, .step = tsv_step};

TEXT_VIEW_CALLS(tsv, tsv_text)

const view view_tensors_tsv = {
    .path = "tensors.tsv",
    .scope = VIEW_MODEL,
    .is_sized = tsv_is_sized,
    .size = tsv_size,
    .read = tsv_read,
};
