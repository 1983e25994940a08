/* Loads libsystemd when there is somebody to tell: with the six libraries that it needs it would
 * cost every start a millisecond. Built without it, nobody is told. */
#include "mount/notify.h"

#ifdef HAVE_LIBSYSTEMD
#include <dlfcn.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>
#endif

bool notify_send(const char *lines)
{
#ifdef HAVE_LIBSYSTEMD
    if (getenv("NOTIFY_SOCKET") == NULL)
        return true;
    void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return false;
    __typeof__(sd_notify) *notify;
    *(void **)&notify = dlsym(library, "sd_notify");
    if (notify != NULL)
        notify(0, lines); /* what it returns says whether somebody listened, and nobody need */
    dlclose(library);
    return notify != NULL;
#else
    return true;
#endif
}
