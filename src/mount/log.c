/* Lines to stderr or syslog, and the pipe that the worker's come through. On the pipe a line begins
 * with its level as in the kernel's log, "<4>"; one without is a warning (libfuse's perror). */
#include "mount/log.h"

#include "gguf/escape.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

enum {
    MAX_LINES = 200, /* of the worker, in … */
    WINDOW = 60 * G_USEC_PER_SEC,
    MAX_TURNS = 64,  /* of reading at a time: more than a pipe holds */
    MAX_SENT = 2000, /* bytes of a line; less than PIPE_BUF, so lines do not mix */
};

void log_begin(log_sink *log, log_level max, bool is_unlimited)
{
    *log = (log_sink){.max = max, .is_unlimited = is_unlimited};
}

void log_end(log_sink *log)
{
    g_clear_pointer(&log->about, g_free);
}

void log_to_syslog(log_sink *log, const char *about)
{
    openlog("mount.gguf", LOG_PID, LOG_DAEMON);
    log->about = g_strdup(about);
}

static bool is_control(const char *at, size_t len)
{
    unsigned char first = (unsigned char)at[0];
    return len == 0 || first < 0x20 || first == 0x7F ||
           (first == 0xC2 && (unsigned char)at[1] < 0xA0);
}

void log_escape(GString *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = pn_utf8_length(text + i, len - i);
        bool escaped = is_control(text + i, n);
        size_t taken = MAX(n, 1u);
        for (size_t j = i; j < i + taken; j++) {
            if (escaped)
                g_string_append_printf(out, "%%%02X", (unsigned char)text[j]);
            else
                g_string_append_c(out, text[j]);
        }
        i += taken;
    }
}

static void write_line(log_sink *log, log_level level, const char *text, size_t len)
{
    if (level > log->max)
        return;
    g_autoptr(GString) line = g_string_new(log->about == NULL ? "mount.gguf: " : NULL);
    size_t about_len = log->about != NULL ? strlen(log->about) : 0;
    if (log->about != NULL && (len < about_len || memcmp(text, log->about, about_len) != 0)) {
        log_escape(line, log->about, strlen(log->about));
        g_string_append(line, ": ");
    }
    log_escape(line, text, len);
    if (log->about != NULL) {
        syslog((int)level, "%s", line->str);
        return;
    }
    g_string_append_c(line, '\n');
    for (size_t done = 0; done < line->len;) {
        ssize_t n = write(STDERR_FILENO, line->str + done, line->len - done);
        if (n < 0 && errno != EINTR)
            return;
        done += n > 0 ? (size_t)n : 0;
    }
}

void log_say(log_sink *log, log_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    write_line(log, level, text, strlen(text));
}

/* Whether another line of the worker may be said. */
static bool has_room(log_sink *log)
{
    gint64 now = g_get_monotonic_time();
    if (log->window_start == 0 || now - log->window_start > WINDOW) {
        unsigned lost = log->in_window > MAX_LINES ? log->in_window - MAX_LINES : 0;
        log->window_start = now;
        log->in_window = 0;
        if (lost > 0)
            log_say(log, LOG_LEVEL_WARNING, "%u more lines were left out", lost);
    }
    return log->is_unlimited || log->in_window++ < MAX_LINES;
}

static void end_line(log_sink *log)
{
    const char *text = log->line;
    size_t len = log->line_len;
    log_level level = LOG_LEVEL_WARNING;
    if (len >= 3 && text[0] == '<' && g_ascii_isdigit(text[1]) && text[2] == '>') {
        level = (log_level)CLAMP(text[1] - '0', LOG_LEVEL_ERROR, LOG_LEVEL_DEBUG);
        text += 3;
        len -= 3;
    }
    if (len > 0 && level <= log->max && has_room(log))
        write_line(log, level, text, len);
    log->line_len = 0;
}

bool log_pump(log_sink *log, int fd)
{
    char chunk[4096];
    ssize_t n = 1;
    for (int turn = 0; turn < MAX_TURNS && (n > 0 || (n < 0 && errno == EINTR)); turn++) {
        n = read(fd, chunk, sizeof chunk);
        for (ssize_t i = 0; i < n; i++) {
            if (chunk[i] == '\n')
                end_line(log);
            else if (log->line_len < sizeof log->line)
                log->line[log->line_len++] = chunk[i];
        }
    }
    if (n == 0 && log->line_len > 0)
        end_line(log);
    return n != 0;
}

void log_send(log_level level, const char *format, ...)
{
    char line[MAX_SENT + 1];
    int head = snprintf(line, sizeof line, "<%d>", (int)level);
    va_list args;
    va_start(args, format);
    int body = vsnprintf(line + head, sizeof line - (size_t)head, format, args);
    va_end(args);
    size_t len = MIN((size_t)head + (size_t)MAX(body, 0), (size_t)MAX_SENT - 1);
    if (line[len - 1] != '\n')
        line[len++] = '\n';
    while (write(STDERR_FILENO, line, len) < 0 && errno == EINTR)
        continue;
}
