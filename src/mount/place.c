/* Making, locking and removing the directory that is mounted on. */
#include "mount/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_CLASHES = 100,
    LEAVING_TRIES = 50,
    LEAVING_PAUSE = 5000, /* µs */
    TURN_TRIES = 200,
    TURN_PAUSE = 10000, /* µs */
};

static char *name_of(const char *file)
{
    char *name = g_path_get_basename(file);
    if (strlen(name) > strlen(".gguf") && g_str_has_suffix(name, ".gguf"))
        name[strlen(name) - strlen(".gguf")] = '\0';
    return name;
}

bool place_has_contents(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    return dir != NULL && g_dir_read_name(dir) != NULL;
}

/* Whether it may be what a mount that has just ended is about to remove. */
static bool may_vanish(const char *path)
{
    struct statx st;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0)
        return errno == ENOENT;
    if (!S_ISDIR(st.stx_mode) || (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
        return false;
    return !place_has_contents(path);
}

static int make(const char *path)
{
    return mkdir(path, 0777) < 0 ? errno : 0;
}

char *place_make(const char *file, GError **error)
{
    g_autofree char *name = name_of(file);
    g_autofree char *path = g_strdup(name);
    int e = make(path);
    for (int i = 0; e == EEXIST && i < LEAVING_TRIES && may_vanish(path); i++) {
        g_usleep(LEAVING_PAUSE);
        e = make(path);
    }
    for (int i = 1; e == EEXIST && i < MOST_CLASHES; i++) {
        g_free(path);
        path = g_strdup_printf("%s (%d)", name, i);
        e = make(path);
    }
    char *real = e == 0 ? realpath(path, NULL) : NULL;
    if (e == 0 && real == NULL)
        e = errno;
    if (real == NULL)
        g_set_error(error, MOUNT_ERROR, (int)mount_error_of(e),
                    "%s: this directory could not be made to mount on (%s); name another as DIR",
                    path, strerror(e));
    return real;
}

int place_open(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void place_wait_for_turn(int place)
{
    for (int i = 0; place >= 0 && flock(place, LOCK_EX | LOCK_NB) < 0 && i < TURN_TRIES; i++)
        g_usleep(TURN_PAUSE);
}

void place_leave(int place)
{
    if (place < 0)
        return;
    flock(place, LOCK_UN); /* the process that waits for us has it open too */
    close(place);
}

void place_remove(const char *path)
{
    rmdir(path);
}
