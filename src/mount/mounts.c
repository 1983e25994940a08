/* /proc/self/mountinfo, and unmounting. No descriptor inside a mount outlives its function. */
#include "mount/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_place(const char *dir)
{
    return open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The mount that an open descriptor is on: -1 when the kernel does not tell. */
static int64_t mount_id_of(int fd)
{
    char path[64];
    g_autofree char *text = NULL;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return -1;
    const char *field = strstr(text, "mnt_id:");
    return field != NULL ? g_ascii_strtoll(field + strlen("mnt_id:"), NULL, 10) : -1;
}

/* Since Linux 6.8 a mount has a number that is never used again, and can be asked for by it: newer
 * than the headers that this is built with. */
enum { MOUNT_ID_UNIQUE = 0x4000, SYSCALL_STATMOUNT = 457, STATMOUNT_BASIC = 2 };

static uint64_t unique_id_of(int fd)
{
    struct statx st;
    bool known = statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, MOUNT_ID_UNIQUE, &st) == 0 &&
                 (st.stx_mask & MOUNT_ID_UNIQUE) != 0;
    return known ? st.stx_mnt_id : 0;
}

/* Whether it is there; an errno when the kernel cannot tell. */
static int find_unique(uint64_t unique, bool *is_there)
{
    const struct {
        uint32_t size, spare;
        uint64_t id, asked;
    } request = {sizeof request, 0, unique, STATMOUNT_BASIC};
    uint64_t answer[128]; /* a struct statmount */
    if (unique == 0)
        return ENODATA;
    *is_there = syscall(SYSCALL_STATMOUNT, &request, answer, sizeof answer, 0) == 0;
    return *is_there || errno == ENOENT ? 0 : errno;
}

/* Undoes the octal escapes of the table, in place. */
static void unescape(char *text)
{
    char *out = text;
    for (const char *in = text; *in != '\0';) {
        if (in[0] == '\\' && in[1] != '\0' && in[2] != '\0' && in[3] != '\0') {
            *out++ = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
            in += 4;
        } else {
            *out++ = *in++;
        }
    }
    *out = '\0';
}

/* One line: "36 35 98:0 /root /point options optional... - type source super". */
static bool parse_line(char *line, mount_entry *out, char **point)
{
    g_auto(GStrv) fields = g_strsplit(line, " ", -1);
    if (g_strv_length(fields) < 10 || sscanf(fields[2], "%u:%u", &out->major, &out->minor) != 2)
        return false;
    out->id = g_ascii_strtoll(fields[0], NULL, 10);
    unescape(fields[4]);
    size_t i = 6;
    while (fields[i] != NULL && strcmp(fields[i], "-") != 0)
        i++;
    if (fields[i] == NULL || fields[i + 1] == NULL)
        return false;
    g_strlcpy(out->type, fields[i + 1], sizeof out->type);
    *point = g_strdup(fields[4]);
    return true;
}

/* The entry with this id; point may be NULL. */
static bool find_id(int64_t id, mount_entry *out, char **point)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents("/proc/self/mountinfo", &text, NULL, NULL))
        return false;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (size_t i = 0; lines[i] != NULL; i++) {
        g_autofree char *here = NULL;
        mount_entry entry = {0};
        if (!parse_line(lines[i], &entry, &here) || entry.id != id)
            continue;
        *out = entry;
        if (point != NULL)
            *point = g_steal_pointer(&here);
        return true;
    }
    return false;
}

/* Where it is now, which is dir unless a directory above it has been renamed. */
static char *place_now(const char *dir, const mount_entry *entry)
{
    g_autofree char *point = NULL;
    mount_entry now = {0};
    if (find_id(entry->id, &now, &point) && now.major == entry->major && now.minor == entry->minor)
        return g_steal_pointer(&point);
    return g_strdup(dir);
}

int mounts_at(const char *dir, mount_entry *out)
{
    int fd = open_place(dir);
    if (fd < 0)
        return errno;
    int64_t id = mount_id_of(fd);
    uint64_t unique = unique_id_of(fd);
    close(fd);
    g_autofree char *point = NULL;
    if (id < 0 || !find_id(id, out, &point))
        return ENODATA;
    out->is_root = strcmp(point, dir) == 0;
    out->unique = unique;
    return 0;
}

bool mounts_exists(const mount_entry *entry)
{
    mount_entry now = {0};
    bool is_there;
    if (find_unique(entry->unique, &is_there) == 0)
        return is_there;
    if (access("/proc/self/mountinfo", R_OK) != 0)
        return true;
    return find_id(entry->id, &now, NULL) && now.major == entry->major && now.minor == entry->minor;
}

/* stat may be answered from the cache, statfs never is; and never at all where a file system hangs:
 * then only its end frees who asked, so a child asks. */
bool mounts_is_dead(const char *dir)
{
    enum { PATIENCE = 2 }; /* seconds */
    pid_t child = fork();
    if (child < 0)
        return false;
    if (child == 0) {
        sigset_t none;
        struct statfs st;
        sigemptyset(&none);
        signal(SIGALRM, SIG_DFL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        alarm(PATIENCE);
        _exit(statfs(dir, &st) < 0 && (errno == ENOTCONN || errno == ECONNABORTED));
    }
    int status;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return false;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

bool mounts_is_successor(const char *dir, const mount_entry *entry)
{
    g_autofree char *place = place_now(dir, entry);
    mount_entry now;
    return mounts_at(place, &now) == 0 && now.id == entry->id && !mounts_is_dead(place);
}

/* As an ordinary user: fusermount3 is set-uid root, and checks on its own whose the mount is. */
static int unmount_by_helper(const char *dir, bool lazily)
{
    const char *how = lazily ? "-uzq" : "-uq";
    pid_t child = fork();
    if (child < 0)
        return errno;
    if (child == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execlp("fusermount3", "fusermount3", how, "--", dir, (char *)NULL);
        execl("/usr/bin/fusermount3", "fusermount3", how, "--", dir, (char *)NULL);
        _exit(127);
    }
    int status;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return errno;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : EPERM;
}

int mounts_detach(const char *dir, const mount_entry *entry)
{
    if (!mounts_exists(entry))
        return EINVAL;
    g_autofree char *place = place_now(dir, entry);
    int fd = open_place(place);
    if (fd < 0)
        return errno;
    bool is_on_top = mount_id_of(fd) == entry->id;
    int error = is_on_top ? 0 : ESTALE;
    if (is_on_top && geteuid() == 0) {
        char path[64]; /* the very mount that was looked at, whatever happens there meanwhile */
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        error = umount2(path, MNT_DETACH) < 0 ? errno : 0;
    }
    close(fd);
    if (is_on_top && (geteuid() != 0 || error == EPERM))
        error = unmount_by_helper(place, true);
    return error;
}

int mounts_unmount(const char *dir, const mount_entry *entry)
{
    g_autofree char *place = place_now(dir, entry);
    mount_entry top;
    int error = mounts_at(place, &top); /* leaves nothing open in there: that would be a use */
    if (error == 0 && (top.id != entry->id || top.unique != entry->unique ||
                       top.major != entry->major || top.minor != entry->minor))
        error = ESTALE;
    if (error != 0)
        return error;
    if (geteuid() != 0)
        return unmount_by_helper(place, false);
    return umount2(place, UMOUNT_NOFOLLOW) < 0 ? errno : 0;
}
