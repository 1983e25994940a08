/* The command line: that of a person, and that of mount(8). */
#pragma once

#include "fuse/server.h"
#include "mount/error.h"

typedef enum { ACTION_MOUNT, ACTION_PRINT, ACTION_HELP, ACTION_VERSION } action;

typedef struct {
    action action;
    char *file;
    char *dir;        /* ACTION_MOUNT; NULL: one is made, and removed in the end */
    char *print_path; /* ACTION_PRINT */

    bool foreground;
    bool is_fake;          /* mount(8)'s -f: do everything but mount */
    int verbosity;         /* -1 with -q, 1 with -v, 2 with -d */
    char *pidfile;         /* NULL: none */
    char *mount_namespace; /* mount(8)'s -N: a path, to mount in there; NULL */
    unsigned idle_timeout; /* seconds without a request until it unmounts itself; 0: never */

    bool strict;
    bool partial;
    bool sandbox;
    char *views; /* NULL: all */

    bool allow_other;
    unsigned readahead; /* KiB; 0: as the kernel has it */
    bool has_readahead;
    char *fsname;    /* NULL: the file's path */
    GString *kernel; /* what else the mount is made with: ",noexec,noatime" */
    server_options server;
} options;

/* A sentence in error, and false, when it cannot be understood. */
bool options_parse(options *o, int argc, char **argv, GError **error);
void options_clear(options *o);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(options, options_clear)

/* The text of --help. */
extern const char options_help[];
