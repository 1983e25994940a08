/* Descriptors, user, group and capabilities of the worker. */
#include "mount/privileges.h"

#include "mount/log.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static void close_from_to(unsigned first, unsigned last)
{
    if (first > last || close_range(first, last, 0) == 0)
        return;
    long limit = sysconf(_SC_OPEN_MAX); /* before Linux 5.9 */
    for (unsigned fd = first; fd <= last && fd < (unsigned long)limit; fd++)
        close((int)fd);
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

void privileges_keep_only(int *fds, size_t n)
{
    qsort(fds, n, sizeof *fds, by_number);
    unsigned next = STDERR_FILENO + 1;
    for (size_t i = 0; i < n; i++) {
        if (fds[i] < (int)next)
            continue;
        if (fds[i] > (int)next)
            close_from_to(next, (unsigned)fds[i] - 1);
        next = (unsigned)fds[i] + 1;
    }
    close_from_to(next, ~0u);
}

static bool become_nobody(void)
{
    const struct passwd *nobody = getpwnam("nobody");
    uid_t uid = nobody != NULL && nobody->pw_uid != 0 ? nobody->pw_uid : NOBODY;
    gid_t gid = nobody != NULL && nobody->pw_gid != 0 ? nobody->pw_gid : NOBODY;
    if (setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0)
        return true;
    /* Root of a user namespace that has no nobody is no root outside, and loses its capabilities
     * below. */
    if (errno == EINVAL || errno == EPERM) {
        log_send(LOG_LEVEL_INFO, "there is no user nobody here; the worker keeps its user");
        return true;
    }
    log_send(LOG_LEVEL_ERROR, "the worker could not become nobody: %s", strerror(errno));
    return false;
}

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* since Linux 4.3 */
    if (syscall(SYS_capset, &header, none) == 0)
        return true;
    log_send(LOG_LEVEL_ERROR, "the worker could not drop its capabilities: %s", strerror(errno));
    return false;
}

bool privileges_drop(void)
{
    if (geteuid() == 0 && !become_nobody())
        return false;
    if (!drop_capabilities())
        return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        log_send(LOG_LEVEL_ERROR, "the worker could not set no_new_privs: %s", strerror(errno));
        return false;
    }
    return true;
}
