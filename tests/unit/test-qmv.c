/* The matrix-vector product on every path: within its error bound of a float64 reference, for all
 * types, shapes and numbers of threads; and shapes that do not fit are refused. */
#include "quant/types.h"

#include <pantheon/qmv.h>

#include <check.h>
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where the codes of the types with an offset stand in their blocks: with all codes 0 a block
 * dequantizes to its offsets. */
static const struct {
    pn_gguf_quant type;
    size_t codes, end;
} with_offset[] = {
    {PN_GGUF_Q4_1, 4, 20},   {PN_GGUF_Q5_1, 4, 24},   {PN_GGUF_Q2_K, 16, 80},
    {PN_GGUF_Q4_K, 16, 144}, {PN_GGUF_Q5_K, 16, 176},
};

static void offsets_of(const pn_quant_traits *traits, const uint8_t *block, float *offsets)
{
    uint8_t without_codes[PN_QUANT_MAX_BLOCK_BYTES];

    memset(offsets, 0, PN_QUANT_MAX_BLOCK_ELEMS * sizeof *offsets);
    for (size_t i = 0; i < G_N_ELEMENTS(with_offset); i++) {
        if (with_offset[i].type != traits->id)
            continue;
        memcpy(without_codes, block, traits->block_bytes);
        memset(without_codes + with_offset[i].codes, 0, with_offset[i].end - with_offset[i].codes);
        pn_dequantize(traits->id, false, without_codes, offsets, 1);
    }
}

/* Random blocks whose values and offsets are finite and of ordinary size. */
static void random_blocks(const pn_quant_traits *traits, uint8_t *block, size_t n, GRand *rand)
{
    float values[PN_QUANT_MAX_BLOCK_ELEMS], offsets[PN_QUANT_MAX_BLOCK_ELEMS];

    for (size_t i = 0; i < n; i++, block += traits->block_bytes) {
        bool ordinary = false;
        while (!ordinary) {
            for (uint32_t j = 0; j < traits->block_bytes; j++)
                block[j] = (uint8_t)g_rand_int(rand);
            pn_dequantize(traits->id, false, block, values, 1);
            offsets_of(traits, block, offsets);
            ordinary = true;
            for (uint32_t j = 0; j < traits->block_elems; j++) {
                float size = fabsf(values[j]);
                ordinary &= size == 0 || (size > 0x1p-60f && size < 0x1p60f);
                ordinary &= fabsf(offsets[j]) < 0x1p60f;
            }
        }
    }
}

/* The row times x in float64, and the magnitude that the bound of qmv.h is a multiple of. */
static double reference(const pn_quant_traits *traits, const uint8_t *row, size_t cols,
                        const float *x, double *magnitude)
{
    float values[PN_QUANT_MAX_BLOCK_ELEMS], offsets[PN_QUANT_MAX_BLOCK_ELEMS];
    double sum = 0;

    *magnitude = 0;
    for (size_t col = 0; col < cols; col += traits->block_elems, row += traits->block_bytes) {
        pn_dequantize(traits->id, false, row, values, 1);
        offsets_of(traits, row, offsets);
        for (uint32_t j = 0; j < traits->block_elems; j++) {
            double w = values[j], offset = offsets[j];
            sum += w * x[col + j];
            *magnitude += (fabs(w - offset) + fabs(offset)) * fabs(x[col + j]);
        }
    }
    return sum;
}

static void check_product(const pn_quant_traits *traits, int rows, int cols, size_t gap,
                          unsigned n_threads, GRand *rand)
{
    const size_t n_blocks = (size_t)cols / traits->block_elems;
    const size_t stride = n_blocks * traits->block_bytes + gap;
    g_autofree uint8_t *data = g_malloc0(stride * (size_t)rows + 1);
    g_autofree float *x = g_new(float, cols);
    g_autofree float *y = g_new(float, rows);

    for (int i = 0; i < cols; i++)
        x[i] = (float)g_rand_double_range(rand, -2, 2);
    for (int i = 0; i < rows; i++)
        random_blocks(traits, data + (size_t)i * stride, n_blocks, rand);

    const pn_qweight w = {data, traits->id, rows, cols, stride};
    ck_assert_int_eq(pn_qmv(&w, x, y, n_threads), 0);
    for (int i = 0; i < rows; i++) {
        double magnitude;
        double want = reference(traits, data + (size_t)i * stride, (size_t)cols, x, &magnitude);
        double bound = (cols / 8.0 + 64) * 0x1p-24 * magnitude;
        if (!(fabs(y[i] - want) <= bound))
            ck_abort_msg("%s, %s: row %d of %d × %d is %.9g, should be %.9g ± %.3g", traits->name,
                         quant_path_name(quant_path_now()), i, rows, cols, y[i], want, bound);
    }
}

START_TEST(test_product)
{
    const pn_quant_traits *traits = pn_quant_traits_at((size_t)_i);
    const int block = (int)traits->block_elems;
    g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)_i);

    for (int path = 0; path < QUANT_PATHS; path++) {
        if (!quant_path_choose((quant_path)path))
            continue;
        for (int blocks = 0; blocks < 12; blocks++)
            check_product(traits, 3, blocks * block, (size_t)blocks % 3, 0, rand);
        check_product(traits, 5, 1024, 0, 1, rand);
        check_product(traits, 2, 16384 + block, 0, 1, rand); /* more than one strip of columns */
        check_product(traits, 7, 512, 1, 3, rand);
        check_product(traits, 2, 256, 0, 9, rand); /* more threads than rows */
        check_product(traits, 0, 256, 0, 2, rand);
    }
}
END_TEST

/* Odd numbers of columns, where a block is one number. */
START_TEST(test_odd_columns)
{
    const pn_quant_traits *traits = pn_quant_traits_at((size_t)_i);
    g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)_i);

    if (traits->block_elems != 1)
        return;
    for (int path = 0; path < QUANT_PATHS; path++)
        if (quant_path_choose((quant_path)path))
            for (int cols = 1; cols < 300; cols += 7)
                check_product(traits, 2, cols, 1, 1, rand);
}
END_TEST

START_TEST(test_refused)
{
    uint8_t data[2 * 36] = {0};
    float x[64] = {0}, y[2] = {1, 1};
    const pn_qweight good = {data, PN_GGUF_Q4_0, 2, 64, 36};
    pn_qweight w = good;

    ck_assert_int_eq(pn_qmv(&w, x, y, 1), 0);
    ck_assert_float_eq(y[0], 0);
    w.cols = 48; /* no whole number of blocks */
    ck_assert_int_eq(pn_qmv(&w, x, y, 1), EINVAL);
    w = good;
    w.row_stride = 35; /* rows overlap */
    ck_assert_int_eq(pn_qmv(&w, x, y, 1), EINVAL);
    w = good;
    w.rows = -1;
    ck_assert_int_eq(pn_qmv(&w, x, y, 1), EINVAL);
    w = good;
    w.cols = -32;
    ck_assert_int_eq(pn_qmv(&w, x, y, 1), EINVAL);
    w = good;
    w.type = (pn_gguf_quant)5;
    ck_assert_int_eq(pn_qmv(&w, x, y, 1), EINVAL);
}
END_TEST

/* A row that is not finite gives what is not finite, and spoils no other row. */
START_TEST(test_not_finite)
{
    float x[256], y[2];
    uint8_t rows[2 * 8 * 18] = {0};
    const pn_qweight w = {rows, PN_GGUF_Q4_0, 2, 256, 8 * 18};

    for (int i = 0; i < 256; i++)
        x[i] = (float)i;
    for (int i = 0; i < 16; i++)
        rows[18 * i + 1] = 0x3c; /* d = 1, codes -8 */
    rows[18 * 3 + 1] = 0x7c;     /* infinity, in the first row */
    for (int path = 0; path < QUANT_PATHS; path++) {
        if (!quant_path_choose((quant_path)path))
            continue;
        ck_assert_int_eq(pn_qmv(&w, x, y, 1), 0);
        ck_assert(!isfinite(y[0]));
        ck_assert_float_eq(y[1], -8 * 255 * 128);
    }
}
END_TEST

int main(void)
{
    int n_types = 0;
    while (pn_quant_traits_at((size_t)n_types))
        n_types++;

    Suite *suite = suite_create("qmv");
    TCase *tcase = tcase_create("qmv");
    tcase_add_loop_test(tcase, test_product, 0, n_types);
    tcase_add_loop_test(tcase, test_odd_columns, 0, n_types);
    tcase_add_test(tcase, test_refused);
    tcase_add_test(tcase, test_not_finite);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
