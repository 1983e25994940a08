/* The worker: maps the file, gives up every privilege, parses, and serves what the supervisor
 * mounts; or writes one virtual file to stdout.
 *
 * From lock_down() on it opens nothing. It stays in the C locale (strerror would open catalogues),
 * and says what it has to say through the pipe on fd 2. */
#include "mount/worker.h"

#include "fuse/guard.h"
#include "mount/log.h"
#include "mount/message.h"
#include "mount/privileges.h"
#include "mount/sandbox.h"
#include "tree/print.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_log.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <wchar.h>

#ifdef PN_TEST_FORBIDDEN
#include "forbidden.h"
#endif

enum {
    MAX_LOGGED_PROBLEMS = 20,
    HEAP_ROOM = 16 << 20, /* of address space: enough for what is kept of 5 GB of text */
};

/* One source file. */
typedef struct {
    source_file file;
    const void *map; /* the whole of it; NULL when it is empty */
    char *name;      /* the path, for messages */
} opened_file;

typedef struct {
    const worker_plan *plan;
    GArray *opened;     /* opened_file: the one named, and the other shards as they came */
    source_set sources; /* the same by number of shard, once that is known */
    int channel;        /* the placeholder that becomes /dev/fuse */
    server *server;
    pn_gguf_file *gguf;
    view_model *model;
    tree *tree;
    bool is_ready;
} worker;

/* Tells the supervisor why nothing comes of it, and ends. */
G_NORETURN static void refuse(const worker *w, mount_error status, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
G_NORETURN static void refuse(const worker *w, mount_error status, const char *format, ...)
{
    message m = {.kind = MESSAGE_REFUSED, .number = status};
    va_list args;
    va_start(args, format);
    vsnprintf(m.text, sizeof m.text, format, args);
    va_end(args);
    message_send(w->plan->socket, &m, -1);
    _exit((int)status);
}

G_NORETURN static void refuse_descriptors(const worker *w)
{
    refuse(w, MOUNT_SYSTEM, "%s: too many files are open; allow more with: ulimit -n %u",
           w->plan->options->file, w->opened->len + 63);
}

static void tell(const worker *w, message_kind kind)
{
    message m = {.kind = kind};
    if (!message_send(w->plan->socket, &m, -1))
        _exit(MOUNT_SYSTEM); /* the supervisor is gone */
}

static void on_ready(void *user)
{
    worker *w = user;
    message m = {.kind = MESSAGE_READY};
    w->is_ready = true;
    message_send(w->plan->socket, &m, -1);
#ifdef PN_TEST_FORBIDDEN
    forbidden_try();
#endif
}

static void on_fuse_log(enum fuse_log_level level, const char *format, va_list args)
{
    char line[1024];
    vsnprintf(line, sizeof line, format, args);
    log_send(level <= FUSE_LOG_ERR      ? LOG_LEVEL_ERROR
             : level <= FUSE_LOG_NOTICE ? LOG_LEVEL_WARNING
             : level == FUSE_LOG_INFO   ? LOG_LEVEL_INFO
                                        : LOG_LEVEL_DEBUG,
             "%s", line);
}

/* GLib's own handler looks for the journal, which the sandbox forbids. After an error, which is
 * always a lack of memory, GLib ends the process. */
static void on_glib_log(const char *domain, GLogLevelFlags level, const char *words, void *user)
{
    const worker *w = user;
    if ((level & G_LOG_LEVEL_ERROR) != 0 && !w->is_ready)
        refuse(w, MOUNT_SYSTEM, "%s: there is not enough memory (%s)", w->plan->options->file,
               words);
    log_send(level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL) ? LOG_LEVEL_ERROR
                                                                : LOG_LEVEL_WARNING,
             "%s: %s", domain != NULL ? domain : "GLib", words);
}

/* stdin and stdout are nothing, stderr is the pipe; the terminal's signals are the supervisor's
 * business, and it ends this process by unmounting. */
static void settle_in(worker *w, bool prints)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    if (!prints)
        dup2(null, STDOUT_FILENO);
    dup2(w->plan->log, STDERR_FILENO);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) { /* a set may have 65,535 */
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    fwide(stderr, -1); /* or perror would duplicate the descriptor, which the sandbox forbids */
    if (!prints) {
        setsid();
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    fuse_set_log_func(on_fuse_log);
    g_log_set_default_handler(on_glib_log, w);
}

/* Maps a source file, and takes its descriptor over. */
static bool add_source(worker *w, int fd, const char *name, pn_gguf_source *out, GError **error)
{
    opened_file one = {.file.fd = fd, .name = g_strdup(name)};
    int e = fstat(fd, &one.file.st) < 0 ? errno : 0;
    size_t size = (size_t)one.file.st.st_size;
    if (e == 0 && size > 0) { /* of an empty one the parser says what it is */
        void *map = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
        e = map == MAP_FAILED ? errno : guard_add(map, size);
        one.map = map;
    }
    if (e != 0) {
        g_set_error(error, MOUNT_ERROR, MOUNT_SYSTEM, "%s: it cannot be mapped: %s", name,
                    strerror(e));
        g_free(one.name);
        return false;
    }
    g_array_append_val(w->opened, one);
    *out = (pn_gguf_source){one.map, size, one.name};
    return true;
}

/* The supervisor opens the other files of a split set: it builds the path, from the number. */
static bool open_shard(void *user, unsigned no, unsigned count, pn_gguf_source *out, GError **error)
{
    worker *w = user;
    message m = {.kind = MESSAGE_SHARD, .number = no, .count = count};
    int fd = -1;
    if (!message_send(w->plan->socket, &m, -1) ||
        message_receive(w->plan->socket, &m, &fd, true) != MESSAGE_CAME ||
        m.kind != MESSAGE_SHARD) {
        g_set_error(error, MOUNT_ERROR, MOUNT_SYSTEM, "the supervisor is gone");
        return false;
    }
    if (fd < 0) {
        g_set_error(error, MOUNT_ERROR, MOUNT_FAILURE, "%s%s", m.text,
                    m.number == 0 ? ": too many files are open" : "");
        return false;
    }
    return add_source(w, fd, m.text, out, error);
}

/* Everything that the process could do besides reading what it has, it cannot do after this. */
static void lock_down(worker *w, bool prints)
{
    int keep[] = {w->plan->socket, w->plan->source, w->channel};
    privileges_keep_only(keep, G_N_ELEMENTS(keep));
    if (!privileges_drop())
        refuse(w, MOUNT_SYSTEM, "%s: the worker could not give up its privileges",
               w->plan->options->file);
    if (w->plan->options->sandbox && !sandbox_enter())
        refuse(w, MOUNT_SYSTEM, "%s: the worker could not be confined; -o sandbox=no goes without",
               w->plan->options->file);
}

/* The number of a shard is known by its mapping, now that the files have been parsed. */
static void number_sources(worker *w)
{
    w->sources.n = w->gguf->n_shards;
    w->sources.files = g_new0(source_file, w->sources.n);
    for (unsigned i = 0; i < w->sources.n; i++) {
        w->sources.files[i].fd = -1;
        for (unsigned j = 0; j < w->opened->len; j++) {
            const opened_file *one = &g_array_index(w->opened, opened_file, j);
            if (w->gguf->shards[i].present && w->gguf->shards[i].data == one->map)
                w->sources.files[i] = one->file;
        }
        if (source_compare(&w->sources.files[i]) == SOURCE_UNSEEN)
            log_send(
                LOG_LEVEL_INFO,
                "%s: its file system does not tell when it changes, so what is read is not kept "
                "from one opening to the next",
                pn_gguf_shard_name(w->gguf, i));
    }
}

typedef struct {
    worker *w;
    const pn_gguf_source *named;
    mount_error status; /* with … */
    GError *error;
} parse_call;

static int parse_run(void *arg)
{
    parse_call *c = arg;
    worker *w = c->w;
    const options *o = w->plan->options;
    pn_gguf_options parsing = {.open_shard = open_shard, .user = w, .partial = o->partial};
    w->gguf = pn_gguf_parse(c->named, &parsing, &c->error);
    if (w->gguf == NULL)
        return 0;
    w->model = view_model_new(w->gguf);
    w->tree = tree_new(w->model, o->views, &c->error);
    if (w->tree == NULL)
        c->status = MOUNT_USAGE; /* a view that there is not */
    return 0;
}

static uint64_t count_cut(const pn_gguf_file *gguf)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < gguf->n_tensors; i++) {
        pn_gguf_tensor tensor = pn_gguf_tensor_at(gguf, i);
        n += tensor.available < tensor.nbytes;
    }
    return n;
}

static int problem_run(void *arg)
{
    const worker *w = arg;
    g_autoptr(GString) problem = g_string_new(NULL);
    uint64_t n = w->gguf->n_problems;
    uint64_t n_cut = n > 0 ? count_cut(w->gguf) : 0;
    if (n_cut > 0)
        log_send(LOG_LEVEL_WARNING,
                 "%s: %" G_GUINT64_FORMAT " of its %" G_GUINT64_FORMAT
                 " tensors are not all there; is it an unfinished download?",
                 w->plan->options->file, n_cut, w->gguf->n_tensors);
    for (uint64_t i = 0; i < n && i < MAX_LOGGED_PROBLEMS; i++) {
        g_string_truncate(problem, 0);
        pn_gguf_problem_text(w->gguf, i, problem);
        if (w->gguf->n_shards == 1) /* in a set the sentence names the file */
            log_send(LOG_LEVEL_WARNING, "%s: %s", w->plan->options->file, problem->str);
        else
            log_send(LOG_LEVEL_WARNING, "%s", problem->str);
    }
    if (n > MAX_LOGGED_PROBLEMS)
        log_send(LOG_LEVEL_WARNING, "%s: and %" G_GUINT64_FORMAT " more, see problems.txt",
                 w->plan->options->file, n - MAX_LOGGED_PROBLEMS);
    return 0;
}

static void parse(worker *w, const pn_gguf_source *named)
{
    parse_call call = {.w = w, .named = named, .status = MOUNT_FAILURE};
    const char *file = w->plan->options->file;
    if (guard_run(parse_run, &call) != 0)
        refuse(w, MOUNT_FAILURE,
               "%s: it could not be read: it shrank meanwhile, or its disk or network fails", file);
    if (call.error != NULL)
        refuse(w, call.status, "%s", call.error->message);
    number_sources(w);
    guard_run(problem_run, w);
    if (w->plan->options->strict && w->gguf->n_problems > 0)
        refuse(w, MOUNT_FAILURE,
               "%s: it has problems (above; all of them: --print problems.txt), and -o strict was "
               "given",
               file);
}

static int print(worker *w)
{
    const char *path = w->plan->options->print_path;
    int error = tree_print(w->tree, path, STDOUT_FILENO, guard_run);
    if (error == EPIPE)
        return 1;
    if (error != 0)
        refuse(w, MOUNT_USAGE, "%s: %s: %s", w->plan->options->file, path,
               error == ENOENT ? "there is nothing of that name in the model; --print / lists it"
                               : strerror(error));
    return 0;
}

/* The kernel joins no pages to huge ones behind our back: that would change the memory map, which a
 * source that hangs may hold (fuse/loop.c). Linux has this since 3.15; where it fails, that risk is
 * all there is. */
static void settle_pages(void)
{
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

/* From here on the heap neither grows nor shrinks for what a request takes, for the same reason. */
static void settle_heap(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 2 * HEAP_ROOM);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    void *volatile room = malloc(HEAP_ROOM); /* not optimized away */
    free(room);
#endif
}

static int serve(worker *w)
{
    const char *file = w->plan->options->file;
    message m;
    int device;
    tell(w, MESSAGE_PARSED);
    if (message_receive(w->plan->socket, &m, &device, true) != MESSAGE_CAME)
        return MOUNT_SYSTEM; /* the mount failed, and the supervisor has said so */
    if (device < 0)
        refuse_descriptors(w);
    if (dup3(device, w->channel, O_CLOEXEC) < 0)
        refuse(w, MOUNT_SYSTEM, "%s: the worker could not take over /dev/fuse", file);
    close(device);
    settle_heap();
    int error = server_run(w->server, w->tree, w->model, &w->sources);
    if (error != 0 && !w->is_ready)
        refuse(w, MOUNT_SYSTEM, "%s: it cannot be served: %s", file,
               error == ENODEV   ? "it was unmounted at once"
               : error == EAGAIN ? "no thread can be started; are too many running?"
                                 : strerror(error));
    if (error != 0)
        log_send(LOG_LEVEL_ERROR, "%s: it is not served any more: %s", file, strerror(error));
    return error == 0 ? 0 : MOUNT_SYSTEM;
}

static void clean_up(worker *w)
{
    if (w->server != NULL)
        server_free(w->server);
    tree_free(w->tree);
    view_model_free(w->model);
    pn_gguf_free(w->gguf);
    for (unsigned i = 0; i < w->opened->len; i++) {
        opened_file *one = &g_array_index(w->opened, opened_file, i);
        if (one->map != NULL)
            munmap((void *)one->map, (size_t)one->file.st.st_size);
        g_free(one->name);
    }
    g_array_free(w->opened, TRUE);
    g_free(w->sources.files);
}

G_NORETURN void worker_main(const worker_plan *plan)
{
    const options *o = plan->options;
    bool prints = o->action == ACTION_PRINT;
    worker w = {
        .plan = plan, .channel = -1, .opened = g_array_new(FALSE, FALSE, sizeof(opened_file))};
    settle_in(&w, prints);

    g_autoptr(GError) error = NULL;
    int e = guard_install();
    if (e != 0)
        refuse(&w, MOUNT_SYSTEM, "%s: the worker could not be set up: %s", o->file, strerror(e));
    pn_gguf_source named;
    if (!add_source(&w, plan->source, o->file, &named, &error))
        refuse(&w, MOUNT_FAILURE, "%s", error->message);
    w.channel = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (w.channel < 0)
        refuse_descriptors(&w);
    if (!prints) {
        server_options serving = o->server;
        serving.ready = on_ready;
        serving.user = &w;
        serving.last_request = plan->last_request;
        w.server = server_new(w.channel, &serving);
        if (w.server == NULL)
            refuse(&w, MOUNT_SYSTEM, "%s: there is not enough memory to serve it", o->file);
        settle_pages();
    }
    lock_down(&w, prints);
    parse(&w, &named);
    int status = prints ? print(&w) : serve(&w);
    clean_up(&w);
    exit(status);
}
