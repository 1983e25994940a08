/* Nodes and their numbers; inside the tree only.
 *
 * A node is a kind, a number and an index, packed into the inode number: nothing is stored for it.
 * The exception are the few directories that follow from the views' paths. */
#pragma once

#include "tree/layers.h"
#include "tree/names.h"
#include "tree/tree.h"

typedef enum {
    NODE_DIR,        /* number: which of tree.dirs */
    NODE_FILE,       /* number: the view; index: the key or tensor */
    NODE_LAYER,      /* layers/<n>; index: the layer's position */
    NODE_LAYER_VIEW, /* layers/<n>/<view>; number: the view; index: the layer's position */
    NODE_LINK,       /* layers/<n>/<view>/<rest>; number: the view; index: the tensor */
} node_kind;

typedef struct {
    node_kind kind;
    unsigned number;
    uint64_t index;
} node;

typedef struct {
    const char *name; /* in the parent; owned by tree.names */
    node node;
} dir_entry;

typedef struct {
    GArray *entries; /* of dir_entry, in the order of the views */
    int view;        /* whose folder it is; -1: none's, it has entries or is `layers` */
    bool is_layers;
    unsigned parent; /* the root's own is the root */
} dir;

struct tree {
    view_model *model;        /* borrowed */
    const pn_gguf_file *gguf; /* borrowed */
    bool *is_shown;           /* a view's */
    GPtrArray *dirs;          /* of dir; 0 is the root */
    GStringChunk *names;
    tree_names *keys, *tensors;
    tree_layers *layers; /* NULL: not shown */
    unsigned layers_dir;
    uint64_t node_count; /* atomic; 0: not counted yet */
};

uint64_t node_ino(node n);

/* The node of a number; false for a number that is none. Touches no byte of the mapping. */
bool node_of(const tree *t, uint64_t ino, node *out);

tree_kind node_tree_kind(node n);

/* A directory that is made of entries or of a view's files; a view's folder in a layer. */
const dir *node_dir(const tree *t, node n);
bool tree_view_in_layers(const tree *t, unsigned view);

/* How many keys or tensors a view may have files of, and whether it has one of this. */
uint64_t tree_scope_count(const tree *t, view_scope scope);
bool tree_view_has(const tree *t, unsigned view, uint64_t index);

/* The file name of key or tensor `index` in a view's folder, and the way back. Touches the mapping.
 */
bool tree_file_name(const tree *t, unsigned view, uint64_t index, char out[TREE_NAME_MAX + 1]);
bool tree_find_file(const tree *t, unsigned view, const char *name, uint64_t *index);

/* The last part of a view's path. */
const char *tree_view_name(unsigned view);
