/* problems.txt: what the parser found wrong or odd, then what was noted while serving; a line each.
 * The first part is a text; the second grows. */
#include <string.h>

#include "view/model.h"
#include "view/views.h"

static int problems_step(const text_job *job, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);

    if (state->item == gguf->n_problems)
        return TEXT_END;
    text_depends(sink, gguf, gguf->kv_shard, gguf->shards[gguf->kv_shard].data, gguf->header_size);
    g_string_truncate(job->line, 0);
    pn_gguf_problem_text(gguf, state->item++, job->line);
    g_string_append_c(job->line, '\n');
    text_put(sink, job->line->str, job->line->len);
    return TEXT_MORE;
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
