/* The worker writes the time of each request where the supervisor can read it: no messages, no
 * system calls. The supervisor trusts it with no more than when to try an unmount. */
#include "mount/idle.h"

#include <errno.h>
#include <sys/mman.h>

int idle_begin(idle_watch *watch, unsigned seconds)
{
    *watch = (idle_watch){.timeout = (gint64)seconds * G_USEC_PER_SEC};
    if (seconds == 0)
        return 0;
    void *page =
        mmap(NULL, sizeof *watch->last, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return errno;
    watch->last = page;
    idle_postpone(watch);
    return 0;
}

void idle_postpone(idle_watch *watch)
{
    watch->not_before = g_get_monotonic_time();
}

int idle_left(const idle_watch *watch)
{
    if (watch->last == NULL)
        return -1;
    gint64 now = g_get_monotonic_time();
    gint64 since = MAX(atomic_load_explicit(watch->last, memory_order_relaxed), watch->not_before);
    gint64 left = (MIN(since, now) + watch->timeout - now + 999) / 1000;
    return (int)CLAMP(left, 0, G_MAXINT);
}
