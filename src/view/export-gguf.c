/* export/model.gguf: the whole model as one GGUF file, as gguf/write.h plans it. A single file that
 * is one already is shown as it stands; of others the header is made anew, and the tensors come
 * from where they are. */
#include <errno.h>
#include <string.h>

#include "view/model.h"
#include "view/tensor.h"

/* The header is a text, whose state holds what the writing goes on from. */

static pn_writing_state writing_state(const text_state *text)
{
    pn_writing_state state = {.item = text->item,
                              .at = text->at,
                              .rest = text->rest,
                              .phase = text->phase,
                              .depth = text->depth};
    memcpy(state.elem, text->elem, sizeof state.elem);
    memcpy(state.left, text->left, sizeof state.left);
    return state;
}

static void keep_state(text_state *text, const pn_writing_state *state)
{
    text->item = state->item;
    text->at = state->at;
    text->rest = state->rest;
    text->phase = state->phase;
    text->depth = state->depth;
    memcpy(text->elem, state->elem, sizeof state->elem);
    memcpy(text->left, state->left, sizeof state->left);
}

_Static_assert((int)TEXT_MAX_NESTING >= (int)PN_GGUF_MAX_NESTING,
               "a text's state holds that of a writing");

typedef struct {
    text_sink *text;
    const pn_gguf_file *gguf;
} header_sink;

static void put(void *user, const void *bytes, size_t len)
{
    const header_sink *sink = user;
    text_put(sink->text, bytes, len);
}

static void depends(void *user, unsigned shard, const void *bytes, uint64_t len)
{
    const header_sink *sink = user;
    text_depends(sink->text, sink->gguf, shard, bytes, len);
}

static int header_step(const text_job *job, text_state *text, text_sink *sink)
{
    header_sink user = {sink, view_model_gguf(job->model)};
    pn_writing_sink out = {put, depends, &user};
    pn_writing_state state = writing_state(text);
    pn_writing_result result = pn_writing_step(view_model_writing(job->model), &state, &out);

    keep_state(text, &state);
    if (result == PN_WRITING_CHANGED)
        return EIO;
    return result == PN_WRITING_END ? TEXT_END : TEXT_MORE;
}

static const text_maker header = {.id = TEXT_EXPORT_GGUF, .step = header_step};

static int read_header(view_model *model, uint64_t offset, void *buffer, size_t len,
                       view_scratch *scratch, view_piece *piece)
{
    uint64_t size;
    int result = text_size(&header, model, 0, scratch, &size);

    if (result != 0)
        return result;
    if (size != pn_writing_data_start(view_model_writing(model)))
        return EIO; /* the source has changed since it was planned */
    return text_read(&header, model, 0, offset, buffer, len, scratch, piece);
}

/* From byte `at` of the data section: a large tensor straight from the mapping; small ones
 * together, with the zeros between them. */
static int read_data(view_model *model, uint64_t at, uint64_t end, uint8_t *buffer, size_t len,
                     view_scratch *scratch, view_piece *piece)
{
    *piece = (view_piece){0};
    while (piece->len < len && at + piece->len < end) {
        pn_writing_place place = pn_writing_find(view_model_writing(model), at + piece->len);
        uint64_t inside = at + piece->len - place.start;
        size_t room = len - piece->len;
        if (inside >= place.nbytes) {
            size_t n = MIN(room, place.end - place.start - inside);
            memset(buffer + piece->len, 0, n);
            piece->len += n;
            continue;
        }

        pn_gguf_tensor tensor = pn_gguf_tensor_at(view_model_gguf(model), place.tensor);
        view_piece part;
        int result =
            tensor_read(&tensor, TENSOR_OWN, inside, buffer + piece->len, room, scratch, &part);
        if (result != 0)
            return piece->len > 0 ? 0 : result;
        bool is_large = part.direct && part.len >= TENSOR_MIN_DIRECT;
        if (is_large && piece->len == 0)
            *piece = part;
        if (is_large || !tensor_add_part(buffer, &part, piece))
            return 0;
    }
    return 0;
}

/* The source itself. */
static int read_source(const pn_gguf_file *gguf, uint64_t offset, size_t len, view_piece *piece)
{
    const pn_gguf_shard *source = &gguf->shards[0];

    *piece = (view_piece){0};
    if (offset >= source->size)
        return 0;
    piece->direct = source->data + offset;
    piece->len = MIN(len, source->size - offset);
    piece->source_end = offset + piece->len;
    return 0;
}

static int gguf_size(view_model *model, uint64_t index, view_scratch *scratch, uint64_t *size)
{
    const pn_writing *writing = view_model_writing(model);

    if (writing == NULL)
        return EIO;
    *size = pn_writing_size(writing);
    return 0;
}

static int gguf_read(view_model *model, uint64_t index, uint64_t offset, void *buffer, size_t len,
                     view_scratch *scratch, view_piece *piece)
{
    const pn_writing *writing = view_model_writing(model);

    if (writing == NULL)
        return EIO;
    if (pn_writing_is_source(writing))
        return read_source(view_model_gguf(model), offset, len, piece);

    uint64_t data_start = pn_writing_data_start(writing);
    if (offset < data_start)
        return read_header(model, offset, buffer, len, scratch, piece);
    if (offset < pn_writing_size(writing))
        return read_data(model, offset - data_start, pn_writing_size(writing) - data_start, buffer,
                         len, scratch, piece);
    *piece = (view_piece){0};
    return 0;
}

static bool gguf_is_cut(const view_model *model, uint64_t index)
{
    const pn_writing *writing = view_model_writing(model);
    return writing && pn_writing_is_cut(writing);
}

const view view_export_gguf = {
    .path = "export/model.gguf",
    .scope = VIEW_MODEL,
    .size = gguf_size,
    .read = gguf_read,
    .is_cut = gguf_is_cut,
};
