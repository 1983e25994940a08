/* The model as views see it: the parsed file, and what views keep about it. */
#pragma once

#include "view/view.h"

view_model *view_model_new(const pn_gguf_file *gguf); /* gguf is borrowed */
void view_model_free(view_model *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(view_model, view_model_free)

const pn_gguf_file *view_model_gguf(const view_model *model);

/* Adds a line to problems.txt (thread-safe; not from behind the gate). A sentence, escaped, without
 * newline. */
void view_model_note(view_model *model, const char *sentence);

view_scratch *view_scratch_new(void);
void view_scratch_free(view_scratch *scratch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(view_scratch, view_scratch_free)
