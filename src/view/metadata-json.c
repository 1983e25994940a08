/* metadata.json: all keys and values, one JSON object, a key a line, in file order. */
#include <string.h>

#include "view/escape.h"
#include "view/model.h"
#include "view/name.h"
#include "view/value.h"

/* text_state.phase of a key */
enum { AT_KEY, IN_KEY, IN_FILE_NAME, IN_VALUE };

/* A second key of the same name goes by its file name, name%~2. So does a key that has both signs
 * in its true name: it could be taken for one of those. */
static bool goes_by_file_name(const pn_gguf_kv *kv)
{
    return kv->nth > 1 ||
           (memchr(kv->key, '%', kv->key_len) != NULL && memchr(kv->key, '~', kv->key_len) != NULL);
}

static void begin_key(const pn_gguf_file *gguf, const pn_gguf_kv *kv, text_state *state,
                      text_sink *sink)
{
    text_puts(sink, state->item == 0 ? "{\n  \"" : ",\n  \"");
    text_depends(sink, gguf, gguf->kv_shard, kv->key, kv->key_len);
    state->phase = goes_by_file_name(kv) ? IN_FILE_NAME : IN_KEY;
    state->at = 0;
}

/* The next slice of the key. */
static void key_part(const pn_gguf_file *gguf, const pn_gguf_kv *kv, text_state *state,
                     text_sink *sink)
{
    char file_name[VIEW_NAME_MAX + 1];
    const char *name = kv->key;
    uint64_t len = kv->key_len;

    if (state->phase == IN_FILE_NAME) {
        view_file_name(file_name, kv->key, kv->key_len, kv->nth, NULL);
        name = file_name;
        len = strlen(file_name);
    }

    size_t slice = escape_slice(name + state->at, len - state->at);
    escape_json(sink, name + state->at, slice);
    text_depends(sink, gguf, gguf->kv_shard, kv->key,
                 state->phase == IN_FILE_NAME ? kv->key_len : state->at + slice);
    state->at += slice;
    if (state->at < len)
        return;

    text_puts(sink, "\": ");
    state->phase = IN_VALUE;
    value_reset(state);
}

static int json_step(const text_job *job, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);
    uint64_t start = sink->at;

    while (state->item < gguf->n_kv && sink->at - start < TEXT_CHUNK) {
        pn_gguf_kv kv = pn_gguf_kv_at(gguf, state->item);
        if (state->phase == AT_KEY)
            begin_key(gguf, &kv, state, sink);
        if (state->phase != IN_VALUE) {
            key_part(gguf, &kv, state, sink);
            continue;
        }
        int result = value_step(gguf, &kv, VALUE_JSON, state, sink);
        if (result != TEXT_END)
            return result;
        state->item++;
        state->phase = AT_KEY;
    }
    if (state->item < gguf->n_kv)
        return TEXT_MORE;

    text_puts(sink, gguf->n_kv > 0 ? "\n}\n" : "{}\n");
    return TEXT_END;
}

static const text_maker json_text = {.id = TEXT_METADATA_JSON, .step = json_step};

TEXT_VIEW_CALLS(json, json_text)

const view view_metadata_json = {
    .path = "metadata.json",
    .scope = VIEW_MODEL,
    .is_sized = json_is_sized,
    .size = json_size,
    .read = json_read,
};
