/* What a model's files are called. */
#pragma once

#include <pantheon/gguf.h>

/* The name of a shard's file, without the folders before it; any bytes. Ends with the model. */
const char *shard_file_name(const pn_gguf_file *gguf, unsigned shard);
