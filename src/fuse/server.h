/* Serving a tree through /dev/fuse, on a descriptor that somebody else has mounted.
 *
 * In two steps, since creating the session opens files and serving must not: server_new before the
 * process gives up its privileges, server_run after. Everything that the tree shows is fixed while
 * it is mounted, so the kernel caches all of it for ever; the exceptions are named in ops.c.
 *
 * Says what it has to say through fuse_log(). Knows no options, no processes, no mount points. */
#pragma once

#include "fuse/source.h"
#include "tree/tree.h"

#include <stdatomic.h>

typedef struct server server;

typedef enum {
    CACHE_AUTO,   /* pages stay with the kernel from open to open, unless the source changes */
    CACHE_ALWAYS, /* also then */
    CACHE_NEVER,  /* every read comes here: direct_io */
} server_cache;

typedef struct {
    bool debug; /* log every request */
    bool has_uid, has_gid;
    uid_t uid; /* instead of the source's owner */
    gid_t gid;
    mode_t fmask; /* bits that files and directories are denied */
    mode_t dmask;
    server_cache cache;
    _Atomic int64_t *last_request; /* gets the monotonic time of each, microseconds; NULL: none */
    void (*ready)(void *user);     /* called once, when requests are answered */
    void *user;
} server_options;

/* channel is an open descriptor: /dev/fuse, or a placeholder that becomes it (dup3) before
 * server_run. The server takes it over. options are copied. NULL when there is no memory. */
server *server_new(int channel, const server_options *options);
void server_free(server *s);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(server, server_free)

/* Serves until it is unmounted; 0, or an errno. All are borrowed. */
int server_run(server *s, tree *t, view_model *model, const source_set *sources);
