/* What is asked of the kernel. */
#include "fuse/tuning.h"

#include <stddef.h>
#include <stdint.h>

enum {
    MAX_BACKGROUND = 128, /* read-ahead requests under way, of all readers */
};

/* From 3.17 on the capabilities have 64 bits, and calls of their own to set them. Asking for one
 * that the kernel has not got ends the session in earlier versions. */
static void want(struct fuse_conn_info *conn, uint64_t capability, bool wanted)
{
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
    if (!wanted)
        fuse_unset_feature_flag(conn, capability);
    else if (conn->capable_ext & capability)
        fuse_set_feature_flag(conn, capability);
#else
    if (!wanted)
        conn->want &= ~(unsigned)capability;
    else if (conn->capable & capability)
        conn->want |= (unsigned)capability;
#endif
}

void tuning_connection(struct fuse_conn_info *conn, bool is_direct)
{
    unsigned max_read = is_direct ? TUNING_MAX_DIRECT_READ : TUNING_MAX_READ;
    /* Sizes and times never change, so the kernel need not look for changes; volatile files, and
     * all files of a source that changed, drop their pages when they are opened. */
    want(conn, FUSE_CAP_AUTO_INVAL_DATA, false);
    want(conn, FUSE_CAP_READDIRPLUS, true);
    want(conn, FUSE_CAP_READDIRPLUS_AUTO, true);
    want(conn, FUSE_CAP_PARALLEL_DIROPS, true);
    want(conn, FUSE_CAP_CACHE_SYMLINKS, true);
    want(conn, FUSE_CAP_ASYNC_READ, true);
    want(conn, FUSE_CAP_ASYNC_DIO, true);
#ifdef FUSE_CAP_DIRECT_IO_ALLOW_MMAP
    want(conn, FUSE_CAP_DIRECT_IO_ALLOW_MMAP, true); /* shared mappings of files never cached */
#endif
    if (conn->max_write > max_read) /* which limits reads as well */
        conn->max_write = max_read;
    conn->max_background = MAX_BACKGROUND;
}
