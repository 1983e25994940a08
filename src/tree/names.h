/* The file names of all keys, or of all tensors: from index to name and back. Costs memory only for
 * names that are so long that they are cut (view/name.h). */
#pragma once

#include "view/name.h"
#include "view/view.h"

typedef struct tree_names tree_names;

/* scope: VIEW_KEY or VIEW_TENSOR; gguf is borrowed. Touches the mapping. */
tree_names *tree_names_new(const pn_gguf_file *gguf, view_scope scope);
void tree_names_free(tree_names *names);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(tree_names, tree_names_free)

/* The file name of key or tensor `index`; false when it has none, since another has it already: two
 * names that are cut at the same place and whose hashes are equal. Touches the mapping. */
bool tree_names_at(const tree_names *names, uint64_t index, const char *suffix,
                   char out[VIEW_NAME_MAX + 1]);

/* The index of the one that has this file name, exactly so spelled. Touches the mapping. */
bool tree_names_find(const tree_names *names, const char *file_name, const char *suffix,
                     uint64_t *index);
