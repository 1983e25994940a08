/* How a session talks to the kernel: what it asks of the connection, and its threads. Apart from
 * the server, so that the null filesystem of the benchmark does the same. */
#pragma once

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 14)
#include <fuse_lowlevel.h>

enum { TUNING_MAX_READ = 1 << 20 }; /* bytes that the kernel asks for at once, at most */

/* In the session's init. */
void tuning_connection(struct fuse_conn_info *conn);

/* For fuse_session_loop_mt; to be given to fuse_loop_cfg_destroy. NULL when there is no memory. */
struct fuse_loop_config *tuning_loop(void);
