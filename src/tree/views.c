/* The list of views: one line each, in the order in which a listing shows them. */
#include "tree/views.h"

#include <string.h>

#define VIEWS(LINE)                                                                                \
    LINE(view_readme)                                                                              \
    LINE(view_summary)                                                                             \
    LINE(view_problems)                                                                            \
    LINE(view_metadata_json)                                                                       \
    LINE(view_metadata)                                                                            \
    LINE(view_metadata_raw)                                                                        \
    LINE(view_tensors_tsv)                                                                         \
    LINE(view_tensors_json)                                                                        \
    LINE(view_raw)                                                                                 \
    LINE(view_f32)                                                                                 \
    LINE(view_f16)                                                                                 \
    LINE(view_bf16)                                                                                \
    LINE(view_npy)                                                                                 \
    LINE(view_info)                                                                                \
    LINE(view_export_gguf)                                                                         \
    LINE(view_export_f32)                                                                          \
    LINE(view_export_f16)                                                                          \
    LINE(view_export_bf16)

#define DECLARE(name) extern const view name;
#define ADDRESS(name) &name,

VIEWS(DECLARE)

static const view *const views[] = {VIEWS(ADDRESS)};

const view *tree_view_at(unsigned i)
{
    return i < G_N_ELEMENTS(views) ? views[i] : NULL;
}

unsigned tree_view_count(void)
{
    return G_N_ELEMENTS(views);
}

static bool is_named(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    size_t len = strlen(name);

    return strcmp(path, name) == 0 || (slash && strcmp(slash + 1, name) == 0) ||
           (len > 0 && strncmp(path, name, len) == 0 && path[len] == '/');
}

static void set_unknown(GError **error, const char *name)
{
    g_autoptr(GString) all = g_string_new(NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(views); i++) {
        const char *slash = strrchr(views[i]->path, '/');
        g_string_append_printf(all, "%s, ", slash ? slash + 1 : views[i]->path);
    }
    g_set_error(error, g_quark_from_static_string("tree"), 0,
                "there is no view called '%s'; the views are %slayers "
                "(tensors and export: all of theirs)",
                name, all->str);
}

bool tree_views_select(const char *list, bool *shown, bool *layers, GError **error)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(views); i++)
        shown[i] = list == NULL;
    *layers = list == NULL;
    if (!list)
        return true;

    g_auto(GStrv) names = g_strsplit(*list ? list : ",", ",", -1);
    for (char **name = names; *name; name++) {
        bool known = strcmp(*name, "layers") == 0;
        *layers = *layers || known;
        for (unsigned i = 0; i < G_N_ELEMENTS(views); i++) {
            if (is_named(views[i]->path, *name))
                shown[i] = known = true;
        }
        if (!known) {
            set_unknown(error, *name);
            return false;
        }
    }
    return true;
}
