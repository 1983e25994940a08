/* problems.txt: what the parser found wrong or odd, what the exports leave out, then what was noted
 * while serving; a line each. All but the last is a text; the last grows. */
#include <inttypes.h>
#include <string.h>

#include "gguf/escape.h"
#include "view/export.h"
#include "view/model.h"

/* text_state.phase */
enum { OF_PARSER, OF_SAFETENSORS, OF_GGUF_KEYS, OF_GGUF_TENSORS };

static int parser_step(const text_job *job, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);

    if (state->item == gguf->n_problems) {
        *state = (text_state){.phase = OF_SAFETENSORS, .item = export_limits_get(job->model)->from};
        return TEXT_MORE;
    }
    text_depends(sink, gguf, gguf->kv_shard, gguf->shards[gguf->kv_shard].data, gguf->header_size);
    g_string_truncate(job->line, 0);
    pn_gguf_problem_text(gguf, state->item++, job->line);
    g_string_append_c(job->line, '\n');
    text_put(sink, job->line->str, job->line->len);
    return TEXT_MORE;
}

static int safetensors_step(const text_job *job, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);
    const export_limits *limits = export_limits_get(job->model);
    uint64_t index = state->item;

    if (index == limits->to) {
        *state = (text_state){.phase = OF_GGUF_KEYS};
        return TEXT_MORE;
    }
    state->item++;
    g_string_truncate(job->line, 0);
    if (export_problem(gguf, limits, index, job->line)) {
        pn_gguf_tensor tensor = pn_gguf_tensor_at(gguf, index);
        text_depends(sink, gguf, tensor.shard, tensor.name, tensor.name_len);
        g_string_append_c(job->line, '\n');
        text_put(sink, job->line->str, job->line->len);
    }
    return TEXT_MORE;
}

static void put_left_out(const text_job *job, const char *what, uint64_t index, const char *name,
                         uint64_t name_len, const char *fault, text_sink *sink)
{
    g_string_printf(job->line, "%s %" PRIu64 " (", what, index + 1);
    pn_escape_brief(job->line, name, name_len);
    g_string_append_printf(job->line, ") is left out of export/model.gguf: it %s\n", fault);
    text_put(sink, job->line->str, job->line->len);
}

static int gguf_key_step(const text_job *job, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);
    const pn_writing *writing = view_model_writing(job->model);

    if (!writing || state->item == gguf->n_kv) {
        *state = (text_state){.phase = OF_GGUF_TENSORS};
        return TEXT_MORE;
    }
    const char *fault = pn_writing_key_fault(writing, state->item);
    if (fault && *fault) {
        pn_gguf_kv kv = pn_gguf_kv_at(gguf, state->item);
        text_depends(sink, gguf, gguf->kv_shard, kv.key, kv.key_len);
        put_left_out(job, "key", state->item, kv.key, kv.key_len, fault, sink);
    }
    state->item++;
    return TEXT_MORE;
}

static int gguf_tensor_step(const text_job *job, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);
    const pn_writing *writing = view_model_writing(job->model);

    if (!writing || pn_writing_is_source(writing) || state->item == gguf->n_tensors)
        return TEXT_END;
    const char *fault = pn_writing_tensor_fault(writing, state->item);
    if (fault) {
        pn_gguf_tensor tensor = pn_gguf_tensor_at(gguf, state->item);
        text_depends(sink, gguf, tensor.shard, tensor.name, tensor.name_len);
        put_left_out(job, "tensor", state->item, tensor.name, tensor.name_len, fault, sink);
    }
    state->item++;
    return TEXT_MORE;
}

static int problems_step(const text_job *job, text_state *state, text_sink *sink)
{
    switch (state->phase) {
    case OF_PARSER:
        return parser_step(job, state, sink);
    case OF_SAFETENSORS:
        return safetensors_step(job, state, sink);
    case OF_GGUF_KEYS:
        return gguf_key_step(job, state, sink);
    default:
        return gguf_tensor_step(job, state, sink);
    }
}

static const text_maker problems_text = {.id = TEXT_PROBLEMS, .step = problems_step};

static bool problems_is_sized(const view_model *model, uint64_t index)
{
    return text_is_sized(&problems_text, model, index);
}

static int problems_size(view_model *model, uint64_t index, view_scratch *scratch, uint64_t *size)
{
    int result = text_size(&problems_text, model, index, scratch, size);

    if (result == 0)
        *size += text_notes(model, scratch)->len;
    return result;
}

static int problems_read(view_model *model, uint64_t index, uint64_t offset, void *buffer,
                         size_t len, view_scratch *scratch, view_piece *piece)
{
    uint64_t found;
    int result = text_size(&problems_text, model, index, scratch, &found);

    if (result != 0)
        return result;
    if (offset < found)
        return text_read(&problems_text, model, index, offset, buffer, len, scratch, piece);

    const GString *notes = text_notes(model, scratch);
    *piece = (view_piece){0};
    if (offset - found < notes->len) {
        piece->len = MIN(len, notes->len - (offset - found));
        memcpy(buffer, notes->str + (offset - found), piece->len);
    }
    return 0;
}

const view view_problems = {
    .path = "problems.txt",
    .scope = VIEW_MODEL,
    .is_volatile = true,
    .is_sized = problems_is_sized,
    .size = problems_size,
    .read = problems_read,
};
