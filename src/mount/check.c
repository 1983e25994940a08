/* Sentences for a file or a mount point that will not do. */
#include "mount/check.h"

#include "mount/mounts.h"
#include "mount/place.h"
#include "mount/words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

G_DEFINE_QUARK(mount - error - quark, mount_error)

mount_error mount_error_of(int error)
{
    switch (error) {
    case EACCES:
    case EPERM:
        return MOUNT_USAGE;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return MOUNT_SYSTEM;
    default:
        return MOUNT_FAILURE;
    }
}

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a directory";
    case S_IFIFO:
        return "a pipe";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    default:
        return "no regular file";
    }
}

int check_open_file(const char *path, GError **error)
{
    /* O_NONBLOCK: opening a pipe would wait for a writer. It means nothing to a regular file. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        int e = errno;
        if (e == ENOENT)
            g_set_error(error, MOUNT_ERROR, MOUNT_FAILURE, "%s: there is no such file", path);
        else if (e == EACCES)
            g_set_error(error, MOUNT_ERROR, MOUNT_USAGE,
                        "%s: you have no permission to read it, or to a directory on the way",
                        path);
        else
            g_set_error(error, MOUNT_ERROR, (int)mount_error_of(e), "%s: it cannot be opened: %s",
                        path, strerror(e));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (!S_ISREG(st.st_mode)) {
        g_set_error(error, MOUNT_ERROR, MOUNT_FAILURE, "%s: it is %s, a model is a file", path,
                    kind_of(st.st_mode));
        close(fd);
        return -1;
    }
    return fd;
}

bool check_order(const char *file, const char *dir, GError **error)
{
    if (!g_file_test(file, G_FILE_TEST_IS_DIR) || !g_file_test(dir, G_FILE_TEST_IS_REGULAR))
        return true;
    g_autofree char *model = shell_word(dir);
    g_autofree char *point = shell_word(file);
    g_set_error(error, MOUNT_ERROR, MOUNT_USAGE,
                "%s: it is a directory, a model is a file; did you mean: mount.gguf %s %s", file,
                model, point);
    return false;
}

static void warn_of_contents(const char *dir, log_sink *log)
{
    if (place_has_contents(dir))
        log_say(log, LOG_LEVEL_WARNING,
                "%s: it is not empty; what is in it is hidden while the model is mounted", dir);
}

static bool fail(GError **error, const char *dir, int e)
{
    g_autofree char *word = shell_word(dir);
    if (e == ENOENT)
        g_set_error(error, MOUNT_ERROR, MOUNT_FAILURE,
                    "%s: there is no such directory; make it with: mkdir -p %s", dir, word);
    else if (e == ENOTDIR)
        g_set_error(error, MOUNT_ERROR, MOUNT_FAILURE,
                    "%s: it is not a directory, so nothing can be mounted there", dir);
    else if (e == ENOTCONN || e == ECONNABORTED)
        g_set_error(
            error, MOUNT_ERROR, MOUNT_FAILURE,
            "%s: a dead mount is in the way (its program ended without unmounting it); clear "
            "it with: %s %s",
            dir, geteuid() == 0 ? "umount -l" : "fusermount3 -uz", word);
    else
        g_set_error(error, MOUNT_ERROR, (int)mount_error_of(e),
                    "%s: nothing can be mounted there: %s", dir, strerror(e));
    return false;
}

bool check_free(const char *dir, GError **error)
{
    mount_entry there;
    if (mounts_at(dir, &there) != 0 || !there.is_root)
        return true;
    if (mounts_is_dead(dir))
        return fail(error, dir, ENOTCONN);
    g_set_error(error, MOUNT_ERROR, MOUNT_FAILURE,
                "%s: something is mounted there already (%s); unmount it first, or choose "
                "another directory",
                dir, there.type);
    return false;
}

static bool check_place(const char *dir, GError **error)
{
    struct stat st;
    /* First, since the mount of another user cannot be looked at, not even by root. */
    if (!check_free(dir, error))
        return false;
    if (stat(dir, &st) < 0)
        return fail(error, dir, errno);
    if (!S_ISDIR(st.st_mode))
        return fail(error, dir, ENOTDIR);
    if (geteuid() != 0 && access(dir, W_OK) < 0) {
        if (!check_free(dir, error)) /* by now */
            return false;
        g_set_error(error, MOUNT_ERROR, MOUNT_USAGE,
                    "%s: you may not mount there: a directory that you may write to is needed",
                    dir);
        return false;
    }
    return true;
}

char *check_mount_point(const char *dir, log_sink *log, GError **error)
{
    char *path = realpath(dir, NULL);
    if (path == NULL) {
        fail(error, dir, errno);
        return NULL;
    }
    if (!check_place(path, error)) {
        free(path);
        return NULL;
    }
    warn_of_contents(path, log);
    return path;
}

bool check_proc(GError **error)
{
    if (access("/proc/self/mountinfo", R_OK) == 0)
        return true;
    g_set_error(error, MOUNT_ERROR, MOUNT_SYSTEM,
                "/proc is not there, which tells what is mounted; it is needed to unmount again: "
                "mount -t proc proc /proc");
    return false;
}

bool check_device(GError **error)
{
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    int e = errno;
    if (fd >= 0) {
        close(fd);
        return true;
    }
    if (e == ENOENT || e == ENODEV || e == ENXIO)
        g_set_error(error, MOUNT_ERROR, MOUNT_SYSTEM,
                    "the kernel has no FUSE here (/dev/fuse: %s); load it with: modprobe fuse",
                    strerror(e));
    else
        g_set_error(error, MOUNT_ERROR, (int)mount_error_of(e), "/dev/fuse cannot be opened: %s%s",
                    strerror(e), e == EACCES ? "; root must let you use it" : "");
    return false;
}
