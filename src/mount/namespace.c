/* Entering a mount namespace. The programs and libraries in it need not be ours: nothing is run
 * there but what is loaded already. */
#include "mount/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static void make_absolute(char **path)
{
    if (*path == NULL)
        return;
    char *absolute = g_canonicalize_filename(*path, NULL);
    g_free(*path);
    *path = absolute;
}

bool namespace_enter(options *o, GError **error)
{
    make_absolute(&o->file); /* entering makes the root there the current directory */
    make_absolute(&o->dir);
    make_absolute(&o->pidfile);
    int fd = open(o->mount_namespace, O_RDONLY | O_CLOEXEC);
    int e = fd < 0 || setns(fd, CLONE_NEWNS) < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    if (e == 0)
        return true;
    g_set_error(error, MOUNT_ERROR, (int)mount_error_of(e),
                "%s: this mount namespace cannot be entered: %s", o->mount_namespace, strerror(e));
    return false;
}
