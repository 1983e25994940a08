/* The directory that is mounted on: one of our own, when none is named, and one process at a time.
 */
#pragma once

#include "mount/error.h"

#include <stdbool.h>

/* Whether something is seen to be in a directory. */
bool place_has_contents(const char *path);

/* Makes a directory named like the file without its .gguf, or with " (1)" behind it where there is
 * such a thing already. Its real path, to be freed; NULL. */
char *place_make(const char *file, GError **error);

/* Opens a directory that nothing is mounted on yet, to wait there for one's turn: of several that
 * want to mount on it, one looks and mounts while the others wait. -1 when it may not be read; then
 * nobody waits. */
int place_open(const char *path);

/* Waits no longer than two seconds, since anybody who may read the directory can hold it. */
void place_wait_for_turn(int place);

/* Lets the next one go on, and closes it. */
void place_leave(int place);

/* Removes it, unless something is in it. */
void place_remove(const char *path);
