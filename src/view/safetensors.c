/* The bytes of a safetensors file: header and data (safetensors.h). Knows nothing of the rules by
 * which tensors were chosen. */
#include "view/safetensors.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gguf/escape.h"
#include "view/escape.h"
#include "view/model.h"
#include "view/value.h"

/* The tensors' bytes begin at a whole page, for those who map the file. */
enum { LENGTH_SIZE = 8, DATA_ALIGNMENT = 4096 };

/* Of the metadata: what is no string or number, or longer, is left out. */
enum { KEY_MAX = 256, STRING_MAX = 64 * 1024, ARRAY_MAX = 64 };

/* text_state.phase. `item` is a key, then a tensor's index; `depth` the width of an export_place,
 * left[0] its data_at. */
enum { AT_BEGIN, AT_KEY, IN_STRING, AT_TENSOR, IN_NAME };

static bool is_utf8(const char *bytes, size_t len)
{
    for (size_t i = 0, n; i < len; i += n) {
        n = pn_utf8_length(bytes + i, len - i);
        if (n == 0)
            return false;
    }
    return true;
}

/* Whether a key goes into __metadata__, which holds strings: text, numbers, short lists of them. */
static bool is_wanted(const pn_gguf_kv *kv)
{
    static const char taken[] = "format"; /* ours */

    if (kv->nth > 1 || kv->key_len > KEY_MAX ||
        (kv->key_len == strlen(taken) && memcmp(kv->key, taken, strlen(taken)) == 0))
        return false;
    if (kv->type == PN_GGUF_STRING ? kv->nbytes > STRING_MAX
                                   : pn_gguf_type_size(kv->elem) == 0 || kv->count > ARRAY_MAX)
        return false;

    char key[KEY_MAX];
    memcpy(key, kv->key, kv->key_len);
    return is_utf8(key, kv->key_len);
}

static int put_numbers(const pn_gguf_file *gguf, const pn_gguf_kv *kv, text_sink *sink)
{
    pn_gguf_walk walk = pn_gguf_walk_value(kv);
    pn_gguf_number number;

    if (kv->type == PN_GGUF_ARRAY)
        text_puts(sink, "[");
    for (uint64_t i = 0; i < kv->count; i++) {
        if (!pn_gguf_walk_number(gguf, &walk, kv->elem, &number))
            return EIO;
        text_puts(sink, i > 0 ? ", " : "");
        value_put_number(sink, kv->elem, number, false);
    }
    text_puts(sink, kv->type == PN_GGUF_ARRAY ? "]\"" : "\"");
    return TEXT_MORE;
}

static int key_step(const pn_gguf_file *gguf, text_state *state, text_sink *sink)
{
    if (state->item == gguf->n_kv || sink->at > EXPORT_METADATA_MAX) {
        text_puts(sink, "}");
        *state = (text_state){.phase = AT_TENSOR};
        return TEXT_MORE;
    }

    pn_gguf_kv kv = pn_gguf_kv_at(gguf, state->item);
    if (!is_wanted(&kv)) {
        state->item++;
        return TEXT_MORE;
    }
    text_depends(sink, gguf, gguf->kv_shard, kv.data, kv.nbytes);
    text_puts(sink, ",\"");
    escape_json(sink, kv.key, kv.key_len);
    text_puts(sink, "\":\"");
    if (kv.type == PN_GGUF_STRING) {
        state->phase = IN_STRING;
        state->at = 0;
        return TEXT_MORE;
    }
    state->item++;
    return put_numbers(gguf, &kv, sink);
}

static int string_step(const pn_gguf_file *gguf, text_state *state, text_sink *sink)
{
    pn_gguf_kv kv = pn_gguf_kv_at(gguf, state->item);
    const char *string = (const char *)kv.data;
    size_t slice = escape_slice(string + state->at, kv.nbytes - state->at);

    text_depends(sink, gguf, gguf->kv_shard, kv.data, kv.nbytes);
    escape_json(sink, string + state->at, slice);
    state->at += slice;
    if (state->at == kv.nbytes) {
        text_puts(sink, "\"");
        state->item++;
        state->phase = AT_KEY;
    }
    return TEXT_MORE;
}

static void put_entry(const export_tensor *t, uint64_t data_at, GString *line, text_sink *sink)
{
    char shape[TENSOR_DIMS_MAX];

    tensor_shape_text(shape, &t->tensor);
    g_string_printf(line,
                    "\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
                    t->dtype, shape, data_at, data_at + t->size);
    text_put(sink, line->str, line->len);
}

static int tensor_step(const text_job *job, tensor_form form, text_state *state, text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);
    export_place place = {state->item, state->left[0], state->depth};
    export_tensor t;

    if (!export_find(gguf, export_known_plan(job->model, form), form, &place, &t)) {
        text_puts(sink, "}");
        return TEXT_END;
    }
    if (state->phase == AT_TENSOR) {
        text_puts(sink, ",\"");
        state->phase = IN_NAME;
        state->at = 0;
    }

    size_t slice = escape_slice(t.name + state->at, t.name_len - state->at);
    text_depends(sink, gguf, t.tensor.shard, t.tensor.name, t.tensor.name_len);
    escape_json(sink, t.name + state->at, slice);
    state->at += slice;
    if (state->at == t.name_len) {
        put_entry(&t, place.data_at, job->line, sink);
        export_step_over(&place, &t);
        state->phase = AT_TENSOR;
    }
    state->item = place.index;
    state->left[0] = place.data_at;
    state->depth = (uint8_t)place.width;
    return TEXT_MORE;
}

int safetensors_header_step(const text_job *job, tensor_form form, text_state *state,
                            text_sink *sink)
{
    const pn_gguf_file *gguf = view_model_gguf(job->model);

    switch (state->phase) {
    case AT_BEGIN:
        text_puts(sink, "{\"__metadata__\":{\"format\":\"pt\"");
        state->phase = AT_KEY;
        return TEXT_MORE;
    case AT_KEY:
        return key_step(gguf, state, sink);
    case IN_STRING:
        return string_step(gguf, state, sink);
    default:
        return tensor_step(job, form, state, sink);
    }
}

/* Where the parts of the file are. */
typedef struct {
    const export_plan *plan;
    uint64_t text_end, data_start, end;
} layout;

static int lay_out(view_model *model, tensor_form form, const text_maker *header,
                   view_scratch *scratch, layout *out)
{
    uint64_t text_len;
    int result = export_plan_get(model, form, scratch, &out->plan);
    if (result == 0)
        result = text_size(header, model, 0, scratch, &text_len);
    if (result != 0)
        return result;

    out->text_end = LENGTH_SIZE + text_len;
    out->data_start = (out->text_end + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
    out->end = out->data_start + out->plan->size;
    return 0;
}

bool safetensors_is_sized(const view_model *model, tensor_form form, const text_maker *header)
{
    return export_known_plan(model, form) && text_is_sized(header, model, 0);
}

int safetensors_size(view_model *model, tensor_form form, const text_maker *header,
                     view_scratch *scratch, uint64_t *size)
{
    layout l;
    int result = lay_out(model, form, header, scratch, &l);
    if (result == 0)
        *size = l.end;
    return result;
}

static void read_length(const layout *l, uint64_t offset, void *buffer, size_t len,
                        view_piece *piece)
{
    uint64_t length = GUINT64_TO_LE(l->data_start - LENGTH_SIZE);

    piece->len = MIN(len, LENGTH_SIZE - offset);
    memcpy(buffer, (const char *)&length + offset, piece->len);
}

/* From byte data_at of all tensors: a large one straight from the mapping, small ones together. */
static int read_data(view_model *model, tensor_form form, const export_plan *plan, uint64_t data_at,
                     uint8_t *buffer, size_t len, view_scratch *scratch, view_piece *piece)
{
    const pn_gguf_file *gguf = view_model_gguf(model);
    export_place place = export_start(plan, data_at);
    export_tensor t;
    int result = EIO; /* where the names have changed since the plan was made */

    *piece = (view_piece){0};
    while (piece->len < len && export_find(gguf, plan, form, &place, &t)) {
        uint64_t at = data_at + piece->len;
        if (at < place.data_at)
            break;
        if (at - place.data_at < t.size) {
            view_piece part;
            result = tensor_read(&t.tensor, t.form, at - place.data_at, buffer + piece->len,
                                 len - piece->len, scratch, &part);
            if (result == 0 && piece->len == 0 && part.direct && part.len >= TENSOR_MIN_DIRECT) {
                *piece = part;
                return 0;
            }
            if (result != 0 || !tensor_add_part(buffer, &part, piece))
                break;
        }
        export_step_over(&place, &t);
    }
    return piece->len > 0 ? 0 : result;
}

int safetensors_read(view_model *model, tensor_form form, const text_maker *header, uint64_t offset,
                     void *buffer, size_t len, view_scratch *scratch, view_piece *piece)
{
    layout l;
    int result = lay_out(model, form, header, scratch, &l);
    if (result != 0)
        return result;

    *piece = (view_piece){0};
    if (offset < LENGTH_SIZE)
        read_length(&l, offset, buffer, len, piece);
    else if (offset < l.text_end)
        return text_read(header, model, 0, offset - LENGTH_SIZE, buffer, len, scratch, piece);
    else if (offset < l.data_start)
        memset(buffer, ' ', piece->len = MIN(len, l.data_start - offset));
    else if (offset < l.end)
        return read_data(model, form, l.plan, offset - l.data_start, buffer, len, scratch, piece);
    return 0;
}

bool safetensors_is_cut(const view_model *model, tensor_form form)
{
    const export_plan *plan = export_known_plan(model, form);
    return plan && plan->is_cut;
}
