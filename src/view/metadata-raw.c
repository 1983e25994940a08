/* metadata.raw/<key>: the value's bytes, without its length. Strings, numbers and nested arrays are
 * the mapping itself, numbers of the other byte order a swapped copy; an array of strings is a
 * text. */
#include <string.h>

#include "view/model.h"
#include "view/value.h"

static int raw_step(const text_job *job, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);
    pn_gguf_kv kv = pn_gguf_kv_at(gguf, job->index);

    return value_step(gguf, &kv, VALUE_BYTES, state, sink);
}

static const text_maker raw_text = {.id = TEXT_METADATA_RAW, .step = raw_step};

static bool is_string_array(const pn_gguf_kv *kv)
{
    return kv->type == PN_GGUF_ARRAY && kv->elem == PN_GGUF_STRING;
}

static bool raw_is_sized(const view_model *model, uint64_t index)
{
    pn_gguf_kv kv = pn_gguf_kv_at(view_model_gguf(model), index);

    return !is_string_array(&kv) || text_is_sized(&raw_text, model, index);
}

static int raw_size(view_model *model, uint64_t index, view_scratch *scratch, uint64_t *size)
{
    pn_gguf_kv kv = pn_gguf_kv_at(view_model_gguf(model), index);

    if (is_string_array(&kv))
        return text_size(&raw_text, model, index, scratch, size);
    *size = kv.nbytes;
    return 0;
}

/* Bytes `offset` to `offset + len` of the elements at data, each of them turned round. */
static void copy_swapped(char *out, const uint8_t *data, size_t elem_size, uint64_t offset,
                         size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint64_t at = offset + i, in_elem = at % elem_size;
        out[i] = (char)data[at - in_elem + (elem_size - 1 - in_elem)];
    }
}

static int raw_read(view_model *model, uint64_t index, uint64_t offset, void *buffer, size_t len,
                    view_scratch *scratch, view_piece *piece)
{
    const pn_gguf_file *gguf = view_model_gguf(model);
    pn_gguf_kv kv = pn_gguf_kv_at(gguf, index);

    if (is_string_array(&kv))
        return text_read(&raw_text, model, index, offset, buffer, len, scratch, piece);

    *piece = (view_piece){0};
    if (offset >= kv.nbytes)
        return 0;
    bool swapped = gguf->big_endian != (G_BYTE_ORDER == G_BIG_ENDIAN);
    size_t elem_size = pn_gguf_type_size(kv.elem); /* 0: strings and arrays, as stored */
    piece->len = MIN(len, kv.nbytes - offset);
    if (swapped && elem_size > 1)
        copy_swapped(buffer, kv.data, elem_size, offset, piece->len);
    else
        piece->direct = kv.data + offset;

    uint64_t end = offset + piece->len;
    if (elem_size > 1)
        end += (elem_size - end % elem_size) % elem_size;
    piece->shard = gguf->kv_shard;
    piece->source_end = (uint64_t)(kv.data - gguf->shards[gguf->kv_shard].data) + end;
    return 0;
}

const view view_metadata_raw = {
    .path = "metadata.raw",
    .scope = VIEW_KEY,
    .is_sized = raw_is_sized,
    .size = raw_size,
    .read = raw_read,
};
