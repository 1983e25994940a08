/* What the files of this folder share. */
#pragma once

#include <linux/limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "fuse/buffers.h"
#include "fuse/server.h"
#include "fuse/tuning.h"
#include "view/scratch.h"

enum {
    SERVER_BUFFER = TUNING_MAX_READ,
    THREAD_BUFFER = XATTR_SIZE_MAX,
};

/* What a thread works in, so that nothing is allocated on the way of a request. All zero at first.
 */
typedef struct {
    uint8_t buffer[THREAD_BUFFER]; /* for all but reads */
    view_scratch scratch;
} server_thread;

struct server {
    struct fuse_session *session;
    server_options options;
    server_thread *threads; /* by the loop's index, mapped before there are any */
    pthread_key_t thread;   /* the calling thread's */
    buffers buffers;        /* of SERVER_BUFFER bytes, for reads */
    tree *tree;
    view_model *model;
    const source_set *sources;
    struct loop *loop;
    struct ahead *ahead;
    atomic_bool *has_told;      /* one a shard: its change has been logged */
    _Atomic uint64_t *verdicts; /* one a shard: whether it is the same model, see reply.c */
    atomic_bool is_changed;     /* a source is not what it was, and may change while it is read */
};

/* The calling thread's. */
server_thread *server_thread_get(server *s);

/* What a file was opened as: fuse_file_info.fh. */
enum { OPENED_CACHED = 0, OPENED_DIRECT = 1 };

/* Remembers that there was a request now. */
void server_note_use(server *s);

/* The operations of ops.c. */
extern const struct fuse_lowlevel_ops server_ops;
void server_init(void *userdata, struct fuse_conn_info *conn);

/* Answers a read: read.c. */
void server_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                 struct fuse_file_info *fi);

/* Whether the last byte of a file of this size depends on bytes its source has lost since. */
bool server_lost_its_end(server *s, server_thread *thread, uint64_t ino, uint64_t size);
