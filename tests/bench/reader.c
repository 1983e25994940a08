/* bench-reader: reads a file in one way, and says how long that took. One line on stdout:
 *
 *   read, mmap   SECONDS BYTES
 *   random       P50 P99 (microseconds a read)
 *   touch        SECONDS TOUCHES (of random pages of a mapping)
 *   names        LOOKUP GETATTR OPEN READDIR (microseconds each: stat of a name, statx of a
 *                descriptor, open and close, an entry of the listing)
 *
 * Knows nothing of what is mounted. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    gint64 block, n_threads, n;
    gboolean is_cold, is_direct;
} reader_options;

/* A share of a file, for one thread. */
typedef struct {
    const reader_options *options;
    const char *path;
    int64_t from, to;
    GRand *dice;
    double *times; /* of each random read, in seconds */
} share;

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

G_NORETURN static void die(const char *what)
{
    fprintf(stderr, "bench-reader: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static int open_file(const char *path, int flags)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0)
        die(path);
    return fd;
}

static int64_t size_of(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        die("fstat");
    return st.st_size;
}

static uint8_t *map_file(int fd, int64_t size)
{
    void *map = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        die("mmap");
    return map;
}

/* Takes a file out of the page cache, and makes sure of it: a share of a percent may stay, in lists
 * of the other processors. */
static void make_cold(const char *path)
{
    int fd = open_file(path, 0);
    int64_t size = size_of(fd), n_pages = (size + 4095) / 4096, n_left = 0;
    g_autofree unsigned char *in_core = g_malloc((gsize)n_pages);
    for (int attempt = 0; attempt < 100; attempt++) {
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        uint8_t *map = map_file(fd, size);
        if (mincore(map, (size_t)size, in_core) < 0)
            die("mincore");
        munmap(map, (size_t)size);
        n_left = 0;
        for (int64_t i = 0; i < n_pages; i++)
            n_left += in_core[i] & 1;
        if (n_left <= n_pages / 256) {
            close(fd);
            return;
        }
        usleep(1000);
    }
    errno = EBUSY;
    die("the page cache keeps the file");
}

static uint8_t *make_buffer(int64_t size)
{
    void *buffer;
    if (posix_memalign(&buffer, 4096, (size_t)size) != 0)
        die("memory");
    memset(buffer, 0, (size_t)size);
    return buffer;
}

static void *read_share(void *arg)
{
    const share *s = arg;
    int64_t block = s->options->block;
    int fd = open_file(s->path, s->options->is_direct ? O_DIRECT : 0);
    uint8_t *buffer = make_buffer(block);
    for (int64_t at = s->from; at < s->to;) {
        ssize_t n = pread(fd, buffer, (size_t)MIN(block, s->to - at), at);
        if (n <= 0)
            die(s->path);
        at += n;
    }
    free(buffer);
    close(fd);
    return NULL;
}

static void *map_share(void *arg)
{
    const share *s = arg;
    int fd = open_file(s->path, 0);
    uint8_t *map = map_file(fd, s->to);
    volatile uint64_t sum = 0;
    for (int64_t at = s->from; at < s->to; at += 4096)
        sum = sum + map[at];
    munmap(map, (size_t)s->to);
    close(fd);
    return NULL;
}

static void *touch_share(void *arg)
{
    const share *s = arg;
    int fd = open_file(s->path, 0);
    int64_t size = size_of(fd);
    uint8_t *map = map_file(fd, size);
    volatile uint64_t sum = 0;
    for (int64_t i = s->from; i < s->to; i++)
        sum = sum + map[(int64_t)(g_rand_double(s->dice) * (double)(size / 4096)) * 4096];
    munmap(map, (size_t)size);
    close(fd);
    return NULL;
}

static void *random_share(void *arg)
{
    const share *s = arg;
    int64_t block = s->options->block;
    int fd = open_file(s->path, s->options->is_direct ? O_DIRECT : 0);
    int64_t size = size_of(fd);
    uint8_t *buffer = make_buffer(block);
    for (int64_t i = s->from; i < s->to; i++) {
        int64_t at = (int64_t)(g_rand_double(s->dice) * (double)(size / block)) * block;
        double start = now();
        if (pread(fd, buffer, (size_t)block, at) <= 0)
            die(s->path);
        s->times[i] = now() - start;
    }
    free(buffer);
    close(fd);
    return NULL;
}

/* fn on each share of [0, total), each in its thread; the seconds it took. */
static double run_shares(void *(*fn)(void *), const reader_options *options, const char *path,
                         int64_t total, int64_t unit, double *times)
{
    int64_t n = options->n_threads;
    g_autofree share *shares = g_new0(share, n);
    g_autofree pthread_t *threads = g_new0(pthread_t, n);
    for (int64_t i = 0; i < n; i++)
        shares[i] = (share){.options = options,
                            .path = path,
                            .from = total / unit * i / n * unit,
                            .to = i == n - 1 ? total : total / unit * (i + 1) / n * unit,
                            .dice = g_rand_new_with_seed((guint32)i),
                            .times = times};
    double start = now();
    for (int64_t i = 1; i < n; i++) {
        if (pthread_create(&threads[i], NULL, fn, &shares[i]) != 0)
            die("pthread_create");
    }
    fn(&shares[0]);
    for (int64_t i = 1; i < n; i++)
        pthread_join(threads[i], NULL);
    double seconds = now() - start;
    for (int64_t i = 0; i < n; i++)
        g_rand_free(shares[i].dice);
    return seconds;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure_random(const reader_options *options, const char *path)
{
    g_autofree double *times = g_new0(double, options->n);
    run_shares(random_share, options, path, options->n, 1, times);
    qsort(times, (size_t)options->n, sizeof *times, compare_doubles);
    printf("%.3f %.3f\n", times[options->n / 2] * 1e6, times[options->n * 99 / 100] * 1e6);
}

/* The names in a directory; the seconds that took. */
static double list(const char *path, GPtrArray *names)
{
    double start = now();
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    if (dir == NULL)
        die(path);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
        g_ptr_array_add(names, g_strdup(name));
    return now() - start;
}

static void measure_names(const reader_options *options, const char *path)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GRand) dice = g_rand_new_with_seed(1);
    int dir = open_file(path, O_DIRECTORY);
    double listing = list(path, names), times[3] = {0};
    int64_t n = MIN(options->n, (int64_t)names->len);
    for (int64_t i = 0; i < n; i++) {
        const char *name = names->pdata[g_rand_int_range(dice, 0, (gint32)names->len)];
        struct statx st;
        double start = now();
        if (statx(dir, name, 0, STATX_SIZE, &st) < 0)
            die(name);
        times[0] += now() - start;
        start = now();
        if (statx(dir, name, AT_STATX_FORCE_SYNC, STATX_SIZE, &st) < 0)
            die(name);
        times[1] += now() - start;
        start = now();
        int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            die(name);
        close(fd);
        times[2] += now() - start;
    }
    close(dir);
    for (int i = 0; i < 3; i++)
        printf("%.3f ", times[i] / (double)n * 1e6);
    printf("%.4f\n", listing / (double)names->len * 1e6);
}

static void measure(const reader_options *options, const char *mode, const char *path)
{
    if (strcmp(mode, "names") == 0) {
        measure_names(options, path);
        return;
    }
    if (options->is_cold)
        make_cold(path);
    int fd = open_file(path, 0);
    int64_t size = size_of(fd);
    close(fd);
    if (strcmp(mode, "random") == 0) {
        measure_random(options, path);
        return;
    }
    bool is_touch = strcmp(mode, "touch") == 0;
    int64_t total = is_touch ? options->n : size, unit = is_touch ? 1 : options->block;
    double seconds = run_shares(is_touch                    ? touch_share
                                : strcmp(mode, "mmap") == 0 ? map_share
                                                            : read_share,
                                options, path, total, unit, NULL);
    printf("%.9f %" G_GINT64_FORMAT "\n", seconds, total);
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"read", "mmap", "random", "touch", "names", NULL};
    reader_options options = {.block = 1 << 20, .n_threads = 1, .n = 2000};
    const GOptionEntry entries[] = {
        {"block", 0, 0, G_OPTION_ARG_INT64, &options.block, "bytes a read", "BYTES"},
        {"threads", 0, 0, G_OPTION_ARG_INT64, &options.n_threads, "so many readers", "N"},
        {"count", 0, 0, G_OPTION_ARG_INT64, &options.n, "so many random reads, names", "N"},
        {"cold", 0, 0, G_OPTION_ARG_NONE, &options.is_cold, "first empty the page cache", NULL},
        {"direct", 0, 0, G_OPTION_ARG_NONE, &options.is_direct, "read with O_DIRECT", NULL},
        {NULL},
    };
    g_autoptr(GError) error = NULL;
    g_autoptr(GOptionContext) context = g_option_context_new("read|mmap|random|touch|names PATH");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 3 ||
        !g_strv_contains(modes, argv[1]) || options.block < 1 || options.n_threads < 1 ||
        options.n < 1) {
        fprintf(stderr, "bench-reader: %s\n",
                error != NULL ? error->message : "a mode and a path are needed (see --help)");
        return EXIT_FAILURE;
    }
    measure(&options, argv[1], argv[2]);
    return EXIT_SUCCESS;
}
