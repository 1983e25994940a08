/* Making the mount, and catching what is said of it: fusermount3 and libfuse write to stderr, and a
 * person needs one sentence. */
#include "mount/channel.h"

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 14)
#include <fuse.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* stderr, put aside. Without descriptors for that all goes on, and what is said goes to stderr. */
typedef struct {
    int before; /* -1: nothing is caught */
    int caught;
} caught_stderr;

static caught_stderr catch_stderr(void)
{
    caught_stderr c = {-1, memfd_create("stderr", MFD_CLOEXEC)};
    if (c.caught >= 0)
        c.before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (c.before >= 0)
        dup2(c.caught, STDERR_FILENO);
    return c;
}

static void give_back(caught_stderr *c, GString *said)
{
    char text[1024];
    if (c->before >= 0) {
        ssize_t n = pread(c->caught, text, sizeof text - 1, 0);
        text[MAX(n, 0)] = '\0';
        g_auto(GStrv) lines = g_strsplit(g_strstrip(text), "\n", -1);
        for (size_t i = 0; lines[i] != NULL; i++) {
            if (i == 0 || strcmp(lines[i], lines[i - 1]) != 0) /* libfuse tries twice */
                g_string_append_printf(said, "%s%s", i > 0 ? "; " : "", lines[i]);
        }
        dup2(c->before, STDERR_FILENO);
        close(c->before);
    }
    if (c->caught >= 0)
        close(c->caught);
}

int channel_open(const char *point, const char *options, GString *said)
{
    caught_stderr c = catch_stderr();
    int device = fuse_open_channel(point, options);
    give_back(&c, said);
    return device;
}
