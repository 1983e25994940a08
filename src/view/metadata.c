/* metadata/<key>: the value as text. A string is the mapping itself and a newline; everything else
 * is a text. */
#include <errno.h>
#include <string.h>

#include "view/model.h"
#include "view/value.h"

static int metadata_step(const text_job *job, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);
    pn_gguf_kv kv = pn_gguf_kv_at(gguf, job->index);

    return value_step(gguf, &kv, VALUE_LINES, state, sink);
}

static const text_maker metadata_text = {.id = TEXT_METADATA, .step = metadata_step};

static bool metadata_is_sized(const view_model *model, uint64_t index)
{
    pn_gguf_kv kv = pn_gguf_kv_at(view_model_gguf(model), index);

    return kv.type != PN_GGUF_ARRAY || text_is_sized(&metadata_text, model, index);
}

static int metadata_size(view_model *model, uint64_t index, view_scratch *scratch, uint64_t *size)
{
    pn_gguf_kv kv = pn_gguf_kv_at(view_model_gguf(model), index);

    if (kv.type != PN_GGUF_STRING)
        return text_size(&metadata_text, model, index, scratch, size);
    *size = kv.nbytes + 1;
    return 0;
}

/* The string as it stands in the mapping; where the newline is asked for too, a copy of both. */
static int read_string(const pn_gguf_file *gguf, const pn_gguf_kv *kv, uint64_t offset,
                       char *buffer, size_t len, view_piece *piece)
{
    if (offset > kv->nbytes)
        return 0;

    uint64_t left = kv->nbytes - offset;
    if (len > left) {
        memcpy(buffer, kv->data + offset, left);
        buffer[left] = '\n';
        piece->len = left + 1;
    } else {
        piece->direct = kv->data + offset;
        piece->len = len;
    }
    piece->shard = gguf->kv_shard;
    piece->source_end =
        (uint64_t)(kv->data - gguf->shards[gguf->kv_shard].data) + MIN(offset + len, kv->nbytes);
    return 0;
}

static int metadata_read(view_model *model, uint64_t index, uint64_t offset, void *buffer,
                         size_t len, view_scratch *scratch, view_piece *piece)
{
    const pn_gguf_file *gguf = view_model_gguf(model);
    pn_gguf_kv kv = pn_gguf_kv_at(gguf, index);

    if (kv.type != PN_GGUF_STRING)
        return text_read(&metadata_text, model, index, offset, buffer, len, scratch, piece);
    *piece = (view_piece){0};
    return read_string(gguf, &kv, offset, buffer, len, piece);
}

const view view_metadata = {
    .path = "metadata",
    .scope = VIEW_KEY,
    .is_sized = metadata_is_sized,
    .size = metadata_size,
    .read = metadata_read,
};
