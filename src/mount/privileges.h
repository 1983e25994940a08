/* Giving up what a process that reads a stranger's file does not need. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Closes every descriptor from 3 on but these; puts them in order. -1 is none. */
void privileges_keep_only(int *fds, size_t n);

/* Becomes nobody when it is root, drops all capabilities, and can never get any again. Logs, and
 * returns false, when that does not work. */
bool privileges_drop(void);
