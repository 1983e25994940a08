/* The namespace: which nodes there are, what they are called, what they contain. Inode numbers are
 * computed (a view and an index), so the tree costs no memory a node, and every call is O(1) in the
 * number of tensors.
 *
 * Knows nothing of the kernel: an errno and plain structs. Calls marked GATE touch the mapping and
 * must be made through the guarded gate (they hold no lock and own no memory there). */
#pragma once

#include "view/model.h"

enum { TREE_ROOT = 1, TREE_NAME_MAX = 255 };

typedef struct tree tree;

typedef enum { TREE_DIR, TREE_FILE, TREE_LINK } tree_kind;

typedef struct {
    tree_kind kind;
    uint64_t size;
    uint64_t n_links; /* 2 + sub-directories for a directory, else 1 */
    unsigned shard;   /* whose owner, mode and times it has */
    bool is_cut;      /* part of it is EIO: open with direct_io */
    bool is_volatile; /* do not cache */
} tree_stat;

/* model is borrowed. views: a comma-separated list of the names of views to show, NULL for all; an
 * unknown name is an error. GATE */
tree *tree_new(view_model *model, const char *views, GError **error);
void tree_free(tree *t);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(tree, tree_free)

/* The node called name in dir, "." and ".." included; ENOENT, ENOTDIR. GATE */
int tree_lookup(tree *t, uint64_t dir, const char *name, uint64_t *ino);

/* ENOENT for a number that is no node. GATE (size of a text) */
int tree_getattr(tree *t, uint64_t ino, view_scratch *scratch, tree_stat *out);

/* Whether tree_getattr is quick: false where it would have to render a text (view.is_sized). Needs
 * no gate. */
bool tree_is_sized(const tree *t, uint64_t ino);

/* The entry at *cookie (0: the first; then as left by the call before): its name (NUL-terminated),
 * number and kind, without
 * "." and "..". Sets *cookie to the next. ENOENT past the last. Every cookie stays valid. GATE */
int tree_readdir(tree *t, uint64_t dir, uint64_t *cookie, char name[TREE_NAME_MAX + 1],
                 uint64_t *ino, tree_kind *kind);

/* As view.read. GATE */
int tree_read(tree *t, uint64_t ino, uint64_t offset, void *buffer, size_t len,
              view_scratch *scratch, view_piece *piece);

/* The target of a link, NUL-terminated. GATE */
int tree_readlink(tree *t, uint64_t ino, char *buffer, size_t size);

/* The names of ino's extended attributes, each followed by NUL, into buffer; *len is the full
 * length. ERANGE when it does not fit (size 0 asks for the length). tree_getxattr: likewise the
 * value of one; ENODATA. GATE */
int tree_listxattr(tree *t, uint64_t ino, char *buffer, size_t size, size_t *len);
int tree_getxattr(tree *t, uint64_t ino, const char *name, char *buffer, size_t size, size_t *len);

/* The node at a path relative to the root, "/" and "" being the root. GATE */
int tree_resolve(tree *t, const char *path, uint64_t *ino);

/* Numbers for statfs: nodes in all, bytes of the source. */
uint64_t tree_node_count(tree *t);
