/* The calls on the tree: finding, listing, reading. Knows nothing of what the views contain. */
#include "tree/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tree/nodes.h"
#include "tree/views.h"

/* Of layers/<n>/<view>/<rest>: the file name in the view's folder is this, and the link's. */
static int layer_prefix(char out[TREE_NAME_MAX + 1], uint32_t number)
{
    return snprintf(out, TREE_NAME_MAX + 1, "blk.%" PRIu32 ".", number);
}

static bool find_entry(const dir *d, const char *name, node *out)
{
    for (guint i = 0; i < d->entries->len; i++) {
        const dir_entry *entry = &g_array_index(d->entries, dir_entry, i);
        if (strcmp(entry->name, name) == 0) {
            *out = entry->node;
            return true;
        }
    }
    return false;
}

static bool find_in_dir(const tree *t, const dir *d, const char *name, node *out)
{
    uint32_t layer;

    if (d->view >= 0) {
        *out = (node){.kind = NODE_FILE, .number = (unsigned)d->view};
        return tree_find_file(t, out->number, name, &out->index);
    }
    if (d->is_layers) {
        *out = (node){.kind = NODE_LAYER};
        return tree_layer_parse(name, strlen(name), &layer) &&
               tree_layers_find(t->layers, layer, &out->index);
    }
    return find_entry(d, name, out);
}

static bool find_layer_view(const tree *t, node layer, const char *name, node *out)
{
    for (unsigned i = 0; i < tree_view_count(); i++) {
        if (tree_view_in_layers(t, i) && strcmp(tree_view_name(i), name) == 0) {
            *out = (node){NODE_LAYER_VIEW, i, layer.index};
            return true;
        }
    }
    return false;
}

static bool belongs_to_layer(const tree *t, uint64_t index, uint32_t number)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(t->gguf, index);
    uint32_t own;
    return tree_layer_of(tensor.name, tensor.name_len, &own) && own == number;
}

static bool find_link(const tree *t, node folder, const char *name, node *out)
{
    char full[TREE_NAME_MAX + 1];
    uint32_t number = tree_layers_number(t->layers, folder.index);
    size_t len = (size_t)layer_prefix(full, number);

    *out = (node){.kind = NODE_LINK, .number = folder.number};
    return g_strlcpy(full + len, name, sizeof full - len) < sizeof full - len &&
           tree_find_file(t, folder.number, full, &out->index) &&
           belongs_to_layer(t, out->index, number);
}

/* What "." and ".." are; false for other names. */
static bool find_dots(const tree *t, node of, const char *name, node *out)
{
    *out = of;
    if (strcmp(name, ".") == 0)
        return true;
    if (strcmp(name, "..") != 0)
        return false;

    if (of.kind == NODE_LAYER_VIEW)
        *out = (node){.kind = NODE_LAYER, .index = of.index};
    else
        *out = (node){.kind = NODE_DIR,
                      .number = of.kind == NODE_LAYER ? t->layers_dir : node_dir(t, of)->parent};
    return true;
}

static int find(const tree *t, node parent, const char *name, node *out)
{
    bool found = false;

    if (node_tree_kind(parent) == TREE_DIR && find_dots(t, parent, name, out))
        return 0;

    switch (parent.kind) {
    case NODE_DIR:
        found = find_in_dir(t, node_dir(t, parent), name, out);
        break;
    case NODE_LAYER:
        found = find_layer_view(t, parent, name, out);
        break;
    case NODE_LAYER_VIEW:
        found = find_link(t, parent, name, out);
        break;
    case NODE_FILE:
    case NODE_LINK:
        return ENOTDIR;
    }
    return found ? 0 : ENOENT;
}

int tree_lookup(tree *t, uint64_t dir_ino, const char *name, uint64_t *ino)
{
    node parent, child;
    if (!node_of(t, dir_ino, &parent))
        return ENOENT;

    int result = find(t, parent, name, &child);
    if (result == 0)
        *ino = node_ino(child);
    return result;
}

int tree_resolve(tree *t, const char *path, uint64_t *ino)
{
    char name[TREE_NAME_MAX + 1];
    int result = 0;

    *ino = TREE_ROOT;
    for (path += strspn(path, "/"); *path && result == 0; path += strspn(path, "/")) {
        size_t len = strcspn(path, "/");
        if (len > TREE_NAME_MAX)
            return ENAMETOOLONG;
        memcpy(name, path, len);
        name[len] = '\0';
        path += len;
        result = tree_lookup(t, *ino, name, ino);
    }
    return result;
}

/* The next of a view's files at or after *index. */
static bool next_file(const tree *t, unsigned number, uint64_t *index, char *name)
{
    uint64_t count = tree_scope_count(t, tree_view_at(number)->scope);

    for (; *index < count; ++*index) {
        if (tree_view_has(t, number, *index) && tree_file_name(t, number, *index, name))
            return true;
    }
    return false;
}

static bool list_dir(const tree *t, const dir *d, uint64_t *cookie, char *name, node *out)
{
    if (d->view >= 0) {
        *out = (node){.kind = NODE_FILE, .number = (unsigned)d->view};
        if (!next_file(t, out->number, cookie, name))
            return false;
        out->index = *cookie;
        return true;
    }
    if (d->is_layers) {
        if (*cookie >= tree_layers_count(t->layers))
            return false;
        *out = (node){.kind = NODE_LAYER, .index = *cookie};
        snprintf(name, TREE_NAME_MAX + 1, "%" PRIu32, tree_layers_number(t->layers, *cookie));
        return true;
    }
    if (*cookie >= d->entries->len)
        return false;
    const dir_entry *entry = &g_array_index(d->entries, dir_entry, *cookie);
    *out = entry->node;
    g_strlcpy(name, entry->name, TREE_NAME_MAX + 1);
    return true;
}

static bool list_layer(const tree *t, node layer, uint64_t *cookie, char *name, node *out)
{
    for (; *cookie < tree_view_count(); ++*cookie) {
        unsigned number = (unsigned)*cookie;
        if (tree_view_in_layers(t, number)) {
            *out = (node){NODE_LAYER_VIEW, number, layer.index};
            g_strlcpy(name, tree_view_name(number), TREE_NAME_MAX + 1);
            return true;
        }
    }
    return false;
}

static bool list_links(const tree *t, node folder, uint64_t *cookie, char *name, node *out)
{
    char full[TREE_NAME_MAX + 1];
    size_t prefix = (size_t)layer_prefix(full, tree_layers_number(t->layers, folder.index));
    uint64_t index;

    for (; tree_layers_tensor(t->layers, folder.index, *cookie, &index); ++*cookie) {
        if (!tree_view_has(t, folder.number, index) ||
            !tree_file_name(t, folder.number, index, full) || strlen(full) <= prefix)
            continue;
        *out = (node){NODE_LINK, folder.number, index};
        g_strlcpy(name, full + prefix, TREE_NAME_MAX + 1);
        return true;
    }
    return false;
}

int tree_readdir(tree *t, uint64_t dir_ino, uint64_t *cookie, char name[TREE_NAME_MAX + 1],
                 uint64_t *ino, tree_kind *kind)
{
    node parent, child;
    bool found = false;
    if (!node_of(t, dir_ino, &parent))
        return ENOENT;

    switch (parent.kind) {
    case NODE_DIR:
        found = list_dir(t, node_dir(t, parent), cookie, name, &child);
        break;
    case NODE_LAYER:
        found = list_layer(t, parent, cookie, name, &child);
        break;
    case NODE_LAYER_VIEW:
        found = list_links(t, parent, cookie, name, &child);
        break;
    case NODE_FILE:
    case NODE_LINK:
        return ENOTDIR;
    }
    if (!found)
        return ENOENT;
    ++*cookie;
    *ino = node_ino(child);
    *kind = node_tree_kind(child);
    return 0;
}

static uint64_t count_sub_dirs(const tree *t, node n)
{
    uint64_t count = 0;

    if (n.kind == NODE_LAYER) {
        for (unsigned i = 0; i < tree_view_count(); i++)
            count += tree_view_in_layers(t, i);
    } else if (n.kind == NODE_DIR && node_dir(t, n)->is_layers) {
        count = tree_layers_count(t->layers);
    } else if (n.kind == NODE_DIR) {
        const GArray *entries = node_dir(t, n)->entries;
        for (guint i = 0; i < entries->len; i++)
            count += g_array_index(entries, dir_entry, i).node.kind == NODE_DIR;
    }
    return count;
}

/* From layers/<n>/<view>/ to the file in the view's folder. */
static int link_target(const tree *t, node link, char *buffer, size_t size)
{
    char name[TREE_NAME_MAX + 1];
    if (!tree_file_name(t, link.number, link.index, name))
        return ENOENT;
    int len = snprintf(buffer, size, "../../../%s/%s", tree_view_at(link.number)->path, name);
    return (size_t)len < size ? 0 : ENAMETOOLONG;
}

int tree_readlink(tree *t, uint64_t ino, char *buffer, size_t size)
{
    node n;
    if (!node_of(t, ino, &n))
        return ENOENT;
    return n.kind == NODE_LINK ? link_target(t, n, buffer, size) : EINVAL;
}

static int stat_file(tree *t, node n, view_scratch *scratch, tree_stat *out)
{
    const view *v = tree_view_at(n.number);

    out->is_volatile = v->is_volatile;
    if (v->scope == VIEW_TENSOR)
        out->shard = pn_gguf_tensor_at(t->gguf, n.index).shard;

    int result = v->size(t->model, n.index, scratch, &out->size);
    out->is_cut = v->is_cut && v->is_cut(t->model, n.index);
    return result;
}

static int stat_link(const tree *t, node n, tree_stat *out)
{
    char target[2 * TREE_NAME_MAX];
    int result = link_target(t, n, target, sizeof target);
    if (result == 0)
        out->size = strlen(target);
    return result;
}

int tree_getattr(tree *t, uint64_t ino, view_scratch *scratch, tree_stat *out)
{
    node n;
    if (!node_of(t, ino, &n))
        return ENOENT;

    *out = (tree_stat){.kind = node_tree_kind(n), .n_links = 1, .shard = t->gguf->kv_shard};
    if (n.kind == NODE_FILE)
        return stat_file(t, n, scratch, out);
    if (n.kind == NODE_LINK)
        return stat_link(t, n, out);
    out->n_links = 2 + count_sub_dirs(t, n);
    return 0;
}

bool tree_is_sized(const tree *t, uint64_t ino)
{
    node n;
    if (!node_of(t, ino, &n) || n.kind != NODE_FILE)
        return true;
    const view *v = tree_view_at(n.number);
    return !v->is_sized || v->is_sized(t->model, n.index);
}

int tree_read(tree *t, uint64_t ino, uint64_t offset, void *buffer, size_t len,
              view_scratch *scratch, view_piece *piece)
{
    node n;
    if (!node_of(t, ino, &n))
        return ENOENT;
    if (n.kind != NODE_FILE)
        return n.kind == NODE_LINK ? EINVAL : EISDIR;

    *piece = (view_piece){0};
    if (len == 0)
        return 0;
    return tree_view_at(n.number)->read(t->model, n.index, offset, buffer, len, scratch, piece);
}

static uint64_t count_nodes(const tree *t)
{
    uint64_t count = t->dirs->len, in_layers = 0;

    for (unsigned i = 0; i < tree_view_count(); i++) {
        in_layers += tree_view_in_layers(t, i);
        for (uint64_t j = 0; j < tree_scope_count(t, tree_view_at(i)->scope); j++)
            count += tree_view_has(t, i, j);
    }
    uint64_t n_layers = t->layers ? tree_layers_count(t->layers) : 0, index;
    for (uint64_t layer = 0; layer < n_layers; layer++) {
        count += 1 + in_layers;
        for (uint64_t i = 0; tree_layers_tensor(t->layers, layer, i, &index); i++)
            for (unsigned v = 0; v < tree_view_count(); v++)
                count += tree_view_in_layers(t, v) && tree_view_has(t, v, index);
    }
    return count;
}

uint64_t tree_node_count(tree *t)
{
    uint64_t count = __atomic_load_n(&t->node_count, __ATOMIC_RELAXED);
    if (count == 0) {
        count = count_nodes(t);
        __atomic_store_n(&t->node_count, count, __ATOMIC_RELAXED);
    }
    return count;
}
