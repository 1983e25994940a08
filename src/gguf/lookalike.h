/* What a file that is no GGUF file looks like. */
#pragma once

#include <pantheon/gguf.h>

/* The end of a sentence that begins with the file's name: "is empty", "looks like an HTML page: …".
 * `text` is empty; the source does not begin with the magic. */
void pn_describe_lookalike(const pn_gguf_source *source, GString *text);
