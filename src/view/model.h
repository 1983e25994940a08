/* The model as views see it: the parsed file, and what views keep about it. */
#pragma once

#include "gguf/write.h"
#include "view/text.h"
#include "view/view.h"

/* gguf is borrowed. Touches the mapping, and owns memory meanwhile: what a fault leaves behind is
 * lost. */
view_model *view_model_new(const pn_gguf_file *gguf);
void view_model_free(view_model *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(view_model, view_model_free)

const pn_gguf_file *view_model_gguf(const view_model *model);

/* The plan of the model as one GGUF file; NULL where none could be made. */
const pn_writing *view_model_writing(const view_model *model);

/* Adds a line to problems.txt (thread-safe; not from behind the gate). A sentence, escaped, without
 * newline. */
void view_model_note(view_model *model, const char *sentence);

/* Appends the notes to out, a line each. Touches no byte of the mapping. */
void view_model_notes(view_model *model, GString *out);

/* What texts keep about the model, and a thread's memory for making them: text.h. */
text_cache *view_model_texts(const view_model *model);
text_scratch *view_scratch_texts(view_scratch *scratch);

/* What a view found out about the model and keeps, one block of memory (g_malloc) in a slot of its
 * own. view_model_keep publishes `made`, unless another thread was faster, and returns what is
 * kept; made is the model's from then on. */
enum {
    VIEW_KEPT_SURVEY,
    VIEW_KEPT_EXPORT_LIMITS,
    VIEW_KEPT_EXPORT_PLAN, /* one a form: float32, float16, bfloat16 */
    VIEW_KEPT_SLOTS = VIEW_KEPT_EXPORT_PLAN + 3,
};
const void *view_model_kept(const view_model *model, unsigned slot);
const void *view_model_keep(view_model *model, unsigned slot, void *made);

view_scratch *view_scratch_new(void); /* NULL when there is no memory */
void view_scratch_free(view_scratch *scratch);
void view_scratch_clear(view_scratch *scratch); /* one that stands in other memory */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(view_scratch, view_scratch_free)
