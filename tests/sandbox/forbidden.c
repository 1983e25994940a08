/* What the worker of mount.gguf-forbidden tries once it serves: the call that the environment
 * variable PN_TRY names. Every one of them must end it. */
#include "forbidden.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void try_open(void)
{
    open("/etc/passwd", O_RDONLY);
}

static void try_exec(void)
{
    execl("/bin/true", "true", (char *)NULL);
}

static void try_fork(void)
{
    if (fork() == 0)
        _exit(0);
}

static void try_socket(void)
{
    socket(AF_UNIX, SOCK_STREAM, 0);
}

static void try_ptrace(void)
{
    ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}

static void try_io_uring(void)
{
    struct io_uring_params params = {0};
    syscall(SYS_io_uring_setup, 1, &params);
}

static void try_kill(void)
{
    kill(1, SIGTERM);
}

static void try_code(void)
{
    mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void try_to_make_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static void try_to_trace_memory(void)
{
    open("/proc/self/mem", O_RDWR);
}

static void try_to_unlock(void)
{
    prctl(PR_SET_SECCOMP, 0, 0, 0, 0);
}

static const struct {
    const char *name;
    void (*try)(void);
} calls[] = {
    {"open", try_open},           {"exec", try_exec},       {"fork", try_fork},
    {"socket", try_socket},       {"ptrace", try_ptrace},   {"io_uring", try_io_uring},
    {"kill", try_kill},           {"mmap", try_code},       {"mprotect", try_to_make_code},
    {"mem", try_to_trace_memory}, {"prctl", try_to_unlock},
};

void forbidden_try(void)
{
    const char *name = getenv("PN_TRY");
    for (size_t i = 0; name != NULL && i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(name, calls[i].name) == 0)
            calls[i].try();
    }
}
