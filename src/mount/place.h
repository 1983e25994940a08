/* A mount point of our own, when none is named: a new directory where the user stands. */
#pragma once

#include "mount/error.h"

/* Makes a directory named like the file without its .gguf, or with " (1)" behind it where there is
 * such a thing already. Its real path, to be freed; NULL. */
char *place_make(const char *file, GError **error);

/* Removes it, unless something is in it. */
void place_remove(const char *path);
