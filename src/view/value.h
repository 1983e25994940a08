/* The value of a key as text, as bytes, as JSON; and strings from a file in these forms.
 *
 * Knows nothing of files and folders: it gives a value to a sink, in steps (text.h). */
#pragma once

#include "view/text.h"

typedef enum {
    VALUE_LINES, /* a scalar is a line, an array a line for each element; arrays inside as JSON */
    VALUE_BYTES, /* an array of strings: each followed by NUL. Of no other type */
    VALUE_JSON,  /* on one line, without a newline at the end */
} value_form;

/* A step through the value: bytes to the sink, value fields of the state moved on, which are zero
 * at the value's beginning. TEXT_MORE, TEXT_END, or EIO. */
int value_step(const pn_gguf_file *gguf, const pn_gguf_kv *kv, value_form form, text_state *state,
               text_sink *sink);

/* Makes the state ready for the next value. */
void value_reset(text_state *state);

/* The number (not string, not array) of this type; JSON has its own words for what is not finite.
 */
void value_put_number(text_sink *sink, pn_gguf_type type, pn_gguf_number number, bool json);
