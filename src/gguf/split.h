/* The names of the files of a split set: PREFIX-%05d-of-%05d.gguf. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* The most files of a set. */
enum { PN_SPLIT_MAX = 65535 };

/* What a path says: prefix_len bytes of it are PREFIX, `no` counts from 0. False when it is not
 * named like a file of a set. The metadata decide what the file is; the name locates its siblings.
 */
bool pn_split_parse(const char *path, size_t *prefix_len, unsigned *no, unsigned *count);

/* The path of shard `no` (from 0) of `count` beside the one at path, as given: no link is followed.
 * NULL, with a sentence in error, when path has no such name, or that of a set of another count. */
char *pn_split_sibling(const char *path, unsigned no, unsigned count, GError **error);
