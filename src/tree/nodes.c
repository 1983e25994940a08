/* The directories that follow from the views' paths, and the packing of inode numbers: four bits of
 * kind, twelve of number, 48 of index; a directory's is its number, the root's being 1. */
#include "tree/nodes.h"

#include <string.h>

#include "tree/views.h"

enum { INDEX_BITS = 48, NUMBER_BITS = 12 };

uint64_t node_ino(node n)
{
    if (n.kind == NODE_DIR)
        return TREE_ROOT + n.number;
    return (uint64_t)n.kind << (INDEX_BITS + NUMBER_BITS) | (uint64_t)n.number << INDEX_BITS |
           n.index;
}

bool node_of(const tree *t, uint64_t ino, node *out)
{
    if (ino >= TREE_ROOT && ino - TREE_ROOT < t->dirs->len) {
        *out = (node){NODE_DIR, (unsigned)(ino - TREE_ROOT), 0};
        return true;
    }

    node n = {
        .kind = (node_kind)(ino >> (INDEX_BITS + NUMBER_BITS)),
        .number = (unsigned)(ino >> INDEX_BITS & ((1U << NUMBER_BITS) - 1)),
        .index = ino & ((UINT64_C(1) << INDEX_BITS) - 1),
    };
    *out = n;

    switch (n.kind) {
    case NODE_DIR:
        break;
    case NODE_FILE:
        return tree_view_has(t, n.number, n.index);
    case NODE_LAYER:
        return n.number == 0 && t->layers && n.index < tree_layers_count(t->layers);
    case NODE_LAYER_VIEW:
        return tree_view_in_layers(t, n.number) && n.index < tree_layers_count(t->layers);
    case NODE_LINK:
        return tree_view_in_layers(t, n.number) && tree_view_has(t, n.number, n.index);
    }
    return false;
}

tree_kind node_tree_kind(node n)
{
    return n.kind == NODE_FILE ? TREE_FILE : n.kind == NODE_LINK ? TREE_LINK : TREE_DIR;
}

const dir *node_dir(const tree *t, node n)
{
    return g_ptr_array_index(t->dirs, n.number);
}

uint64_t tree_scope_count(const tree *t, view_scope scope)
{
    switch (scope) {
    case VIEW_MODEL:
        break;
    case VIEW_KEY:
        return t->gguf->n_kv;
    case VIEW_TENSOR:
        return t->gguf->n_tensors;
    }
    return 1;
}

bool tree_view_has(const tree *t, unsigned number, uint64_t index)
{
    const view *v = tree_view_at(number);
    return v && t->is_shown[number] && index < tree_scope_count(t, v->scope) &&
           (!v->has || v->has(t->model, index));
}

bool tree_view_in_layers(const tree *t, unsigned number)
{
    const view *v = tree_view_at(number);
    return t->layers && v && t->is_shown[number] && v->scope == VIEW_TENSOR;
}

const char *tree_view_name(unsigned number)
{
    const char *path = tree_view_at(number)->path, *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const tree_names *names_of(const tree *t, const view *v)
{
    return v->scope == VIEW_KEY ? t->keys : t->tensors;
}

bool tree_file_name(const tree *t, unsigned number, uint64_t index, char out[TREE_NAME_MAX + 1])
{
    const view *v = tree_view_at(number);
    return tree_names_at(names_of(t, v), index, v->suffix, out);
}

bool tree_find_file(const tree *t, unsigned number, const char *name, uint64_t *index)
{
    const view *v = tree_view_at(number);
    return tree_names_find(names_of(t, v), name, v->suffix, index) &&
           tree_view_has(t, number, *index);
}

static void dir_free(void *data)
{
    dir *d = data;
    g_array_unref(d->entries);
    g_free(d);
}

static unsigned add_dir(tree *t, dir new)
{
    new.entries = g_array_new(FALSE, FALSE, sizeof(dir_entry));
    g_ptr_array_add(t->dirs, g_memdup2(&new, sizeof new));
    return t->dirs->len - 1;
}

static void add_entry(tree *t, unsigned parent, const char *name, node n)
{
    dir *d = g_ptr_array_index(t->dirs, parent);
    dir_entry entry = {g_string_chunk_insert(t->names, name), n};
    g_array_append_val(d->entries, entry);
}

/* The sub-directory called name, made when it is not there. */
static unsigned sub_dir(tree *t, unsigned parent, const char *name)
{
    const dir *d = g_ptr_array_index(t->dirs, parent);
    for (guint i = 0; i < d->entries->len; i++) {
        const dir_entry *entry = &g_array_index(d->entries, dir_entry, i);
        if (strcmp(entry->name, name) == 0)
            return entry->node.number;
    }
    unsigned number = add_dir(t, (dir){.view = -1, .parent = parent});
    add_entry(t, parent, name, (node){.kind = NODE_DIR, .number = number});
    return number;
}

static void add_view(tree *t, unsigned number)
{
    const view *v = tree_view_at(number);
    g_auto(GStrv) parts = g_strsplit(v->path, "/", -1);
    unsigned parent = 0, i = 0;

    for (; parts[i + 1]; i++)
        parent = sub_dir(t, parent, parts[i]);

    node n = {.kind = NODE_FILE, .number = number};
    if (v->scope != VIEW_MODEL) {
        n.kind = NODE_DIR;
        n.number = add_dir(t, (dir){.view = (int)number, .parent = parent});
    }
    add_entry(t, parent, parts[i], n);
}

/* Behind the gate, and it owns memory all the same: a source that fails here fails the mount, and
 * the process ends. */
tree *tree_new(view_model *model, const char *list, GError **error)
{
    g_autoptr(tree) t = g_new0(tree, 1);
    bool has_layers;

    t->model = model;
    t->gguf = view_model_gguf(model);
    t->is_shown = g_new0(bool, tree_view_count());
    t->dirs = g_ptr_array_new_with_free_func(dir_free);
    t->names = g_string_chunk_new(256);
    if (!tree_views_select(list, t->is_shown, &has_layers, error))
        return NULL;

    add_dir(t, (dir){.view = -1});
    for (unsigned i = 0; i < tree_view_count(); i++) {
        if (t->is_shown[i])
            add_view(t, i);
    }
    if (has_layers) {
        t->layers_dir = add_dir(t, (dir){.view = -1, .is_layers = true});
        add_entry(t, 0, "layers", (node){.kind = NODE_DIR, .number = t->layers_dir});
        t->layers = tree_layers_new(t->gguf);
    }
    t->keys = tree_names_new(t->gguf, VIEW_KEY);
    t->tensors = tree_names_new(t->gguf, VIEW_TENSOR);
    return g_steal_pointer(&t);
}

void tree_free(tree *t)
{
    if (!t)
        return;
    tree_names_free(t->keys);
    tree_names_free(t->tensors);
    tree_layers_free(t->layers);
    g_string_chunk_free(t->names);
    g_ptr_array_unref(t->dirs);
    g_free(t->is_shown);
    g_free(t);
}
