/* What is true of every model that is written as one file. */
#pragma once

#include <pantheon/gguf.h>

/* Aborts when it is not: the header has the size that was planned, and is that of the model. */
void check_writing(const pn_gguf_file *file);
