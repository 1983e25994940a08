/* What is true of every model that parsed. */
#pragma once

#include <pantheon/gguf.h>

/* Aborts when it is not. Reads every byte that the tables point to. */
void check_model(const pn_gguf_file *file);

/* Aborts unless the sentence is one: UTF-8 without control bytes, not empty. */
void check_sentence(const char *sentence);
