/* What a session asks of the connection. Apart from the server, so that the null filesystem of the
 * benchmark asks the same. */
#pragma once

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 14)
#include <fuse_lowlevel.h>

enum { TUNING_MAX_READ = 1 << 20 }; /* bytes that the kernel asks for at once, at most */

/* In the session's init. */
void tuning_connection(struct fuse_conn_info *conn);
