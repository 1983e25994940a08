/* One thread takes a request, answers it and takes the next, as long as that is enough: it and its
 * memory stay in the caches of one processor, and nobody is woken for nothing. (libfuse's own loop
 * always has a further thread wait, and the kernel wakes them in turn.)
 *
 * While there are requests, the monitor looks every millisecond. A thread found in the same request
 * as at the look before is stuck, for its source may hang, and another takes its place. When
 * requests wait look after look, a further thread serves; when none has waited for a while, one
 * stands aside. When nothing happens, nobody looks. */
#include "fuse/loop.h"

#include "fuse/tuning.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum {
    KEPT_THREADS = 8,     /* that stand aside; more than these end */
    LOOK_EVERY = 1000000, /* ns */
    BUSY_LOOKS = 4,       /* in a row, with requests waiting, make one thread more */
    LOOKS_TO_REST = 32,   /* with few of them so make one less */
    QUIET_LOOKS = 16,     /* without any request, until nobody looks */
};

/* Of a thread that waits for its source more than it computes, in parts of the time. */
static const double WAITS_BELOW = 0.25;

typedef enum { SLOT_FREE, SLOT_SERVES, SLOT_ASIDE, SLOT_ENDED } slot_state;

typedef struct {
    loop *l;
    pthread_t thread;
    struct fuse_buf request;
    atomic_uint turn; /* odd while it is in a request */
    atomic_bool is_stuck;
    unsigned seen; /* turn at the last look */
    slot_state state;
} slot;

/* Everything that is not atomic belongs to whoever holds the lock, and the numbers are only written
 * under it. */
struct loop {
    struct fuse_session *session;
    unsigned n_processors;
    pthread_mutex_t lock;
    pthread_cond_t work; /* for those aside: one is called, or it is over */
    pthread_cond_t news; /* for the monitor: a request came, or it is over */
    slot slots[LOOP_MAX_THREADS];
    atomic_uint n_active; /* that serve and are not stuck */
    atomic_uint n_wanted; /* of these */
    unsigned n_aside, n_called;
    atomic_bool is_asleep; /* the monitor */
    atomic_bool is_ahead;
    unsigned busy, quiet;        /* looks in a row */
    unsigned n_looks, n_waited;  /* … in the present span of LOOKS_TO_REST */
    int64_t looked_at, computed; /* ns, at the last look with requests waiting */
    unsigned n_in_request;       /* of those active, at the last look */
    bool is_over;
    int error;
};

loop *loop_new(void)
{
    loop *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->news, &monotonic);
    pthread_condattr_destroy(&monotonic);
    l->n_processors = g_get_num_processors();
    atomic_init(&l->n_wanted, 1);
    return l;
}

void loop_free(loop *l)
{
    if (l == NULL)
        return;
    pthread_cond_destroy(&l->news);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

bool loop_is_single(const loop *l)
{
    return atomic_load_explicit(&l->n_active, memory_order_relaxed) == 1;
}

void loop_work_ahead(loop *l, bool begins)
{
    atomic_store_explicit(&l->is_ahead, begins, memory_order_relaxed);
}

/* ── a thread ── */

static void end(loop *l, int error)
{
    pthread_mutex_lock(&l->lock);
    if (l->error == 0)
        l->error = error;
    l->is_over = true;
    pthread_cond_broadcast(&l->work);
    pthread_cond_signal(&l->news);
    pthread_mutex_unlock(&l->lock);
}

static void wake_monitor(loop *l)
{
    pthread_mutex_lock(&l->lock);
    atomic_store(&l->is_asleep, false);
    pthread_cond_signal(&l->news);
    pthread_mutex_unlock(&l->lock);
}

/* Stands aside if there are threads enough without this one. Whether it is to serve on. */
static bool stay(loop *l, slot *own)
{
    pthread_mutex_lock(&l->lock);
    if (atomic_load(&own->is_stuck)) {
        atomic_store(&own->is_stuck, false);
        atomic_fetch_add(&l->n_active, 1);
    }
    if (atomic_load(&l->n_active) > atomic_load(&l->n_wanted)) {
        atomic_fetch_sub(&l->n_active, 1);
        if (l->n_aside < KEPT_THREADS) {
            own->state = SLOT_ASIDE;
            l->n_aside++;
            while (l->n_called == 0 && !l->is_over)
                pthread_cond_wait(&l->work, &l->lock);
            l->n_aside--;
            if (l->n_called > 0)
                l->n_called--;
            own->state = SLOT_SERVES;
        } else {
            own->state = SLOT_ENDED;
        }
    }
    bool stays = own->state == SLOT_SERVES && !l->is_over;
    pthread_mutex_unlock(&l->lock);
    return stays;
}

/* There is no memory for what it would receive. Whoever has served has that. */
static void leave(loop *l, slot *own)
{
    pthread_mutex_lock(&l->lock);
    atomic_fetch_sub(&l->n_active, 1);
    if (atomic_load(&l->n_wanted) > 1)
        atomic_fetch_sub(&l->n_wanted, 1);
    own->state = SLOT_ENDED;
    pthread_mutex_unlock(&l->lock);
}

static int receive(loop *l, slot *own)
{
    int n;
    do {
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        n = fuse_session_receive_buf(l->session, &own->request);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    } while (n == -EINTR);
    return n;
}

static bool goes_on(loop *l, slot *own)
{
    bool is_needed =
        !atomic_load(&own->is_stuck) && atomic_load(&l->n_active) <= atomic_load(&l->n_wanted);
    return is_needed || stay(l, own);
}

static void *serve(void *arg)
{
    slot *own = arg;
    loop *l = own->l;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    while (goes_on(l, own)) {
        int n = receive(l, own);
        if (n < 0 && own->request.mem == NULL) {
            leave(l, own);
            break;
        }
        if (n <= 0) {
            end(l, -n);
            break;
        }
        atomic_fetch_add(&own->turn, 1);
        if (atomic_load(&l->is_asleep))
            wake_monitor(l);
        fuse_session_process_buf(l->session, &own->request);
        atomic_fetch_add(&own->turn, 1);
    }
    return NULL;
}

/* ── the monitor ── */

static int64_t now(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Signals that ask for the end are for the thread that began. */
static bool start(slot *own)
{
    static const int asking[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    sigset_t blocked, before;
    sigemptyset(&blocked);
    for (size_t i = 0; i < G_N_ELEMENTS(asking); i++)
        sigaddset(&blocked, asking[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    int error = pthread_create(&own->thread, NULL, serve, own);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

static void join(slot *own)
{
    pthread_join(own->thread, NULL);
    free(own->request.mem);
    own->request = (struct fuse_buf){0};
    own->state = SLOT_FREE;
}

/* One thread more that serves, from those aside or a new one; called with the lock. */
static bool add_thread(loop *l)
{
    if (l->n_aside > l->n_called) {
        l->n_called++;
        pthread_cond_signal(&l->work);
        atomic_fetch_add(&l->n_active, 1);
        return true;
    }
    for (unsigned i = 0; i < LOOP_MAX_THREADS; i++) {
        slot *own = &l->slots[i];
        if (own->state == SLOT_ENDED)
            join(own);
        if (own->state != SLOT_FREE)
            continue;
        own->l = l;
        own->state = SLOT_SERVES;
        atomic_fetch_add(&l->n_active, 1);
        if (start(own))
            return true;
        own->state = SLOT_FREE;
        atomic_fetch_sub(&l->n_active, 1);
        return false;
    }
    return false;
}

/* Counts the threads that got stuck out. Whether any has made a step since the last look. */
static bool look_at_threads(loop *l)
{
    bool has_moved = false;
    l->n_in_request = 0;
    for (unsigned i = 0; i < LOOP_MAX_THREADS; i++) {
        slot *own = &l->slots[i];
        unsigned turn = atomic_load(&own->turn);
        bool moved = turn != own->seen;
        own->seen = turn;
        if (own->state == SLOT_SERVES && !moved && turn % 2 == 1 && !atomic_load(&own->is_stuck)) {
            atomic_store(&own->is_stuck, true);
            atomic_store(&l->is_ahead, false); /* or if it was another, only for this look */
            atomic_fetch_sub(&l->n_active, 1);
            moved = true;
        }
        has_moved = has_moved || moved;
        if (own->state == SLOT_SERVES && turn % 2 == 1 && !atomic_load(&own->is_stuck))
            l->n_in_request++;
    }
    return has_moved;
}

/* Whether requests wait, and not just for a thread that is about to take them. */
static bool requests_wait(const loop *l)
{
    if (l->n_in_request < atomic_load(&l->n_active) || atomic_load(&l->is_ahead))
        return false;
    struct pollfd device = {fuse_session_fd(l->session), POLLIN, 0};
    return poll(&device, 1, 0) > 0 && (device.revents & POLLIN) != 0;
}

/* Whether a further thread would find something to do: a processor, or others that wait for their
 * source. */
static bool has_use(loop *l)
{
    unsigned n = atomic_load(&l->n_wanted);
    int64_t time = now(CLOCK_MONOTONIC), computed = now(CLOCK_PROCESS_CPUTIME_ID);
    double share = (double)(computed - l->computed) / (double)(time - l->looked_at + 1);
    l->looked_at = time;
    l->computed = computed;
    return n < l->n_processors || (n < LOOP_MAX_THREADS && share < WAITS_BELOW * n);
}

static void look(loop *l)
{
    l->quiet = look_at_threads(l) ? 0 : l->quiet + 1;
    bool waits = requests_wait(l);
    l->busy = waits ? l->busy + 1 : 0;
    l->n_waited += waits;
    if (waits && has_use(l) && l->busy >= BUSY_LOOKS) {
        atomic_fetch_add(&l->n_wanted, 1);
        l->busy = l->n_looks = l->n_waited = 0;
    }
    if (++l->n_looks == LOOKS_TO_REST) {
        if (l->n_waited < LOOKS_TO_REST / 4 && atomic_load(&l->n_wanted) > 1)
            atomic_fetch_sub(&l->n_wanted, 1);
        l->n_looks = l->n_waited = 0;
    }
    while (atomic_load(&l->n_active) < atomic_load(&l->n_wanted) && add_thread(l))
        ;
}

/* Until a request comes. None is missed: whoever takes one sees the monitor asleep, or is seen
 * here. */
static void sleep_till_news(loop *l)
{
    atomic_store(&l->is_asleep, true);
    atomic_store(&l->n_wanted, 1);
    if (!look_at_threads(l)) {
        while (atomic_load(&l->is_asleep) && !l->is_over)
            pthread_cond_wait(&l->news, &l->lock);
    }
    atomic_store(&l->is_asleep, false);
    l->quiet = 0;
}

static void monitor(loop *l)
{
    while (!l->is_over) {
        if (l->quiet >= QUIET_LOOKS && atomic_load(&l->n_active) > 0)
            sleep_till_news(l);
        int64_t at = now(CLOCK_MONOTONIC) + LOOK_EVERY;
        struct timespec until = {at / 1000000000, at % 1000000000};
        while (!l->is_over && pthread_cond_timedwait(&l->news, &l->lock, &until) == 0)
            ;
        if (!l->is_over)
            look(l);
    }
}

/* Wakes and joins all threads; one that is stuck keeps us waiting for its source. */
static void end_threads(loop *l)
{
    slot *used[LOOP_MAX_THREADS];
    unsigned n = 0;
    pthread_mutex_lock(&l->lock);
    for (unsigned i = 0; i < LOOP_MAX_THREADS; i++) {
        if (l->slots[i].state == SLOT_FREE)
            continue;
        pthread_cancel(l->slots[i].thread);
        used[n++] = &l->slots[i];
    }
    pthread_mutex_unlock(&l->lock);
    for (unsigned i = 0; i < n; i++)
        join(used[i]);
}

bool loop_start(loop *l, struct fuse_session *session, struct fuse_buf buffer)
{
    l->session = session;
    l->slots[0].request = buffer;
    pthread_mutex_lock(&l->lock);
    bool started = add_thread(l);
    if (started)
        add_thread(l); /* stands aside, for when one is stuck and there can be no more */
    pthread_mutex_unlock(&l->lock);
    if (!started)
        free(buffer.mem);
    return started;
}

int loop_run(loop *l)
{
    pthread_mutex_lock(&l->lock);
    monitor(l);
    pthread_mutex_unlock(&l->lock);
    end_threads(l);
    return l->error;
}
