/* Loads libsystemd when there is somebody to tell: with the six libraries that it needs it would
 * cost every start a millisecond. Built without it, nobody is told. */
#include "mount/notify.h"

#ifdef HAVE_LIBSYSTEMD
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

enum { PATIENCE = 5 }; /* seconds, with a manager whose queue is full */

static bool load_and_send(const char *lines)
{
    void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return false;
    __typeof__(sd_notify) *notify;
    *(void **)&notify = dlsym(library, "sd_notify");
    if (notify != NULL)
        notify(0, lines); /* what it returns says whether somebody listened, and nobody need */
    dlclose(library);
    return notify != NULL;
}

static void on_alarm(int sig)
{
    /* the call that waits returns */
}
#endif

bool notify_send(const char *lines)
{
#ifdef HAVE_LIBSYSTEMD
    if (getenv("NOTIFY_SOCKET") == NULL)
        return true;
    struct sigaction action = {.sa_handler = on_alarm}, before;
    sigaction(SIGALRM, &action, &before);
    alarm(PATIENCE);
    bool is_loaded = load_and_send(lines);
    alarm(0);
    sigaction(SIGALRM, &before, NULL);
    return is_loaded;
#else
    return true;
#endif
}
