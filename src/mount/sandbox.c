/* Two walls around the worker, each enough for most of what it must not do: Landlock takes the file
 * system and the network away, seccomp all system calls but those on the list.
 *
 * Both, since neither is whole: io_uring goes round seccomp, and Landlock leaves processes alone.
 * A call that is not on the list raises SIGSYS, whose handler logs its number and ends the process;
 * the supervisor unmounts then. */
#include "mount/sandbox.h"

#include "mount/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <malloc.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ── Landlock ── */

/* The kernel's structure as it has grown: earlier versions take a prefix of it. */
typedef struct {
    uint64_t fs;
    uint64_t net;    /* version 4 */
    uint64_t scoped; /* version 6 */
} ruleset;

/* What version `abi` can forbid; all of it is forbidden. */
static ruleset everything(long abi)
{
    static const int fs_rights[] = {0, 13, 14, 15, 15, 16}; /* by version, how many bits */
    int bits = fs_rights[MIN(abi, (long)G_N_ELEMENTS(fs_rights) - 1)];
    return (ruleset){
        .fs = (UINT64_C(1) << bits) - 1,
        .net = abi >= 4 ? 3 : 0,    /* bind and connect TCP */
        .scoped = abi >= 6 ? 3 : 0, /* abstract sockets and signals */
    };
}

static bool enter_landlock(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 1) {
        log_send(LOG_LEVEL_INFO, "this kernel has no Landlock: going on without it");
        return true;
    }
    ruleset rules = everything(abi);
    size_t size = abi >= 6   ? sizeof rules
                  : abi >= 4 ? offsetof(ruleset, scoped)
                             : offsetof(ruleset, net);
    int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    bool entered = fd >= 0 && syscall(SYS_landlock_restrict_self, fd, 0) == 0;
    if (!entered)
        log_send(LOG_LEVEL_ERROR, "Landlock failed: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return entered;
}

/* ── seccomp ── */

static void on_forbidden(int sig, siginfo_t *info, void *context)
{
    enum { BY_FILTER = 1 }; /* SYS_SECCOMP; else kill(2) sent it */
    if (info->si_code == BY_FILTER)
        log_send(LOG_LEVEL_ERROR, "the worker made the forbidden system call %d, and is ended",
                 info->si_syscall);
    raise(SIGSYS); /* die of it, so that the supervisor sees which it was */
    _exit(128 + sig);
}

static const int allowed[] = {
    /* requests, log lines, messages; --print */
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(poll), /* whether more requests wait */
    SCMP_SYS(ppoll),
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendmsg),
    SCMP_SYS(close),
    SCMP_SYS(dup3),
    /* sizes and times of the source: fstat, in glibc's various spellings */
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(fstatat64),
    SCMP_SYS(fstat64),
    SCMP_SYS(lseek), /* … and the size where fstat is denied */
    SCMP_SYS(_llseek),
    /* memory */
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(sysinfo), /* qsort, before it allocates */
    /* threads */
    SCMP_SYS(futex),
    SCMP_SYS(futex_time64),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(restart_syscall),
    /* signals: the gate, abort, cancelling threads */
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(tgkill),
    /* the clock where the vdso has none, and the seeds of hash tables */
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_gettime64),
    SCMP_SYS(getrandom),
};

/* The calls that are allowed with some arguments only: memory never becomes code, a new task is a
 * thread, and a thread may get a name. */
static int add_conditions(scmp_filter_ctx filter)
{
    const scmp_datum_t thread_flags = CLONE_VM | CLONE_THREAD;
#ifdef __s390x__
    const unsigned flags_at = 1;
#else
    const unsigned flags_at = 0;
#endif
    const struct {
        int call;
        struct scmp_arg_cmp when;
    } rules[] = {
        {SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
        {SCMP_SYS(mmap2), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
        {SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
        {SCMP_SYS(clone), {flags_at, SCMP_CMP_MASKED_EQ, thread_flags, thread_flags}},
        {SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME, 0)},
    };
    int error = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(rules) && error == 0; i++)
        error = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rules[i].call, 1, &rules[i].when);
    /* Its arguments are in memory, where a filter cannot look; glibc falls back to clone. */
    if (error == 0)
        error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    return error;
}

static bool enter_seccomp(void)
{
    struct sigaction action = {.sa_sigaction = on_forbidden,
                               .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGSYS, &action, NULL);

    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_TRAP);
    if (filter == NULL)
        return false;
    int error = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(allowed) && error == 0; i++)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
    if (error == 0)
        error = add_conditions(filter);
    if (error == 0)
        error = seccomp_load(filter);
    seccomp_release(filter);
    if (error == -EINVAL || error == -ENOSYS || error == -EOPNOTSUPP) {
        log_send(LOG_LEVEL_INFO, "this kernel has no seccomp filters: going on without them");
        return true;
    }
    if (error != 0)
        log_send(LOG_LEVEL_ERROR, "seccomp failed: %s", strerror(-error));
    return error == 0;
}

/* glibc opens files when threads make it create arenas (to count the processors) and shrink them
 * (to see how memory is overcommitted). With one arena it does neither. */
static bool settle_malloc(void)
{
    return mallopt(M_ARENA_MAX, 1) == 1;
}

bool sandbox_enter(void)
{
    return settle_malloc() && enter_landlock() && enter_seccomp();
}
