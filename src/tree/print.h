/* Writes a virtual file, or a directory's listing, to a descriptor: the tree without a kernel. */
#pragma once

#include "tree/tree.h"

/* How a call is made that may touch the mapping: guard_run, or in tests a plain call. */
typedef int (*tree_gate)(int (*fn)(void *arg), void *arg);

/* A plain call, for sources that cannot fail. */
int tree_no_gate(int (*fn)(void *arg), void *arg);

/* Writes what is at path ("/" and "" being the root): a file's bytes, or the names in a directory,
 * one a line, directories with a '/' behind them; links are followed. Not for use behind the gate.
 * 0, or an errno: ENOENT for a path that is not there, EIO for bytes that the source does not have
 * (those before them have been written), or what write(2) gave. */
int tree_print(tree *t, const char *path, int fd, tree_gate gate);
