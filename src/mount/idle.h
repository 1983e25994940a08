/* How long nobody has asked for anything: known to the worker, needed by the supervisor. */
#pragma once

#include <glib.h>
#include <stdatomic.h>

typedef struct {
    _Atomic int64_t *last; /* in memory that both share: when, on the monotonic clock */
    gint64 timeout;        /* microseconds */
    gint64 not_before;     /* a time that counts as a request too */
} idle_watch;

/* Before the fork. seconds 0: never. errno, or 0. */
int idle_begin(idle_watch *watch, unsigned seconds);

/* Counts the time anew from now. */
void idle_postpone(idle_watch *watch);

/* Milliseconds until the time is over: 0 when it is, -1 when it never is. As for poll(). */
int idle_left(const idle_watch *watch);
