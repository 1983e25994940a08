/* What views share: the parsed file, notes for problems.txt, the kept sizes of texts; and a
 * thread's scratch. Knows no view. */
#include "view/model.h"

#include "view/scratch.h"

/* More would only repeat themselves; and a source that changes for ever must not fill memory. */
enum { MAX_NOTES = 1000 };

struct view_model {
    const pn_gguf_file *gguf; /* borrowed */
    pn_writing *writing;      /* may be NULL */
    text_cache *texts;
    void *kept[VIEW_KEPT_SLOTS]; /* NULL, then for ever what was put there */
    GMutex lock;
    GPtrArray *notes; /* under lock: sentences, each once, at most MAX_NOTES */
};

view_model *view_model_new(const pn_gguf_file *gguf)
{
    view_model *model = g_new0(view_model, 1);
    model->gguf = gguf;
    model->writing = pn_writing_new(gguf);
    model->texts = text_cache_new(gguf);
    model->notes = g_ptr_array_new_with_free_func(g_free);
    g_mutex_init(&model->lock);
    return model;
}

void view_model_free(view_model *model)
{
    if (!model)
        return;
    g_mutex_clear(&model->lock);
    g_ptr_array_unref(model->notes);
    text_cache_free(model->texts);
    pn_writing_free(model->writing);
    for (unsigned i = 0; i < VIEW_KEPT_SLOTS; i++)
        g_free(model->kept[i]);
    g_free(model);
}

const pn_gguf_file *view_model_gguf(const view_model *model)
{
    return model->gguf;
}

const pn_writing *view_model_writing(const view_model *model)
{
    return model->writing;
}

text_cache *view_model_texts(const view_model *model)
{
    return model->texts;
}

const void *view_model_kept(const view_model *model, unsigned slot)
{
    return __atomic_load_n(&model->kept[slot], __ATOMIC_ACQUIRE);
}

const void *view_model_keep(view_model *model, unsigned slot, void *made)
{
    if (g_atomic_pointer_compare_and_exchange(&model->kept[slot], NULL, made))
        return made;
    g_free(made);
    return view_model_kept(model, slot);
}

void view_model_note(view_model *model, const char *sentence)
{
    g_mutex_lock(&model->lock);
    if (model->notes->len < MAX_NOTES &&
        !g_ptr_array_find_with_equal_func(model->notes, sentence, g_str_equal, NULL))
        g_ptr_array_add(model->notes, g_strdup(sentence));
    g_mutex_unlock(&model->lock);
}

void view_model_notes(view_model *model, GString *out)
{
    g_mutex_lock(&model->lock);
    for (guint i = 0; i < model->notes->len; i++) {
        g_string_append(out, g_ptr_array_index(model->notes, i));
        g_string_append_c(out, '\n');
    }
    g_mutex_unlock(&model->lock);
}

view_scratch *view_scratch_new(void)
{
    return g_try_new0(view_scratch, 1);
}

void view_scratch_clear(view_scratch *scratch)
{
    text_scratch_clear(&scratch->texts);
}

void view_scratch_free(view_scratch *scratch)
{
    if (!scratch)
        return;
    view_scratch_clear(scratch);
    g_free(scratch);
}

text_scratch *view_scratch_texts(view_scratch *scratch)
{
    return &scratch->texts;
}
