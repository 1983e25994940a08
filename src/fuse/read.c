/* Answering a read, and making the next one ready: a reader that goes through a file in order finds
 * what it asks for made, since it was made while the reader had the part before in hand. */
#include "fuse/ahead.h"
#include "fuse/loop.h"
#include "fuse/reply.h"

#include <errno.h>

static void answer(server *s, server_thread *thread, fuse_req_t req, uint64_t ino, size_t size,
                   uint64_t offset, bool is_whole)
{
    reply r;
    r.s = s;
    r.thread = thread;
    r.buffer = buffers_take(&s->buffers);
    r.ino = ino;
    r.offset = offset;
    int error = 0;
    if (size > SERVER_BUFFER)
        error = EINVAL; /* not what was agreed on */
    else if (r.buffer == NULL)
        error = ENOMEM;
    else
        error = is_whole ? reply_fill(&r, size) : reply_fill_some(&r, size);

    if (error != 0)
        fuse_reply_err(req, error);
    else
        reply_send(&r, req);
    if (r.buffer != NULL)
        buffers_give(&s->buffers, r.buffer);
}

void server_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                 struct fuse_file_info *fi)
{
    server *s = fuse_req_userdata(req);
    server_thread *thread = server_thread_get(s);
    /* What fills the kernel's pages, as for sendfile and private mappings, names no owner; there a
     * short reply would be taken for the end of the file. */
    bool is_whole = fi->fh != OPENED_DIRECT || fi->lock_owner == 0;
    if (!(is_whole && ahead_answer(s->ahead, req, ino, (uint64_t)offset, size)))
        answer(s, thread, req, ino, size, (uint64_t)offset, is_whole);
    if (is_whole)
        ahead_go_on(s->ahead, s, thread, ino, (uint64_t)offset, size);
}

bool server_lost_its_end(server *s, server_thread *thread, uint64_t ino, uint64_t size)
{
    reply r;
    r.s = s;
    r.thread = thread;
    r.buffer = thread->buffer;
    r.ino = ino;
    r.offset = size > 0 ? size - 1 : 0;
    return size > 0 && !(reply_fill(&r, 1) == 0 && r.filled == 1);
}
