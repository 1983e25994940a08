/* The table of layers: the tensors sorted by layer, and where each layer begins. */
#include "tree/layers.h"

#include <string.h>

typedef struct {
    uint32_t number;
    uint32_t first; /* in tensors */
    uint32_t count;
} layer;

struct tree_layers {
    GArray *layers;    /* of layer, by number */
    uint32_t *tensors; /* by layer, then index */
};

typedef struct {
    uint32_t number, tensor;
} member;

bool tree_layer_parse(const char *text, size_t len, uint32_t *number)
{
    uint32_t n = 0;

    if (len == 0 || len > TREE_LAYER_DIGITS || (text[0] == '0' && len > 1))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!g_ascii_isdigit(text[i]))
            return false;
        n = n * 10 + (uint32_t)(text[i] - '0');
    }
    *number = n;
    return true;
}

bool tree_layer_of(const char *name, uint64_t len, uint32_t *number)
{
    enum { PREFIX = 4, MAX = PREFIX + TREE_LAYER_DIGITS + 1 };
    char start[MAX];

    if (len < PREFIX)
        return false;
    size_t there = MIN(len, MAX);
    memcpy(start, name, there);
    const char *dot = memchr(start + PREFIX, '.', there - PREFIX);
    if (memcmp(start, "blk.", PREFIX) != 0 || !dot ||
        !tree_layer_parse(start + PREFIX, (size_t)(dot - start) - PREFIX, number))
        return false;

    const char *rest = name + (dot + 1 - start);
    uint64_t rest_len = len - (uint64_t)(dot + 1 - start);
    return rest_len > 2 || (rest_len > 0 && memcmp(rest, "..", rest_len) != 0);
}

static int compare_members(const void *a, const void *b)
{
    const member *x = a, *y = b;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

tree_layers *tree_layers_new(const pn_gguf_file *gguf)
{
    tree_layers *layers = g_new0(tree_layers, 1);
    g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(member));

    for (uint64_t i = 0; i < MIN(gguf->n_tensors, UINT32_MAX); i++) {
        pn_gguf_tensor tensor = pn_gguf_tensor_at(gguf, i);
        member m = {.tensor = (uint32_t)i};
        if (tree_layer_of(tensor.name, tensor.name_len, &m.number))
            g_array_append_val(members, m);
    }
    g_array_sort(members, compare_members);

    layers->layers = g_array_new(FALSE, FALSE, sizeof(layer));
    layers->tensors = g_new(uint32_t, members->len);
    for (guint i = 0; i < members->len; i++) {
        const member *m = &g_array_index(members, member, i);
        layer new = {m->number, i, 0};
        guint n = layers->layers->len;
        if (n == 0 || g_array_index(layers->layers, layer, n - 1).number != m->number)
            g_array_append_val(layers->layers, new);
        g_array_index(layers->layers, layer, layers->layers->len - 1).count++;
        layers->tensors[i] = m->tensor;
    }
    return layers;
}

void tree_layers_free(tree_layers *layers)
{
    if (!layers)
        return;
    g_array_unref(layers->layers);
    g_free(layers->tensors);
    g_free(layers);
}

uint64_t tree_layers_count(const tree_layers *layers)
{
    return layers->layers->len;
}

uint32_t tree_layers_number(const tree_layers *layers, uint64_t position)
{
    return g_array_index(layers->layers, layer, position).number;
}

bool tree_layers_find(const tree_layers *layers, uint32_t number, uint64_t *position)
{
    guint from = 0, to = layers->layers->len;

    while (from < to) {
        guint middle = from + (to - from) / 2;
        if (tree_layers_number(layers, middle) < number)
            from = middle + 1;
        else
            to = middle;
    }
    *position = from;
    return from < layers->layers->len && tree_layers_number(layers, from) == number;
}

bool tree_layers_tensor(const tree_layers *layers, uint64_t position, uint64_t i, uint64_t *index)
{
    const layer *l = &g_array_index(layers->layers, layer, position);
    if (i >= l->count)
        return false;
    *index = layers->tensors[l->first + i];
    return true;
}
