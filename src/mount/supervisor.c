/* The supervisor.
 *
 *     mount.gguf ──fork──> supervisor ──fork──> worker
 *      waits for the        opens, mounts,       reads the file
 *      first result         logs, unmounts
 *
 * With -f and --print the first process is the supervisor itself. It never looks into the file. */
#include "mount/supervisor.h"

#include "gguf/split.h"
#include "mount/channel.h"
#include "mount/check.h"
#include "mount/idle.h"
#include "mount/log.h"
#include "mount/message.h"
#include "mount/mounts.h"
#include "mount/notify.h"
#include "mount/option-list.h"
#include "mount/place.h"
#include "mount/privileges.h"
#include "mount/words.h"
#include "mount/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEFAULT_READAHEAD = 1024 }; /* KiB */

enum { MAX_AT_A_TIME = 64 }; /* messages: then signals have their turn */

typedef struct {
    const options *options;
    log_sink log;
    char *point;   /* the mount point's real path */
    char *pidfile; /* its absolute path, once it is written */
    idle_watch idle;
    int place; /* the mount point, until it is mounted on; -1: it cannot be locked */
    int source;
    int caller;  /* pipe to the process that waits; -1: in the foreground */
    int signals; /* signalfd */
    int socket;  /* to the worker; -1 when that is over */
    int pipe;    /* the worker's lines; likewise */
    pid_t worker;
    bool is_over; /* the worker has ended, with … */
    int wait_status;
    bool is_handed_over; /* the device, to the worker */
    bool is_mounted;     /* as … */
    mount_entry mount;
    bool is_ready;
    bool is_stopping; /* a signal has been obeyed */
    int status;       /* the exit status, when something went wrong before the worker's end */
} supervisor;

/* ── The caller, the background ── */

static int wait_for_start(int fd)
{
    int status;
    ssize_t n;
    while ((n = read(fd, &status, sizeof status)) < 0 && errno == EINTR)
        continue;
    return n == sizeof status ? status : MOUNT_SYSTEM;
}

/* False: it has ended, and does not hear of it. */
static bool tell_caller(supervisor *s, int status)
{
    if (s->caller < 0)
        return true;
    ssize_t n;
    while ((n = write(s->caller, &status, sizeof status)) < 0 && errno == EINTR)
        continue;
    close(s->caller);
    s->caller = -1;
    return n == sizeof status;
}

static bool is_caller_gone(const supervisor *s)
{
    struct pollfd fd = {s->caller, 0, 0};
    return s->caller >= 0 && poll(&fd, 1, 0) > 0 && (fd.revents & POLLERR) != 0;
}

/* The mount is there: let go of the terminal, the directory, and whoever waits for our output.
 * False when the caller does not hear of it. */
static bool go_to_background(supervisor *s)
{
    if (s->caller < 0)
        return true;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    log_to_syslog(&s->log, s->point);
    setsid();
    if (chdir("/") < 0)
        log_say(&s->log, LOG_LEVEL_INFO, "chdir /: %s", strerror(errno));
    for (int fd = 0; fd <= 2; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
    return tell_caller(s, 0);
}

/* ── The mount ── */

static char *mount_options(const options *o)
{
    GString *list = g_string_new("ro,nosuid,nodev,default_permissions,subtype=gguf,fsname=");
    g_autofree char *path = g_canonicalize_filename(o->file, NULL);
    option_list_append(list, o->fsname != NULL ? o->fsname : path);
    if (o->allow_other)
        g_string_append(list, ",allow_other");
    g_string_append(list, o->kernel->str);
    return g_string_free(list, FALSE);
}

static void fail(supervisor *s, int status, const char *format, ...) G_GNUC_PRINTF(3, 4);
static void fail(supervisor *s, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *sentence = g_strdup_vprintf(format, args);
    va_end(args);
    log_say(&s->log, LOG_LEVEL_ERROR, "%s", sentence);
    s->status = status;
}

/* Why it could not be mounted; `said` is what libfuse or fusermount3 says of it. */
static const char *why_not(const char *said)
{
    if (geteuid() == 0 && prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 0)
        return "root may not mount in this container; start it with: --cap-add SYS_ADMIN --device "
               "/dev/fuse";
    if (strstr(said, "user_allow_other") != NULL)
        return "allow_other needs root's leave: the line user_allow_other in /etc/fuse.conf";
    return *said != '\0' ? said : "libfuse does not say why";
}

/* Another process may have mounted there since we looked. */
static int mount_in_turn(supervisor *s, GString *said)
{
    g_autofree char *list = mount_options(s->options);
    g_autoptr(GError) error = NULL;
    int device = -1;
    place_wait_for_turn(s->place);
    if (!check_free(s->point, &error))
        fail(s, error->code, "%s", error->message);
    else
        device = channel_open(s->point, list, said);
    place_leave(s->place);
    s->place = -1;
    return device;
}

/* Mounts, and hands the device over. Its own copy is closed: it would keep the mount alive, and its
 * readers waiting, when the worker is dead. */
static void mount_for_worker(supervisor *s)
{
    g_autoptr(GString) said = g_string_new(NULL);
    int device = mount_in_turn(s, said);
    if (device < 0 && s->status != 0)
        return;
    if (device < 0) {
        fail(s, MOUNT_FAILURE, "%s: it could not be mounted there: %s", s->point,
             why_not(said->str));
        return;
    }
    if (said->len > 0)
        log_say(&s->log, LOG_LEVEL_WARNING, "%s", said->str);
    if (mounts_at(s->point, &s->mount) == 0 && s->mount.is_root)
        s->is_mounted = true;
    s->is_handed_over = true;
    message m = {.kind = MESSAGE_DEVICE};
    if (!message_send(s->socket, &m, device))
        fail(s, MOUNT_SYSTEM, "%s: the worker is gone", s->options->file);
    close(device);
}

static void unmount(supervisor *s)
{
    int error = mounts_detach(s->point, &s->mount);
    if (error == ESTALE)
        log_say(&s->log, LOG_LEVEL_WARNING,
                "%s: something else is mounted on top, so it stays; unmount that, and this",
                s->point);
    else if (error != 0 && error != EINVAL)
        log_say(&s->log, LOG_LEVEL_ERROR, "%s: it could not be unmounted: %s", s->point,
                strerror(error));
}

static void stop(supervisor *s)
{
    if (s->is_ready && !s->is_stopping)
        notify_send("STOPPING=1");
    if (s->is_stopping || !s->is_mounted) {
        kill(s->worker, SIGKILL);
    } else {
        unmount(s);
        log_pump(&s->log, s->pipe);
        log_say(&s->log, LOG_LEVEL_INFO, "%s is unmounted; open files work until they are closed",
                s->point);
    }
    if (!s->is_ready && s->status == 0)
        s->status = MOUNT_SYSTEM;
    s->is_stopping = true;
}

/* A caller that was killed has reported a failure: then nothing may be mounted. */
static void give_up(supervisor *s)
{
    fail(s, MOUNT_SYSTEM, "%s: the process that waited for the mount was killed, so it is given up",
         s->options->file);
    stop(s);
}

/* ── What the worker wants ── */

/* Opens the file of a split set with this number. The worker says a number, never a path. */
static void send_shard(supervisor *s, const message *asked)
{
    message m = {.kind = MESSAGE_SHARD};
    g_autoptr(GError) error = NULL;
    g_autofree char *path = pn_split_sibling(s->options->file, asked->number, asked->count, &error);
    int fd = path != NULL ? check_open_file(path, &error) : -1;
    m.number = fd < 0;
    g_strlcpy(m.text, fd >= 0 ? path : error->message, sizeof m.text);
    if (!message_send(s->socket, &m, fd))
        fail(s, MOUNT_SYSTEM, "%s: the worker is gone", s->options->file);
    if (fd >= 0)
        close(fd);
}

/* How far the kernel reads ahead of a sequential reader. Only root can set it, and only here. */
static void set_readahead(supervisor *s)
{
    bool asked = s->options->has_readahead;
    unsigned kib = asked ? s->options->readahead : DEFAULT_READAHEAD;
    char path[64], value[16];
    snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb", s->mount.major,
             s->mount.minor);
    int len = snprintf(value, sizeof value, "%u", kib);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, value, (size_t)len) != len)
        log_say(&s->log, asked ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO,
                "%s: the kernel's own read-ahead stays, since only root can set it (%s: %s)",
                s->point, path, strerror(errno));
    if (fd >= 0)
        close(fd);
}

static bool write_pidfile(supervisor *s)
{
    if (s->options->pidfile == NULL)
        return true;
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_canonicalize_filename(s->options->pidfile, NULL);
    g_autofree char *line = g_strdup_printf("%d\n", (int)getpid());
    if (!g_file_set_contents(path, line, -1, &error)) {
        fail(s, MOUNT_FAILURE, "the pidfile could not be written: %s", error->message);
        return false;
    }
    s->pidfile = g_steal_pointer(&path);
    return true;
}

static void notify_ready(supervisor *s)
{
    g_autofree char *status = g_strdup_printf("%s is mounted on %s", s->options->file, s->point);
    g_autoptr(GString) lines = g_string_new(NULL);
    g_string_printf(lines, "READY=1\nMAINPID=%d\nSTATUS=", (int)getpid());
    log_escape(lines, status, strlen(status)); /* a name may have lines of its own */
    if (!notify_send(lines->str))
        log_say(&s->log, LOG_LEVEL_WARNING,
                "%s: the service manager is not told, because libsystemd cannot be loaded",
                s->point);
}

static void become_ready(supervisor *s)
{
    if (is_caller_gone(s)) {
        give_up(s);
        return;
    }
    if (!write_pidfile(s)) {
        kill(s->worker, SIGKILL); /* finish() unmounts */
        return;
    }
    s->is_ready = true;
    set_readahead(s);
    idle_postpone(&s->idle);
    log_pump(&s->log, s->pipe); /* what was said on the way comes before */
    g_autofree char *point = shell_word(s->point);
    if (s->options->dir == NULL)
        log_say(&s->log, LOG_LEVEL_NOTICE, "%s is mounted on %s; unmount it with: %s %s",
                s->options->file, s->point, geteuid() == 0 ? "umount" : "fusermount3 -u", point);
    else
        log_say(&s->log, LOG_LEVEL_INFO, "%s is mounted on %s", s->options->file, s->point);
    notify_ready(s);
    if (!go_to_background(s))
        give_up(s);
}

static void close_socket(supervisor *s)
{
    if (s->socket >= 0)
        close(s->socket);
    s->socket = -1;
}

/* Each message makes sense once and in order; anything else is a worker gone wrong. */
static void take_message(supervisor *s, const message *m)
{
    bool is_new = !s->is_handed_over && s->status == 0;
    if (s->is_stopping && !s->is_ready)
        return; /* sent before it heard of that */
    if (m->kind == MESSAGE_SHARD && is_new) {
        send_shard(s, m);
    } else if (m->kind == MESSAGE_REFUSED && !s->is_ready) {
        log_pump(&s->log, s->pipe);
        fail(s,
             m->number == MOUNT_USAGE || m->number == MOUNT_SYSTEM ? (int)m->number : MOUNT_FAILURE,
             "%s", m->text);
    } else if (m->kind == MESSAGE_PARSED && is_new && s->options->action == ACTION_MOUNT) {
        mount_for_worker(s);
    } else if (m->kind == MESSAGE_READY && s->is_handed_over && !s->is_ready) {
        become_ready(s);
    } else {
        kill(s->worker, SIGKILL);
        fail(s, MOUNT_SYSTEM, "%s: the worker said something that makes no sense, and is ended",
             s->options->file);
    }
    if (s->status != 0)
        close_socket(s); /* which ends a worker that waits */
}

static void take_messages(supervisor *s)
{
    message m;
    message_result result = MESSAGE_CAME;
    for (int i = 0; i < MAX_AT_A_TIME && s->socket >= 0 && result == MESSAGE_CAME; i++) {
        result = message_receive(s->socket, &m, NULL, false);
        if (result == MESSAGE_CAME)
            take_message(s, &m);
    }
    if (result == MESSAGE_END)
        close_socket(s);
}

/* ── Signals, the end ── */

static void take_signals(supervisor *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo != SIGCHLD)
            stop(s);
    }
    int status;
    if (!s->is_over && waitpid(s->worker, &status, WNOHANG) == s->worker) {
        s->is_over = true;
        s->wait_status = status;
    }
}

/* A plain unmount, which open files and working directories in there forbid: then later. */
static void unmount_when_idle(supervisor *s)
{
    if (!s->is_ready || s->is_stopping || idle_left(&s->idle) != 0)
        return;
    idle_postpone(&s->idle);
    int error = mounts_unmount(s->point, &s->mount);
    if (error == 0)
        log_say(&s->log, LOG_LEVEL_INFO, "%s: unmounted, since nobody used it for %u seconds",
                s->point, s->options->idle_timeout);
    else
        log_say(&s->log, LOG_LEVEL_DEBUG, "%s: it is in use, and not unmounted yet: %s", s->point,
                strerror(error));
}

static void supervise(supervisor *s)
{
    while (!s->is_over) {
        struct pollfd fds[] = {{s->signals, POLLIN, 0},
                               {s->socket, POLLIN, 0},
                               {s->pipe, POLLIN, 0},
                               {s->is_stopping ? -1 : s->caller, 0, 0}};
        int wait = s->is_ready && !s->is_stopping ? idle_left(&s->idle) : -1;
        if (poll(fds, G_N_ELEMENTS(fds), wait) < 0 && errno != EINTR)
            break;
        if (fds[2].revents != 0 && !log_pump(&s->log, s->pipe)) {
            close(s->pipe);
            s->pipe = -1;
        }
        if (fds[1].revents != 0)
            take_messages(s);
        take_signals(s);
        if (!s->is_over && !s->is_stopping && is_caller_gone(s))
            give_up(s);
        unmount_when_idle(s);
    }
    take_messages(s); /* what it sent last */
    if (s->pipe >= 0)
        log_pump(&s->log, s->pipe);
}

/* The worker has ended: what is still mounted is dead, and would be in the way. */
static int finish(supervisor *s)
{
    bool killed = WIFSIGNALED(s->wait_status);
    int status = killed ? MOUNT_SYSTEM : WEXITSTATUS(s->wait_status);
    bool was_left =
        s->is_mounted && mounts_exists(&s->mount) && !mounts_is_successor(s->point, &s->mount);
    if (s->is_ready && !s->is_stopping)
        notify_send("STOPPING=1");
    if (was_left)
        unmount(s);
    if (s->status != 0)
        status = s->status; /* and it has been said why */
    else if (killed && s->is_stopping)
        log_say(&s->log, LOG_LEVEL_WARNING, "%s: ended with files open", s->point);
    else if (killed)
        log_say(&s->log, LOG_LEVEL_ERROR, "%s: the worker was killed by signal %d (%s)%s%s",
                s->options->file, WTERMSIG(s->wait_status), strsignal(WTERMSIG(s->wait_status)),
                WTERMSIG(s->wait_status) == SIGKILL ? ", as happens when memory runs out" : "",
                was_left ? "; it is unmounted" : "");
    else if (status != 0 && s->options->action == ACTION_MOUNT)
        log_say(&s->log, LOG_LEVEL_ERROR, "%s: the worker failed%s", s->options->file,
                was_left ? "; it is unmounted" : "");
    if (s->pidfile != NULL)
        unlink(s->pidfile);
    return status;
}

/* ── The beginning ── */

static const char *hint_of(int error)
{
    return error == EMFILE ? "; allow more with: ulimit -n 64" : "";
}

static bool start_worker(supervisor *s)
{
    int sockets[2], pipes[2];
    int own[] = {s->source, s->caller, s->place};
    sigset_t taken;
    privileges_keep_only(own, G_N_ELEMENTS(own)); /* what was inherited is nobody's here */
    sigemptyset(&taken);
    sigaddset(&taken, SIGINT);
    sigaddset(&taken, SIGTERM);
    sigaddset(&taken, SIGQUIT);
    sigaddset(&taken, SIGCHLD);
    sigprocmask(SIG_BLOCK, &taken, NULL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    s->signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signals < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0 ||
        pipe2(pipes, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    s->worker = fork();
    if (s->worker < 0)
        return false;
    if (s->worker == 0) {
        worker_plan plan = {s->options, s->source, sockets[1], pipes[1], s->idle.last};
        worker_main(&plan);
    }
    close(sockets[1]);
    close(pipes[1]);
    close(s->source); /* so that the last descriptor of a deleted file goes with the worker */
    s->socket = sockets[0];
    s->pipe = pipes[0];
    return true;
}

static int run(supervisor *s)
{
    errno = idle_begin(&s->idle, s->options->idle_timeout);
    if (errno != 0 || !start_worker(s)) {
        log_say(&s->log, LOG_LEVEL_ERROR, "%s: the worker could not be started: %s%s",
                s->options->file, strerror(errno), hint_of(errno));
        return MOUNT_SYSTEM;
    }
    supervise(s);
    return finish(s);
}

/* A mount point that we made goes with us. */
static void leave_place(supervisor *s)
{
    if (s->options->dir == NULL && s->point != NULL)
        place_remove(s->point);
    g_clear_pointer(&s->point, free);
}

/* In two processes: the first waits for the result, and gives it to whoever called. */
static int run_in_background(supervisor *s)
{
    int pipes[2];
    pid_t child = -1;
    if (pipe2(pipes, O_CLOEXEC) == 0)
        child = fork();
    if (child < 0) {
        log_say(&s->log, LOG_LEVEL_ERROR, "%s: the supervisor could not be started: %s%s",
                s->options->file, strerror(errno), hint_of(errno));
        return MOUNT_SYSTEM;
    }
    if (child > 0) {
        close(pipes[1]);
        return wait_for_start(pipes[0]);
    }
    close(pipes[0]);
    s->caller = pipes[1];
    int status = run(s);
    leave_place(s); /* before the caller hears of it */
    tell_caller(s, status);
    return status;
}

static bool prepare(supervisor *s, GError **error)
{
    const options *o = s->options;
    if (o->dir == NULL || check_order(o->file, o->dir, error))
        s->source = check_open_file(o->file, error);
    if (s->source < 0)
        return false;
    if (o->action == ACTION_PRINT)
        return true;
    if (!check_proc(error) || !check_device(error))
        return false;
    s->point =
        o->dir != NULL ? check_mount_point(o->dir, &s->log, error) : place_make(o->file, error);
    if (s->point != NULL)
        s->place = place_open(s->point);
    return s->point != NULL;
}

int supervisor_run(const options *o)
{
    static const log_level levels[] = {LOG_LEVEL_ERROR, LOG_LEVEL_NOTICE, LOG_LEVEL_INFO,
                                       LOG_LEVEL_DEBUG};
    supervisor s = {
        .options = o, .place = -1, .source = -1, .caller = -1, .socket = -1, .pipe = -1};
    log_begin(&s.log, levels[o->verbosity + 1], o->server.debug);
    g_autoptr(GError) error = NULL;
    int status;
    if (!prepare(&s, &error)) {
        log_say(&s.log, LOG_LEVEL_ERROR, "%s", error->message);
        status = error->code;
    } else if (o->is_fake) {
        status = 0;
    } else if (o->foreground || o->action == ACTION_PRINT) {
        status = run(&s);
        leave_place(&s);
    } else {
        status = run_in_background(&s);
    }
    g_free(s.point);
    log_end(&s.log);
    return status;
}
