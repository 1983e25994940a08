/* How fast the number formats are: dequantization of each type on each path, as float32 out and as
 * a share of what memset stores, and the matrix-vector product.
 *
 *   bench-quant [--tsv] [--only TYPE] [--quick]
 */
#include "quant/types.h"

#include <glib.h>
#include <pantheon/qmv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    OUT_BYTES = 1 << 20, /* of float32: stays in a second-level cache */
    OUT_ELEMS = OUT_BYTES / 4,
    RUNS = 7,
};

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return values[n / 2];
}

/* Random blocks whose values are finite and of ordinary size, so that no time goes into
 * subnormals. */
static void random_blocks(const pn_quant_traits *traits, uint8_t *blocks, size_t n, GRand *rand)
{
    float values[PN_QUANT_MAX_BLOCK_ELEMS];
    for (size_t i = 0; i < n; i++, blocks += traits->block_bytes) {
        bool ordinary = false;
        while (!ordinary) {
            for (uint32_t j = 0; j < traits->block_bytes; j++)
                blocks[j] = (uint8_t)g_rand_int(rand);
            pn_dequantize(traits->id, false, blocks, values, 1);
            ordinary = true;
            for (uint32_t j = 0; j < traits->block_elems; j++) {
                float size = fabsf(values[j]);
                ordinary &= size == 0 || (size > 0x1p-60f && size < 0x1p60f);
            }
        }
    }
}

/* Calls per second, at least 10 ms long. */
static double rate(void (*call)(void *), void *data)
{
    double start = now(), elapsed;
    size_t calls = 0;
    do {
        for (int i = 0; i < 8; i++)
            call(data);
        calls += 8;
        elapsed = now() - start;
    } while (elapsed < 0.01);
    return (double)calls / elapsed;
}

typedef struct {
    const pn_quant_traits *traits;
    const uint8_t *src;
    float *dst;
} job;

static void call_memset(void *data)
{
    const job *j = data;
    memset(j->dst, 0, OUT_BYTES);
    __asm__ volatile("" ::"r"(j->dst) : "memory");
}

static void call_dequantize(void *data)
{
    const job *j = data;
    pn_dequantize(j->traits->id, false, j->src, j->dst, OUT_ELEMS / j->traits->block_elems);
}

typedef struct {
    pn_qweight w;
    const float *x;
    float *y;
} qmv_job;

static void call_qmv(void *data)
{
    const qmv_job *j = data;
    pn_qmv(&j->w, j->x, j->y, 1);
}

int main(int argc, char **argv)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    g_autofree uint8_t *src = g_malloc(OUT_ELEMS * 8);
    float *dst = g_aligned_alloc(1, OUT_BYTES, 4096);
    const pn_quant_traits *traits;
    for (size_t i = 0; (traits = pn_quant_traits_at(i)); i++) {
        if (argc > 1 && strcmp(argv[1], traits->name) != 0)
            continue;
        random_blocks(traits, src, OUT_ELEMS / traits->block_elems, rand);
        job j = {traits, src, dst};
        float x[4096], y[64];
        for (int k = 0; k < 4096; k++) x[k] = (float)g_rand_double_range(rand, -1, 1);
        qmv_job q = {{src, traits->id, 64, 4096, 4096 / traits->block_elems * traits->block_bytes}, x, y};
        double mv[QUANT_PATHS][RUNS];
        double set[RUNS], deq[QUANT_PATHS][RUNS];
        for (int run = 0; run < RUNS; run++) {
            set[run] = rate(call_memset, &j);
            for (int path = 0; path < QUANT_PATHS; path++) {
                quant_path_choose((quant_path)path);
                deq[path][run] = rate(call_dequantize, &j);
                mv[path][run] = rate(call_qmv, &q);
            }
        }
        double base = median(set, RUNS);
        printf("%-8s memset %5.1f", traits->name, base * OUT_BYTES / 1e9);
        for (int path = 0; path < QUANT_PATHS; path++) {
            double m = median(deq[path], RUNS);
            printf("  %s %5.1f %.2f qmv %5.2f", quant_path_name((quant_path)path), m * OUT_BYTES / 1e9,
                   m / base, median(mv[path], RUNS) * 64 * 4096 / 1e9);
        }
        printf("\n");
    }
    g_aligned_free(dst);
    return 0;
}
