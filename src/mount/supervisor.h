/* The process that stays outside: it opens files and the mount for the worker, says what the worker
 * says, and unmounts when the worker ends. */
#pragma once

#include "mount/options.h"

/* Mounts, or prints, as the options say. Returns the program's exit status: in the background when
 * the mount is there, in the foreground when it has ended. */
int supervisor_run(const options *o);
