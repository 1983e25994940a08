/* What a reader will ask for next, made before it asks. */
#pragma once

#include "fuse/reply.h"

typedef struct ahead ahead;

/* NULL when there is no memory. */
ahead *ahead_new(void);
void ahead_free(ahead *a);

/* Answers a read if what it asks for is made, and still what the source says. */
bool ahead_answer(ahead *a, fuse_req_t req, uint64_t ino, uint64_t offset, size_t size);

/* After a read was answered: makes what follows it, if the reader goes through the file in order
 * and the calling thread has nothing better to do. */
void ahead_go_on(ahead *a, server *s, server_thread *thread, uint64_t ino, uint64_t offset,
                 size_t size);
