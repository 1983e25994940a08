/* Which tensors belong to which layer: those called `blk.<n>.<rest>`, n in decimal without leading
 * zeros, rest neither empty nor "." nor "..", so that it can be the name of a link. Costs four
 * bytes a tensor. */
#pragma once

#include <pantheon/gguf.h>

typedef struct tree_layers tree_layers;

/* Touches the mapping. */
tree_layers *tree_layers_new(const pn_gguf_file *gguf);
void tree_layers_free(tree_layers *layers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(tree_layers, tree_layers_free)

/* Layers are counted by position, in order of their number. */
uint64_t tree_layers_count(const tree_layers *layers);
uint32_t tree_layers_number(const tree_layers *layers, uint64_t position);
bool tree_layers_find(const tree_layers *layers, uint32_t number, uint64_t *position);

/* The i-th tensor of a layer, in file order; false past the last. */
bool tree_layers_tensor(const tree_layers *layers, uint64_t position, uint64_t i, uint64_t *index);

/* The number in a layer's name, and the layer that a tensor's name belongs to. */
enum { TREE_LAYER_DIGITS = 9 };
bool tree_layer_parse(const char *text, size_t len, uint32_t *number);
bool tree_layer_of(const char *name, uint64_t len, uint32_t *number);
