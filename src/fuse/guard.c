/* The guarded gate: a touch of a mapped source that fails becomes EIO.
 *
 * guard_run leaves a jump buffer in a thread-local; the handler jumps there when the address that
 * faulted lies in a registered mapping, and otherwise hands the signal back to whoever had it
 * before (the default action, or a sanitizer's report). The function is never inlined, so no
 * variable of the caller lives in a register across the jump.
 *
 * Knows nothing of what is read, nor from where. */
#include "fuse/guard.h"

#include "fuse/sanitized.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Saving the signal mask costs twenty times the rest of the gate, and with SA_NODEFER there is
 * nothing to restore. ThreadSanitizer blocks signals around handlers on its own, and needs it. */
enum { SAVES_MASK = UNDER_TSAN };

enum { MAX_MAPPINGS = 65536 }; /* split.count is 16 bits wide */

typedef struct {
    uintptr_t start;
    size_t size;
} mapping;

/* Written before there are threads, then read only. */
static mapping mappings[MAX_MAPPINGS];
static size_t n_mappings;
static struct sigaction previous_bus, previous_segv;

static _Thread_local sigjmp_buf *volatile landing;

static bool is_mapped(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    for (size_t i = 0; i < n_mappings; i++) {
        if (at >= mappings[i].start && at - mappings[i].start < mappings[i].size)
            return true;
    }
    return false;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    sigjmp_buf *jump = landing;
    bool is_fault = info->si_code > 0; /* not sent by kill(2) */
    if (jump != NULL && is_fault && is_mapped(info->si_addr)) {
        landing = NULL;
        siglongjmp(*jump, 1);
    }
    sigaction(sig, sig == SIGBUS ? &previous_bus : &previous_segv, NULL);
    if (!is_fault)
        raise(sig);
    /* A fault happens again on return, and then finds the action restored. */
}

int guard_install(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, &previous_bus) < 0 ||
        sigaction(SIGSEGV, &action, &previous_segv) < 0)
        return errno;
    return 0;
}

int guard_add(const void *data, size_t size)
{
    if (size == 0)
        return 0;
    if (n_mappings == MAX_MAPPINGS)
        return ENOSPC;
    mappings[n_mappings++] = (mapping){(uintptr_t)data, size};
    return 0;
}

__attribute__((noinline)) int guard_run(int (*fn)(void *arg), void *arg)
{
    sigjmp_buf here;
    if (sigsetjmp(here, SAVES_MASK) != 0)
        return EIO;
    landing = &here;
    atomic_signal_fence(memory_order_seq_cst);
    int result = fn(arg);
    atomic_signal_fence(memory_order_seq_cst);
    landing = NULL;
    return result;
}
