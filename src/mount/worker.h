/* The process that reads the file: it has given everything up before it looks at the first byte. */
#pragma once

#include "mount/options.h"

typedef struct {
    const options *options;
    int source;                    /* the file */
    int socket;                    /* to the supervisor */
    int log;                       /* the pipe */
    _Atomic int64_t *last_request; /* of server_options */
} worker_plan;

/* In the process after the fork; never returns. */
G_NORETURN void worker_main(const worker_plan *plan);
