/* The command line: any words are understood, or refused with a sentence. */
#include <string.h>

#include "fuzz.h"
#include "mount/options.h"
#include "tree/views.h"

enum { MAX_WORDS = 32 };

/* What each action needs is there. */
static void check_options(const options *o)
{
    g_assert_nonnull(o->kernel);
    if (o->action == ACTION_HELP || o->action == ACTION_VERSION)
        return;
    g_assert_nonnull(o->file);
    if (o->action == ACTION_PRINT)
        g_assert_nonnull(o->print_path);
    g_assert_cmpuint(o->server.fmask, <=, 0777);
    g_assert_cmpuint(o->server.dmask, <=, 0777);
    g_assert_true(o->server.uid != UINT32_MAX && o->server.gid != UINT32_MAX);
}

/* The views that were asked for exist, or are refused. */
static void select_views(const char *list)
{
    g_autofree bool *shown = g_new0(bool, tree_view_count());
    g_autoptr(GError) error = NULL;
    bool layers;

    if (!tree_views_select(list, shown, &layers, &error))
        g_assert_nonnull(error);
}

/* Words that each end in NUL. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_malloc0(size + 1);
    char *argv[MAX_WORDS + 2] = {(char *)"mount.gguf"};
    int argc = 1;
    g_autoptr(GError) error = NULL;
    g_auto(options) o = {0};

    if (size > 0)
        memcpy(text, data, size);
    for (size_t at = 0; at < size && argc <= MAX_WORDS; at += strlen(text + at) + 1)
        argv[argc++] = text + at;

    bool understood = options_parse(&o, argc, argv, &error);
    g_assert_true(understood == (error == NULL));
    if (understood) {
        check_options(&o);
        select_views(o.views);
    } else {
        g_assert_true(*error->message != '\0');
    }
    return 0;
}
