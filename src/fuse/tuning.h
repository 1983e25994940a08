/* What a session asks of the connection. Apart from the server, so that the null filesystem of the
 * benchmark asks the same. */
#pragma once

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 14)
#include <fuse_lowlevel.h>
#include <stdbool.h>

/* Bytes that the kernel asks for at once, at most. Of a megabyte, what is made and where it is
 * copied to do not stay in a processor's own cache: without the page cache NumPy arrays take a
 * sixth longer. With it fewer requests are better. */
enum { TUNING_MAX_READ = 1 << 20, TUNING_MAX_DIRECT_READ = 512 << 10 };

/* In the session's init. */
void tuning_connection(struct fuse_conn_info *conn, bool is_direct);
