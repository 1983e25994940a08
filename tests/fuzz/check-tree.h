/* What is true of the tree over every model that parsed. */
#pragma once

#include <pantheon/gguf.h>

#include "fuzz.h"

/* Aborts when it is not: each name resolves back to its node, sizes agree with reads, a read from
 * anywhere is a slice of the whole, and the contents are those of the model. */
void check_tree(const pn_gguf_file *file, fuzz_dice *dice);
