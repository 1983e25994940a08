/* The threads that take the kernel's requests: loop.c says how many, and when. Knows libfuse's
 * session, not what is served. */
#pragma once

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 14)
#include <fuse_lowlevel.h>
#include <stdbool.h>

/* One that is stuck holds its thread. */
enum { LOOP_MAX_THREADS = 63 };

typedef struct loop loop;

/* Learns what it has to know of the machine: to be called before the process is confined. NULL when
 * there is no memory. */
loop *loop_new(void);
void loop_free(loop *l);

/* From here on requests are answered. The session is borrowed. Each thread begins by calling
 * prepare (NULL: nothing is to be prepared) with its index, below LOOP_MAX_THREADS, which no other
 * has as long as it is there, and serves only if that gives true. False when there can be no
 * thread. */
bool loop_start(loop *l, struct fuse_session *session, bool (*prepare)(void *user, unsigned index),
                void *user);

/* To be called next: returns when the file system is unmounted; 0, or an errno. */
int loop_run(loop *l);

/* Whether one thread serves all requests at the moment, and so gets the next one too. */
bool loop_is_single(const loop *l);

/* Brackets what a thread does for a request that it expects: one that comes meanwhile does not wait
 * in vain. */
void loop_work_ahead(loop *l, bool begins);
