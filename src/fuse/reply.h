/* What the kernel asked for of a file, put together from pieces of views. */
#pragma once

#include "fuse/internal.h"

#include <sys/uio.h>

enum {
    REPLY_SEGMENTS = 600, /* of 1 MiB: 256 direct ones, and one of the buffer around each */
    REPLY_CLAIMS = 64,
};

/* The bytes of the reply from `from` on depend on this much of a source. */
typedef struct {
    size_t from;
    unsigned shard;
    uint64_t source_end;
} claim;

typedef enum { CLAIM_HOLDS, CLAIM_UNSURE, CLAIM_LOST } claim_state;

typedef struct {
    server *s;
    server_thread *thread;
    uint8_t *buffer; /* of SERVER_BUFFER bytes */
    uint64_t ino;
    uint64_t offset;
    size_t filled;   /* bytes of the reply so far, … */
    size_t buffered; /* … of which this many are in the buffer */
    bool copies;     /* all of it goes through the buffer: a source was changed */
    bool is_due;     /* it is sent now: what goes to the kernel from the mapping is in memory */
    struct iovec segments[REPLY_SEGMENTS];
    int n_segments;
    claim claims[REPLY_CLAIMS];
    unsigned n_claims;
    bool has_dropped;    /* earlier claims, for which there was no room, … */
    claim_state dropped; /* … and the worst of them, when there was none any more */
} reply;

/* All of len bytes from r->offset on, or up to the end of the file; an errno when a byte cannot be
 * had. They are the source's, or it is EIO. The caller has set s to offset. */
int reply_fill(reply *r, size_t len);

/* As reply_fill, but rather few bytes than an error. */
int reply_fill_some(reply *r, size_t len);

/* As reply_fill, of a source that has not changed, without a look whether it has: reply_holds is
 * to be asked before the reply is sent. */
int reply_prepare(reply *r, size_t len);
bool reply_holds(const reply *r);

void reply_send(const reply *r, fuse_req_t req);
