/* How fast the number formats are on one core, each on each path that this processor has:
 * dequantization, as float32 out and as a share of what memset stores, and the matrix-vector
 * product, with a matrix that stays in a cache and one that no cache holds.
 *
 * Times are the thread's own, medians of several runs that take turns, so that what else the
 * machine does is seen as little as possible. */
#include "quant/types.h"

#include <pantheon/qmv.h>

#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    OUT_BYTES = 1 << 20, /* of float32: stays in a second-level cache */
    OUT_ELEMS = OUT_BYTES / 4,
    COLS = 4096,
    SMALL_ROWS = 256,    /* a matrix of 1 Mi elements */
    BIG_BYTES = 1 << 30, /* more than a cache holds */
    RUNS = 9,
};

/* One thing that is measured. */
typedef struct {
    void (*call)(void *data);
    void *data;
    quant_path path;
    double rates[RUNS]; /* calls per second */
} measurement;

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double rate(void (*call)(void *), void *data)
{
    const double start = now();
    double elapsed;
    size_t calls = 0;

    do {
        call(data);
        calls++;
        elapsed = now() - start;
    } while (elapsed < 0.01);
    return (double)calls / elapsed;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, RUNS, sizeof *values, compare_doubles);
    return values[RUNS / 2];
}

/* Runs all of them in turn, several times. */
static void measure(measurement *list, size_t n)
{
    for (int run = 0; run < RUNS; run++)
        for (size_t i = 0; i < n; i++) {
            quant_path_choose(list[i].path);
            list[i].rates[run] = rate(list[i].call, list[i].data);
        }
}

static bool is_ordinary(float value)
{
    const float size = fabsf(value);

    return size == 0 || (size > 0x1p-60f && size < 0x1p60f);
}

/* Random blocks whose values are finite and of ordinary size, so that no time goes into
 * subnormals. */
static void random_blocks(const pn_quant_traits *traits, uint8_t *block, size_t n, GRand *rand)
{
    float values[PN_QUANT_MAX_BLOCK_ELEMS];

    for (size_t i = 0; i < n; i++, block += traits->block_bytes) {
        bool ordinary = false;
        while (!ordinary) {
            for (uint32_t j = 0; j < traits->block_bytes; j++)
                block[j] = (uint8_t)g_rand_int(rand);
            pn_dequantize(traits->id, false, block, values, 1);
            ordinary = true;
            for (uint32_t j = 0; j < traits->block_elems; j++)
                ordinary &= is_ordinary(values[j]);
        }
    }
}

typedef struct {
    const pn_quant_traits *traits;
    const uint8_t *src;
    float *dst;
} dequantize_job;

static void call_memset(void *data)
{
    memset(data, 0, OUT_BYTES);
    __asm__ volatile("" ::"r"(data) : "memory");
}

static void call_dequantize(void *data)
{
    const dequantize_job *job = data;

    pn_dequantize(job->traits->id, false, job->src, job->dst, OUT_ELEMS / job->traits->block_elems);
}

typedef struct {
    pn_qweight w;
    const float *x;
    float *y;
} qmv_job;

static void call_qmv(void *data)
{
    const qmv_job *job = data;

    pn_qmv(&job->w, job->x, job->y, 1);
}

/* What it takes to read a matrix of BIG_BYTES and do nothing with it. */
static void call_read(void *data)
{
    const uint64_t *words = data;
    uint64_t sums[8] = {0};

    for (size_t i = 0; i < BIG_BYTES / sizeof *words; i += 8)
        for (size_t k = 0; k < 8; k++)
            sums[k] += words[i + k];
    __asm__ volatile("" ::"r"(sums) : "memory");
}

typedef struct {
    bool tsv;
    bool big;
    GRand *rand;
    uint8_t *src; /* OUT_ELEMS elements of any type */
    uint8_t *big_src;
    float *dst, *x, *y;
} bench;

static void print_head(const bench *b)
{
    if (b->tsv)
        puts("type\tpath\tgb_per_s\tmemset_gb_per_s\tratio\tqmv_elements_per_s"
             "\tbig_qmv_elements_per_s\tbig_qmv_share_of_read");
    else
        printf("%-8s %-9s %8s %8s %6s %12s%s\n", "type", "path", "GB/s out", "memset", "ratio",
               "qmv Gelem/s", b->big ? "   big matrix  of read" : "");
}

/* The rows of a matrix that no cache holds, made of the small one again and again. */
static qmv_job big_matrix(const bench *b, const qmv_job *small)
{
    const size_t small_bytes = small->w.row_stride * SMALL_ROWS;
    const size_t copies = BIG_BYTES / small_bytes;
    qmv_job big = *small;

    for (size_t i = 0; i < copies; i++)
        memcpy(b->big_src + i * small_bytes, b->src, small_bytes);
    big.w.data = b->big_src;
    big.w.rows = (int)(copies * SMALL_ROWS);
    return big;
}

static void bench_type(bench *b, const pn_quant_traits *traits)
{
    enum { MEMSET, READ, FIRST, KINDS = 3 };
    const size_t row = COLS / traits->block_elems * traits->block_bytes;
    measurement list[FIRST + KINDS * QUANT_PATHS];
    size_t n = FIRST;

    random_blocks(traits, b->src, OUT_ELEMS * 4 / traits->block_elems, b->rand);
    dequantize_job out = {traits, b->src, b->dst};
    qmv_job small = {{b->src, traits->id, SMALL_ROWS, COLS, row}, b->x, b->y}, big = small;
    if (b->big)
        big = big_matrix(b, &small);

    list[MEMSET] = (measurement){call_memset, b->dst, QUANT_PORTABLE};
    list[READ] = b->big ? (measurement){call_read, b->big_src, QUANT_PORTABLE} : list[MEMSET];
    for (int path = 0; path < QUANT_PATHS; path++) {
        if (!quant_path_choose((quant_path)path))
            continue;
        list[n++] = (measurement){call_dequantize, &out, (quant_path)path};
        list[n++] = (measurement){call_qmv, &small, (quant_path)path};
        list[n++] = b->big ? (measurement){call_qmv, &big, (quant_path)path} : list[MEMSET];
    }
    measure(list, n);

    const double base = median(list[MEMSET].rates), read = median(list[READ].rates) * BIG_BYTES;
    for (size_t i = FIRST; i < n; i += KINDS) {
        const char *path = quant_path_name(list[i].path);
        const double calls = median(list[i].rates);
        const double elems = median(list[i + 1].rates) * SMALL_ROWS * COLS;
        const double big_rows = b->big ? median(list[i + 2].rates) * big.w.rows : 0;
        const double share = b->big ? big_rows * (double)row / read : 0;
        if (b->tsv)
            printf("%s\t%s\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\n", traits->name, path,
                   calls * OUT_BYTES / 1e9, base * OUT_BYTES / 1e9, calls / base, elems,
                   big_rows * COLS, share);
        else
            printf("%-8s %-9s %8.1f %8.1f %6.2f %12.2f", traits->name, path,
                   calls * OUT_BYTES / 1e9, base * OUT_BYTES / 1e9, calls / base, elems / 1e9);
        if (!b->tsv && b->big)
            printf(" %12.2f %7.0f%%", big_rows * COLS / 1e9, share * 100);
        if (!b->tsv)
            puts("");
    }
    fflush(stdout);
}

static bool is_wanted(char **names, const char *name)
{
    if (!names)
        return true;
    for (; *names; names++)
        if (g_ascii_strcasecmp(*names, name) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    gboolean tsv = FALSE, big = FALSE;
    g_auto(GStrv) names = NULL;
    const GOptionEntry entries[] = {
        {"tsv", 0, 0, G_OPTION_ARG_NONE, &tsv, "For another program to read", NULL},
        {"big", 0, 0, G_OPTION_ARG_NONE, &big, "Also a matrix of 1 GiB", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &names, NULL, "[TYPE…]"},
        {0},
    };
    g_autoptr(GOptionContext) context = g_option_context_new("— the speed of the number formats");
    g_autoptr(GError) error = NULL;

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "bench-quant: %s\n", error->message);
        return EXIT_FAILURE;
    }

    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    g_autofree uint8_t *src = g_malloc((size_t)OUT_ELEMS * 4 * 8);
    g_autofree uint8_t *big_src = big ? g_malloc(BIG_BYTES) : NULL;
    g_autofree float *x = g_new(float, COLS);
    g_autofree float *y = g_malloc(big ? BIG_BYTES / 64 : SMALL_ROWS * sizeof *y);
    float *dst = g_aligned_alloc(1, OUT_BYTES, 4096);
    bench b = {tsv, big, rand, src, big_src, dst, x, y};
    const pn_quant_traits *traits;

    for (int i = 0; i < COLS; i++)
        x[i] = (float)g_rand_double_range(rand, -1, 1);
    print_head(&b);
    for (size_t i = 0; (traits = pn_quant_traits_at(i)); i++)
        if (is_wanted(names, traits->name))
            bench_type(&b, traits);
    g_aligned_free(dst);
    return EXIT_SUCCESS;
}
