/* The mount itself, which libfuse makes: as root by a system call, else through fusermount3. */
#pragma once

#include <glib.h>

/* Mounts on point, with these options: a descriptor of /dev/fuse, or -1. What libfuse or
 * fusermount3 has to say is appended to said, its lines joined by "; ". */
int channel_open(const char *point, const char *options, GString *said);
