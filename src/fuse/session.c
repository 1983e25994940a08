/* The session with the kernel: its creation, its threads and what they work in, its end. */
#include "fuse/ahead.h"
#include "fuse/internal.h"
#include "fuse/loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert((int)LOOP_MAX_THREADS < (int)BUFFERS_MAX, "one is for what is made ahead");

enum { THREADS_SIZE = LOOP_MAX_THREADS * sizeof(server_thread) };

/* Not by malloc: as long as it is not used, it takes no memory. */
static server_thread *threads_new(void)
{
    void *memory = mmap(NULL, THREADS_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

static void threads_free(server_thread *threads)
{
    if (threads == NULL)
        return;
    for (unsigned i = 0; i < LOOP_MAX_THREADS; i++)
        view_scratch_clear(&threads[i].scratch);
    munmap(threads, THREADS_SIZE);
}

void server_note_use(server *s)
{
    if (s->options.last_request != NULL)
        atomic_store_explicit(s->options.last_request, g_get_monotonic_time(),
                              memory_order_relaxed);
}

server_thread *server_thread_get(server *s)
{
    server_note_use(s);
    return pthread_getspecific(s->thread);
}

void server_init(void *userdata, struct fuse_conn_info *conn)
{
    server *s = userdata;
    tuning_connection(conn, s->options.cache == CACHE_NEVER);
}

server *server_new(int channel, const server_options *options)
{
    char *argv[] = {(char *)"mount.gguf", (char *)"-d"};
    struct fuse_args args = FUSE_ARGS_INIT(options->debug ? 2 : 1, argv);
    char path[32];
    snprintf(path, sizeof path, "/dev/fd/%d", channel);

    server *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->options = *options;
    s->session = fuse_session_new(&args, &server_ops, sizeof server_ops, s);
    fuse_opt_free_args(&args);
    s->loop = loop_new();
    s->ahead = ahead_new();
    s->threads = threads_new();
    if (s->session == NULL || s->loop == NULL || s->ahead == NULL || s->threads == NULL ||
        buffers_init(&s->buffers, SERVER_BUFFER) != 0 ||
        pthread_key_create(&s->thread, NULL) != 0 || fuse_session_mount(s->session, path) != 0) {
        if (s->session != NULL)
            fuse_session_destroy(s->session);
        loop_free(s->loop);
        ahead_free(s->ahead);
        threads_free(s->threads);
        buffers_clear(&s->buffers);
        free(s);
        return NULL;
    }
    return s;
}

void server_free(server *s)
{
    pthread_key_delete(s->thread);
    buffers_clear(&s->buffers);
    fuse_session_destroy(s->session); /* closes the channel */
    loop_free(s->loop);
    ahead_free(s->ahead);
    threads_free(s->threads);
    free(s->has_told);
    free(s->verdicts);
    free(s);
}

static bool thread_prepare(void *user, unsigned index)
{
    server *s = user;
    return pthread_setspecific(s->thread, &s->threads[index]) == 0;
}

/* Answers the kernel's first request, after which the mount works and has its final settings; 0, or
 * an errno, which is ENODEV if it was unmounted before. */
static int shake_hands(server *s)
{
    struct fuse_buf request = {0};
    int n = fuse_session_receive_buf(s->session, &request);
    while (n == -EINTR)
        n = fuse_session_receive_buf(s->session, &request);
    if (n > 0)
        fuse_session_process_buf(s->session, &request);
    free(request.mem);
    return n < 0 ? -n : n == 0 ? ENODEV : 0;
}

int server_run(server *s, tree *t, view_model *model, const source_set *sources)
{
    s->tree = t;
    s->model = model;
    s->sources = sources;
    s->has_told = calloc(sources->n, sizeof *s->has_told);
    s->verdicts = calloc(sources->n, sizeof *s->verdicts);
    if (s->has_told == NULL || s->verdicts == NULL)
        return ENOMEM;
    int error = shake_hands(s);
    if (error == 0 && !loop_start(s->loop, s->session, thread_prepare, s))
        error = EAGAIN;
    if (error != 0)
        return error;
    if (s->options.ready != NULL)
        s->options.ready(s->options.user);
    return loop_run(s->loop);
}
