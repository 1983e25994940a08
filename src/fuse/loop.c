/* One thread takes a request, answers it and takes the next, as long as that is enough: it and its
 * memory stay in the caches of one processor, and nobody is woken for nothing. (libfuse's own loop
 * always has a further thread wait, and the kernel wakes them in turn.)
 *
 * While there are requests, the monitor looks every millisecond. A thread that stays in one request
 * for ten looks is stuck, for its source may hang, and another takes its place. When requests wait
 * look after look, a further thread serves; when none has waited for a while, one stands aside.
 * When nothing happens, nobody looks.
 *
 * The kernel can hold the memory map of the process while it waits for a source that hangs. Who
 * then changes the map waits too, and so do all page faults after that. So the memory of all
 * threads is mapped before there are any, and a new one changes nothing. A few always stand aside,
 * for when none can be made. */
#include "fuse/loop.h"

#include "fuse/sanitized.h"
#include "fuse/tuning.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Linux 6.13: as PROT_NONE, and the mapping stays in one piece. */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

enum {
    SPARE_THREADS = 4, /* that stand aside */
    STACK_SIZE = UNDER_TSAN ? 2 << 20 : 256 << 10,
    REQUEST_SIZE = TUNING_MAX_READ + 65536, /* more than libfuse asks the kernel for */
    LOOK_EVERY = 1000000,                   /* ns */
    STUCK_LOOKS = 10,                       /* in the same request */
    BUSY_LOOKS = 4,     /* in a row, with requests waiting, make one thread more */
    LOOKS_TO_REST = 32, /* with few of them so make one less */
    QUIET_LOOKS = 16,   /* without any request, until nobody looks */
    MAX_WAITING = 16,   /* threads, if it is only that they wait for their source */
};

/* Of a thread that waits for its source more than it computes, in parts of the time. */
static const double WAITS_BELOW = 0.25;

typedef enum { SLOT_FREE, SLOT_STARTS, SLOT_ASIDE, SLOT_SERVES, SLOT_ENDED } slot_state;

typedef struct {
    loop *l;
    pthread_t thread;
    uint8_t *stack; /* of STACK_SIZE bytes, and after it the request's memory */
    struct fuse_buf request;
    atomic_uint turn; /* odd while it is in a request */
    atomic_bool is_stuck;
    unsigned seen;  /* turn at the last look, and … */
    unsigned still; /* … for how many it has been that */
    slot_state state;
    sem_t call; /* for one aside: it is called, or all is over */
} slot;

/* Everything that is not atomic belongs to whoever holds the lock, and the numbers are only written
 * under it. */
struct loop {
    struct fuse_session *session;
    bool (*prepare)(void *user, unsigned index);
    void *user;
    unsigned n_processors;
    uint8_t *memory; /* of all slots, each below a page that nobody may touch */
    size_t slot_size;
    pthread_mutex_t lock;
    pthread_cond_t news; /* for the monitor: a request came, or it is over */
    slot slots[LOOP_MAX_THREADS];
    atomic_uint n_active; /* that serve and are not stuck */
    atomic_uint n_wanted; /* of these */
    unsigned n_starting, n_aside;
    atomic_bool is_asleep; /* the monitor */
    atomic_bool is_ahead;
    unsigned busy, quiet;        /* looks in a row */
    unsigned n_looks, n_waited;  /* … in the present span of LOOKS_TO_REST */
    int64_t looked_at, computed; /* ns, at the last look with requests waiting */
    unsigned n_in_request;       /* of those active, at the last look */
    bool is_over;
    int error;
};

static bool map_slots(loop *l)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    l->slot_size = page + STACK_SIZE + REQUEST_SIZE;
    uint8_t *memory = mmap(NULL, LOOP_MAX_THREADS * l->slot_size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    l->memory = memory;
    for (unsigned i = 0; i < LOOP_MAX_THREADS; i++) {
        uint8_t *at = memory + i * l->slot_size;
        if (madvise(at, page, MADV_GUARD_INSTALL) < 0 && mprotect(at, page, PROT_NONE) < 0)
            return false;
        l->slots[i] = (slot){.l = l, .stack = at + page, .request.mem = at + page + STACK_SIZE};
        sem_init(&l->slots[i].call, 0, 0);
    }
    return true;
}

loop *loop_new(void)
{
    loop *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->news, &monotonic);
    pthread_condattr_destroy(&monotonic);
    l->n_processors = g_get_num_processors();
    atomic_init(&l->n_wanted, 1);
    if (map_slots(l))
        return l;
    loop_free(l);
    return NULL;
}

void loop_free(loop *l)
{
    if (l == NULL)
        return;
    if (l->memory != NULL)
        munmap(l->memory, LOOP_MAX_THREADS * l->slot_size);
    pthread_cond_destroy(&l->news);
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

/* One that stands aside goes on; with the lock. */
static void call(loop *l, slot *other)
{
    other->state = SLOT_SERVES;
    l->n_aside--;
    sem_post(&other->call);
}

static void end(loop *l, int error)
{
    pthread_mutex_lock(&l->lock);
    if (l->error == 0)
        l->error = error;
    l->is_over = true;
    for (unsigned i = 0; i < LOOP_MAX_THREADS; i++) {
        if (l->slots[i].state == SLOT_ASIDE)
            call(l, &l->slots[i]);
    }
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

/* Until it is called; with the lock, which others have meanwhile. */
static void stand_aside(loop *l, slot *own)
{
    if (l->is_over)
        return;
    own->state = SLOT_ASIDE;
    l->n_aside++;
    pthread_mutex_unlock(&l->lock);
    while (sem_wait(&own->call) < 0)
        ;
    pthread_mutex_lock(&l->lock);
}

/* Whether it is to serve; with the lock, which it gives back. */
static bool decide(loop *l, const slot *own)
{
    bool serves = own->state == SLOT_SERVES && !l->is_over;
    pthread_mutex_unlock(&l->lock);
    return serves;
}

/* A new thread stands aside. Whether it is to serve then. */
static bool begin(loop *l, slot *own)
{
    bool is_ready = l->prepare == NULL || l->prepare(l->user, (unsigned)(own - l->slots));
    pthread_mutex_lock(&l->lock);
    l->n_starting--;
    pthread_cond_signal(&l->news); /* for loop_start */
    if (is_ready)
        stand_aside(l, own);
    else
        own->state = SLOT_ENDED;
    return decide(l, own);
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
        if (l->n_aside < SPARE_THREADS)
            stand_aside(l, own);
        else
            own->state = SLOT_ENDED;
    }
    return decide(l, own);
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
    bool serves = begin(l, own);
    while (serves) {
        int n = receive(l, own);
        if (n <= 0) {
            end(l, -n);
            break;
        }
        atomic_fetch_add(&own->turn, 1);
        if (atomic_load(&l->is_asleep))
            wake_monitor(l);
        fuse_session_process_buf(l->session, &own->request);
        atomic_fetch_add(&own->turn, 1);
        serves = goes_on(l, own);
    }
    return NULL;
}

/* Signals that ask for the end are for the thread that began. */
static bool start(slot *own)
{
    static const int asking[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    sigset_t blocked, before;
    sigemptyset(&blocked);
    for (size_t i = 0; i < G_N_ELEMENTS(asking); i++)
        sigaddset(&blocked, asking[i]);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, own->stack, STACK_SIZE);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    int error = pthread_create(&own->thread, &attributes, serve, own);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error == 0;
}

static slot *free_slot(loop *l)
{
    for (unsigned i = 0; i < LOOP_MAX_THREADS; i++) {
        if (l->slots[i].state == SLOT_FREE || l->slots[i].state == SLOT_ENDED)
            return &l->slots[i];
    }
    return NULL;
}

/* Makes a thread that stands aside; with the lock, which others may have meanwhile. */
static bool make_spare(loop *l)
{
    slot *own = free_slot(l);
    if (own == NULL)
        return false;
    bool has_ended = own->state == SLOT_ENDED;
    own->state = SLOT_STARTS;
    l->n_starting++;
    pthread_mutex_unlock(&l->lock);
    if (has_ended)
        pthread_join(own->thread, NULL);
    bool made = start(own);
    pthread_mutex_lock(&l->lock);
    if (!made) {
        own->state = SLOT_FREE;
        l->n_starting--;
    }
    return made;
}

/* Replaces those that were called; with the lock. */
static void make_spares(loop *l)
{
    while (!l->is_over && l->n_aside + l->n_starting < SPARE_THREADS && make_spare(l))
        ;
}

/* One of those aside serves; with the lock. False when there is none: it is tried again at the next
 * look. */
static bool call_one(loop *l)
{
    for (unsigned i = 0; i < LOOP_MAX_THREADS; i++) {
        if (l->slots[i].state == SLOT_ASIDE) {
            call(l, &l->slots[i]);
            atomic_fetch_add(&l->n_active, 1);
            return true;
        }
    }
    return false;
}

/* ── the monitor ── */

static int64_t now(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Counts the threads that got stuck out. Whether anything happens. */
static bool look_at_threads(loop *l)
{
    bool happens = false;
    l->n_in_request = 0;
    for (unsigned i = 0; i < LOOP_MAX_THREADS; i++) {
        slot *own = &l->slots[i];
        unsigned turn = atomic_load(&own->turn);
        own->still = turn == own->seen ? own->still + 1 : 0;
        own->seen = turn;
        bool is_in_request =
            own->state == SLOT_SERVES && turn % 2 == 1 && !atomic_load(&own->is_stuck);
        happens = happens || is_in_request || own->still == 0;
        if (is_in_request && own->still < STUCK_LOOKS) {
            l->n_in_request++;
        } else if (is_in_request) {
            atomic_store(&own->is_stuck, true);
            atomic_store(&l->is_ahead, false); /* or if it was another, only for this look */
            atomic_fetch_sub(&l->n_active, 1);
        }
    }
    return happens;
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
    return n < l->n_processors || (n < MAX_WAITING && share < WAITS_BELOW * n);
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
    while (atomic_load(&l->n_active) < atomic_load(&l->n_wanted) && call_one(l))
        ;
    make_spares(l);
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

/* Joins all threads; one that is stuck keeps us waiting for its source. */
static void join_threads(loop *l)
{
    pthread_t threads[LOOP_MAX_THREADS];
    unsigned n = 0;
    pthread_mutex_lock(&l->lock);
    for (unsigned i = 0; i < LOOP_MAX_THREADS; i++) {
        if (l->slots[i].state != SLOT_FREE)
            threads[n++] = l->slots[i].thread;
    }
    pthread_mutex_unlock(&l->lock);
    for (unsigned i = 0; i < n; i++)
        pthread_cancel(threads[i]);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

bool loop_start(loop *l, struct fuse_session *session, bool (*prepare)(void *user, unsigned index),
                void *user)
{
    l->session = session;
    l->prepare = prepare;
    l->user = user;
    pthread_mutex_lock(&l->lock);
    make_spare(l);
    while (l->n_starting > 0)
        pthread_cond_wait(&l->news, &l->lock);
    bool starts = call_one(l);
    pthread_mutex_unlock(&l->lock);
    if (!starts) {
        end(l, 0);
        join_threads(l);
    }
    return starts;
}

int loop_run(loop *l)
{
    pthread_mutex_lock(&l->lock);
    make_spares(l);
    l->quiet = QUIET_LOOKS; /* until the first request */
    monitor(l);
    pthread_mutex_unlock(&l->lock);
    join_threads(l);
    return l->error;
}
