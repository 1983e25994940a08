/* The fused matrix-vector product: checks the shape, deals the rows to threads, and walks each row
 * with the dot product of its type. */
#include "quant/types.h"

#include <pantheon/qmv.h>

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdalign.h>

enum {
    STRIP = 8192, /* columns taken at a time: their x stays in a cache, and what is made of it fits
                     the stack */
    MAX_THREADS = 256,
};

/* The dot product of types and processors without a kernel of their own: as many blocks as make
 * 1024 elements at a time. */
static float dot_by_dequantizing(const quant_type *type, const uint8_t *row, size_t n,
                                 const float *x)
{
    enum { ELEMS = 4 * PN_QUANT_MAX_BLOCK_ELEMS };
    const quant_kernel dequantize = quant_kernel_now(type);
    const quant_dot multiply = quant_dot_now(quant_type_of(PN_GGUF_F32));
    const size_t step = ELEMS / type->traits.block_elems;
    float values[ELEMS], total = 0;

    while (n > 0) {
        const size_t blocks = n < step ? n : step;
        const size_t elems = blocks * type->traits.block_elems;
        const quant_input input = {.x = x};
        dequantize(row, values, blocks);
        total += multiply(values, elems, &input);
        row += blocks * type->traits.block_bytes;
        x += elems;
        n -= blocks;
    }
    return total;
}

static float dot(const quant_type *type, const uint8_t *row, size_t n, const quant_input *x)
{
    const quant_dot kernel = quant_dot_now(type);

    return kernel ? kernel(row, n, x) : dot_by_dequantizing(type, row, n, x->x);
}

/* What quant_input promises, of n elements: a multiple of 32. */
static void prepare(const float *x, size_t n, float *restrict sum16, float *restrict sum32,
                    float *restrict shuffled)
{
    for (size_t i = 0; i < n; i += 16) {
        float lanes[4] = {0};
        for (size_t j = 0; j < 4; j++) {
            const float *from = x + i + 4 * j;
            float *to = shuffled + i / 64 * 64 + 16 * j + i % 64 / 4;
            for (size_t k = 0; k < 4; k++) {
                lanes[k] += from[k];
                to[k] = from[k] * 0x1p-24f;
            }
        }
        sum16[i / 16] = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    }
    for (size_t i = 0; i < n / 32; i++)
        sum32[i] = sum16[2 * i] + sum16[2 * i + 1];
}

/* The other order of quant_input. */
static void split_pairs(const float *x, size_t n, float *restrict even_odd)
{
    for (size_t i = 0; i + 32 <= n; i += 32)
        for (size_t j = 0; j < 16; j++) {
            even_odd[i + j] = x[i + 2 * j];
            even_odd[i + 16 + j] = x[i + 2 * j + 1];
        }
}

/* One thread's part of the product. */
typedef struct {
    const pn_qweight *w;
    const quant_type *type;
    const float *x;
    float *y;
    int first_row, end_row;
    bool in_thread;
    pthread_t thread;
} rows_job;

static void *multiply_rows(void *data)
{
    const rows_job *job = data;
    const pn_quant_traits *traits = &job->type->traits;
    const size_t cols = (size_t)job->w->cols;
    /* no load of 64 bytes is to lie across two lines of the cache */
    alignas(64) float sum16[STRIP / 16], sum32[STRIP / 32], shuffled[STRIP];

    for (int r = job->first_row; r < job->end_row; r++)
        job->y[r] = 0;
    for (size_t col = 0; col < cols; col += STRIP) {
        const size_t n = cols - col < STRIP ? cols - col : STRIP;
        const size_t first_byte = col / traits->block_elems * traits->block_bytes;
        const quant_input x = {job->x + col, sum16, sum32, shuffled, shuffled};
        if (traits->block_elems > 1)
            prepare(x.x, n, sum16, sum32, shuffled);
        else
            split_pairs(x.x, n, shuffled);
        const uint8_t *row =
            (const uint8_t *)job->w->data + (size_t)job->first_row * job->w->row_stride;
        for (int r = job->first_row; r < job->end_row; r++, row += job->w->row_stride)
            job->y[r] += dot(job->type, row + first_byte, n / traits->block_elems, &x);
    }
    return NULL;
}

static bool shape_fits(const pn_qweight *w, const quant_type *type)
{
    if (!type || !type->traits.dequantizes || w->rows < 0 || w->cols < 0)
        return false;
    if ((size_t)w->cols % type->traits.block_elems != 0)
        return false;
    return w->row_stride >= (size_t)w->cols / type->traits.block_elems * type->traits.block_bytes;
}

int pn_qmv(const pn_qweight *w, const float *x, float *y, unsigned n_threads)
{
    const quant_type *type = quant_type_of(w->type);
    rows_job jobs[MAX_THREADS];

    if (!shape_fits(w, type))
        return EINVAL;
    n_threads = MAX(1, MIN(n_threads, MIN((unsigned)w->rows, MAX_THREADS)));
    for (unsigned i = 0; i < n_threads; i++) {
        jobs[i] = (rows_job){w,
                             type,
                             x,
                             y,
                             .first_row = (int)((int64_t)w->rows * i / n_threads),
                             .end_row = (int)((int64_t)w->rows * (i + 1) / n_threads)};
        jobs[i].in_thread =
            i > 0 && pthread_create(&jobs[i].thread, NULL, multiply_rows, &jobs[i]) == 0;
    }
    for (unsigned i = 0; i < n_threads; i++)
        if (!jobs[i].in_thread)
            multiply_rows(&jobs[i]);
    for (unsigned i = 0; i < n_threads; i++)
        if (jobs[i].in_thread)
            pthread_join(jobs[i].thread, NULL);
    return 0;
}
