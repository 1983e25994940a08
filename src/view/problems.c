/* problems.txt: what the parser found wrong or odd, what the exports leave out, then what was noted
 * while serving; a line each. All but the last is a text; the last grows. */
#include <string.h>

#include "view/export.h"
#include "view/model.h"

/* text_state.phase */
enum { OF_PARSER, OF_EXPORTS };

static int parser_step(const text_job *job, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);

    if (state->item == gguf->n_problems) {
        *state = (text_state){.phase = OF_EXPORTS, .item = export_limits_get(job->model)->from};
        return TEXT_MORE;
    }
    text_depends(sink, gguf, gguf->kv_shard, gguf->shards[gguf->kv_shard].data, gguf->header_size);
    g_string_truncate(job->line, 0);
    pn_gguf_problem_text(gguf, state->item++, job->line);
    g_string_append_c(job->line, '\n');
    text_put(sink, job->line->str, job->line->len);
    return TEXT_MORE;
}

static int exports_step(const text_job *job, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);
    const export_limits *limits = export_limits_get(job->model);
    uint64_t index = state->item;

    if (index == limits->to)
        return TEXT_END;
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

static int problems_step(const text_job *job, text_state *state, text_sink *sink)
{
    return state->phase == OF_PARSER ? parser_step(job, state, sink)
                                     : exports_step(job, state, sink);
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
