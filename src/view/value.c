/* The value of a key, step by step (value.h). */
#include "view/value.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "view/escape.h"
#include "view/number.h"

/* text_state.value_phase */
enum {
    AT_BEGIN,   /* nothing was given yet */
    AT_ELEMENT, /* the next element of the innermost open array, or its end; the end of the value
                   when none is open */
    IN_STRING,  /* `rest` bytes from `at` are to come, then the string's end */
};

typedef struct {
    const pn_gguf_file *gguf;
    const pn_gguf_kv *kv;
    value_form form;
    text_state *state;
    text_sink *sink;
} value_walk;

void value_reset(text_state *state)
{
    state->value_phase = AT_BEGIN;
    state->depth = 0;
    state->at = 0;
    state->rest = 0;
}

static void put_float(text_sink *sink, const char *digits, size_t len, double value, bool json)
{
    if (json && isnan(value))
        text_puts(sink, "\"NaN\"");
    else if (json && isinf(value))
        text_puts(sink, value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    else
        text_put(sink, digits, len);
}

void value_put_number(text_sink *sink, pn_gguf_type type, pn_gguf_number number, bool json)
{
    char digits[NUMBER_TEXT_MAX];

    switch (type) {
    case PN_GGUF_BOOL:
        text_puts(sink, number.u64 ? "true" : "false");
        break;
    case PN_GGUF_FLOAT32:
        put_float(sink, digits, number_f32(digits, number.f32), (double)number.f32, json);
        break;
    case PN_GGUF_FLOAT64:
        put_float(sink, digits, number_f64(digits, number.f64), number.f64, json);
        break;
    case PN_GGUF_INT8:
    case PN_GGUF_INT16:
    case PN_GGUF_INT32:
    case PN_GGUF_INT64:
        text_put(sink, digits, number_i64(digits, number.i64));
        break;
    default:
        text_put(sink, digits, number_u64(digits, number.u64));
        break;
    }
}

/* Where the value's own array is a list of lines or of bytes, it has no brackets and no commas. */
static bool is_json_at(const value_walk *w, uint8_t depth)
{
    return w->form == VALUE_JSON || (w->form == VALUE_LINES && depth > 1);
}

static int open_array(value_walk *w, pn_gguf_type elem, uint64_t count)
{
    text_state *state = w->state;

    if (state->depth == TEXT_MAX_NESTING)
        return EIO;
    state->elem[state->depth] = (uint8_t)elem;
    state->left[state->depth] = count;
    state->depth++;
    state->value_phase = AT_ELEMENT;
    if (is_json_at(w, state->depth))
        text_put(w->sink, "[", 1);
    return TEXT_MORE;
}

static void open_string(value_walk *w, uint64_t at, uint64_t len)
{
    w->state->value_phase = IN_STRING;
    w->state->at = at;
    w->state->rest = len;
    if (is_json_at(w, w->state->depth))
        text_put(w->sink, "\"", 1);
}

/* What follows an element, or the whole value. */
static void end_element(value_walk *w)
{
    const text_state *state = w->state;

    w->state->value_phase = AT_ELEMENT;
    if (w->form == VALUE_BYTES)
        text_put(w->sink, "\0", 1);
    else if (w->form == VALUE_LINES && state->depth <= 1)
        text_put(w->sink, "\n", 1);
    else if (state->depth > 0 && state->left[state->depth - 1] > 0)
        text_put(w->sink, ", ", 2);
}

static void close_array(value_walk *w)
{
    text_state *state = w->state;

    if (is_json_at(w, state->depth))
        text_put(w->sink, "]", 1);
    state->depth--;
    if (state->depth > 0)
        end_element(w);
}

static pn_gguf_walk walk_from(const value_walk *w)
{
    pn_gguf_walk walk = pn_gguf_walk_value(w->kv);
    walk.at += w->state->at;
    return walk;
}

static int put_number(value_walk *w, pn_gguf_type type)
{
    pn_gguf_walk walk = walk_from(w);
    pn_gguf_number number;

    if (!pn_gguf_walk_number(w->gguf, &walk, type, &number))
        return EIO;
    w->state->at = (uint64_t)(walk.at - w->kv->data);
    value_put_number(w->sink, type, number, is_json_at(w, w->state->depth));
    end_element(w);
    return TEXT_MORE;
}

static int begin(value_walk *w)
{
    switch (w->kv->type) {
    case PN_GGUF_ARRAY:
        return open_array(w, w->kv->elem, w->kv->count);
    case PN_GGUF_STRING:
        open_string(w, 0, w->kv->nbytes);
        return TEXT_MORE;
    default:
        return put_number(w, w->kv->type);
    }
}

static int next_string(value_walk *w)
{
    pn_gguf_walk walk = walk_from(w);
    const char *string;
    uint64_t len;

    if (!pn_gguf_walk_string(w->gguf, &walk, &string, &len))
        return EIO;
    open_string(w, (uint64_t)((const uint8_t *)string - w->kv->data), len);
    return TEXT_MORE;
}

static int next_array(value_walk *w)
{
    pn_gguf_walk walk = walk_from(w);
    pn_gguf_type elem;
    uint64_t count;

    if (!pn_gguf_walk_array(w->gguf, &walk, &elem, &count))
        return EIO;
    w->state->at = (uint64_t)(walk.at - w->kv->data);
    return open_array(w, elem, count);
}

static int next_element(value_walk *w)
{
    text_state *state = w->state;

    if (state->depth == 0)
        return TEXT_END;
    if (state->left[state->depth - 1] == 0) {
        close_array(w);
        return TEXT_MORE;
    }

    state->left[state->depth - 1]--;
    pn_gguf_type type = (pn_gguf_type)state->elem[state->depth - 1];
    if (type == PN_GGUF_STRING)
        return next_string(w);
    if (type == PN_GGUF_ARRAY)
        return next_array(w);
    return put_number(w, type);
}

/* The next slice of the open string; after the last its end. */
static int string_part(value_walk *w)
{
    text_state *state = w->state;
    const char *bytes = (const char *)w->kv->data + state->at;
    bool json = is_json_at(w, state->depth);
    bool line = w->form == VALUE_LINES && state->depth > 0;
    size_t len = json || line ? escape_slice(bytes, state->rest) : MIN(state->rest, TEXT_CHUNK);

    if (json)
        escape_json(w->sink, bytes, len);
    else if (line)
        escape_line(w->sink, bytes, len);
    else
        text_put(w->sink, bytes, len);
    state->at += len;
    state->rest -= len;
    if (state->rest > 0)
        return TEXT_MORE;

    if (json)
        text_put(w->sink, "\"", 1);
    end_element(w);
    return TEXT_MORE;
}

int value_step(const pn_gguf_file *gguf, const pn_gguf_kv *kv, value_form form, text_state *state,
               text_sink *sink)
{
    value_walk w = {.gguf = gguf, .kv = kv, .form = form, .state = state, .sink = sink};
    uint64_t start = sink->at;
    int result = state->value_phase == AT_BEGIN ? begin(&w) : TEXT_MORE;

    while (result == TEXT_MORE && sink->at - start < TEXT_CHUNK)
        result = state->value_phase == IN_STRING ? string_part(&w) : next_element(&w);

    text_depends(sink, gguf, gguf->kv_shard, kv->data, state->at);
    return result;
}
