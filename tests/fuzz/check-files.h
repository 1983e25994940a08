/* What the virtual files of a model must contain, worked out anew and simply. */
#pragma once

#include "tree/tree.h"

/* Aborts unless these are the bytes from the beginning of what the tree shows at `folder`/… ("" for
 * a file of the root called `name`); is_whole: all of them. index: of the key or tensor. */
void check_file(const pn_gguf_file *file, const char *folder, const char *name, uint64_t index,
                const uint8_t *bytes, size_t len, bool is_whole);
