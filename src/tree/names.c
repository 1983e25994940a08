/* File names of keys and tensors. A name that is not cut is its own index: decoded, it is found in
 * the parser's table. One that is cut holds a hash, and a small table here leads from that to the
 * index. Whatever was found counts only if its file name is the one asked for, byte for byte. */
#include "tree/names.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t index;
    uint64_t hash;
    uint32_t nth;
    bool is_hidden; /* another has the same file name */
} cut_name;

struct tree_names {
    const pn_gguf_file *gguf; /* borrowed */
    view_scope scope;
    GArray *cut;        /* of cut_name, by index */
    GPtrArray *by_hash; /* of cut_name in it, by hash, nth, index */
};

typedef struct {
    const char *bytes;
    uint64_t len;
    uint32_t nth;
} true_name;

static true_name name_of(const tree_names *names, uint64_t index)
{
    if (names->scope == VIEW_KEY) {
        pn_gguf_kv kv = pn_gguf_kv_at(names->gguf, index);
        return (true_name){kv.key, kv.key_len, kv.nth};
    }
    pn_gguf_tensor tensor = pn_gguf_tensor_at(names->gguf, index);
    return (true_name){tensor.name, tensor.name_len, tensor.nth};
}

static int by_hash_nth_index(const void *a, const void *b)
{
    const cut_name *x = *(const cut_name *const *)a, *y = *(const cut_name *const *)b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    if (x->nth != y->nth)
        return x->nth < y->nth ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void render(const tree_names *names, const cut_name *cut, const char *suffix, char *out)
{
    true_name name = name_of(names, cut->index);
    view_file_name_hashed(out, name.bytes, name.len, name.nth, suffix, cut->hash);
}

/* Half of a SHA-256's half can be made to collide by one who tries for long. Of such names the
 * first one is shown. */
static void hide_collisions(tree_names *names)
{
    for (guint i = 1; i < names->by_hash->len; i++) {
        cut_name *cut = g_ptr_array_index(names->by_hash, i);
        for (guint j = i; j-- > 0 && !cut->is_hidden;) {
            const cut_name *other = g_ptr_array_index(names->by_hash, j);
            char name[VIEW_NAME_MAX + 1], other_name[VIEW_NAME_MAX + 1];
            if (other->hash != cut->hash || other->nth != cut->nth)
                break;
            render(names, cut, NULL, name);
            render(names, other, NULL, other_name);
            cut->is_hidden = strcmp(name, other_name) == 0;
        }
    }
}

tree_names *tree_names_new(const pn_gguf_file *gguf, view_scope scope)
{
    tree_names *names = g_new0(tree_names, 1);
    uint64_t n = scope == VIEW_KEY ? gguf->n_kv : gguf->n_tensors;

    names->gguf = gguf;
    names->scope = scope;
    names->cut = g_array_new(FALSE, FALSE, sizeof(cut_name));
    names->by_hash = g_ptr_array_new();

    for (uint64_t i = 0; i < n; i++) {
        true_name name = name_of(names, i);
        if (!view_name_is_cut(name.bytes, name.len, name.nth))
            continue;
        cut_name cut = {i, view_name_hash(name.bytes, name.len), name.nth, false};
        g_array_append_val(names->cut, cut);
    }
    for (guint i = 0; i < names->cut->len; i++)
        g_ptr_array_add(names->by_hash, &g_array_index(names->cut, cut_name, i));
    g_ptr_array_sort(names->by_hash, by_hash_nth_index);
    hide_collisions(names);
    return names;
}

void tree_names_free(tree_names *names)
{
    if (!names)
        return;
    g_array_unref(names->cut);
    g_ptr_array_unref(names->by_hash);
    g_free(names);
}

static int compare_index(const void *a, const void *b)
{
    const cut_name *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

bool tree_names_at(const tree_names *names, uint64_t index, const char *suffix,
                   char out[VIEW_NAME_MAX + 1])
{
    cut_name key = {.index = index}, *cut;

    cut = names->cut->len == 0
              ? NULL
              : bsearch(&key, names->cut->data, names->cut->len, sizeof key, compare_index);
    if (cut) {
        render(names, cut, suffix, out);
        return !cut->is_hidden;
    }
    true_name name = name_of(names, index);
    view_file_name(out, name.bytes, name.len, name.nth, suffix);
    return true;
}

/* The first in by_hash that is not before (hash, nth). */
static guint lower_bound(const tree_names *names, uint64_t hash, uint32_t nth)
{
    const cut_name key = {.hash = hash, .nth = nth}, *key_at = &key;
    guint from = 0, to = names->by_hash->len;

    while (from < to) {
        guint middle = from + (to - from) / 2;
        if (by_hash_nth_index(&names->by_hash->pdata[middle], &key_at) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool has_name(const tree_names *names, uint64_t index, const char *suffix,
                     const char *file_name)
{
    char name[VIEW_NAME_MAX + 1];
    return tree_names_at(names, index, suffix, name) && strcmp(name, file_name) == 0;
}

bool tree_names_find(const tree_names *names, const char *file_name, const char *suffix,
                     uint64_t *index)
{
    view_name parsed;
    if (!view_name_parse(file_name, suffix, &parsed))
        return false;

    if (!parsed.is_cut) {
        bool found =
            names->scope == VIEW_KEY
                ? pn_gguf_find_kv(names->gguf, parsed.bytes, parsed.len, parsed.nth, index)
                : pn_gguf_find_tensor(names->gguf, parsed.bytes, parsed.len, parsed.nth, index);
        return found && has_name(names, *index, suffix, file_name);
    }

    for (guint i = lower_bound(names, parsed.hash, parsed.nth); i < names->by_hash->len; i++) {
        const cut_name *cut = g_ptr_array_index(names->by_hash, i);
        if (cut->hash != parsed.hash || cut->nth != parsed.nth)
            break;
        if (has_name(names, cut->index, suffix, file_name)) {
            *index = cut->index;
            return true;
        }
    }
    return false;
}
