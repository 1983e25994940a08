/* What the program says: one line a message, to stderr, or to syslog once it is in the background.
 *
 * Lines of the worker come through a pipe, and are not trusted: control bytes and what is not UTF-8
 * are escaped, long lines are cut, and when too many come the rest is counted and left out.
 * Not thread-safe: the supervisor has one thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* syslog's numbers. */
typedef enum {
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_NOTICE = 5,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7
} log_level;

typedef struct {
    log_level max;       /* lines above it are dropped */
    bool is_unlimited;   /* do not count */
    char *about;         /* to syslog, and this is what each line is about; NULL: to stderr */
    gint64 window_start; /* monotonic, microseconds */
    unsigned in_window;  /* lines of the worker since */
    char line[2048];     /* of the worker, not complete yet */
    size_t line_len;
} log_sink;

void log_begin(log_sink *log, log_level max, bool is_unlimited);
void log_end(log_sink *log);
void log_say(log_sink *log, log_level level, const char *format, ...) G_GNUC_PRINTF(3, 4);
void log_to_syslog(log_sink *log, const char *about);

/* Appends text with control bytes, and bytes that are no UTF-8, written %XX: one line, whatever is
 * in it. */
void log_escape(GString *out, const char *text, size_t len);

/* Says what has come through the pipe at fd (non-blocking). false at its end. */
bool log_pump(log_sink *log, int fd);

/* The worker's side: one line to fd 2, which is the pipe. Thread-safe; allocates nothing; drops the
 * line when the pipe is full. */
void log_send(log_level level, const char *format, ...) G_GNUC_PRINTF(2, 3);
