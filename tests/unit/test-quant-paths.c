/* Every path that this processor has gives what the portable one gives, to the bit (NaN by class):
 * random blocks of all types, any alignment, any number of blocks. */
#include "quant/types.h"

#include <check.h>
#include <glib.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BLOCKS = 40 };

static bool same_value(uint32_t a, uint32_t b)
{
    return a == b || ((a & 0x7fffffff) > 0x7f800000 && (b & 0x7fffffff) > 0x7f800000);
}

static void random_bytes(GRand *rand, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)g_rand_int(rand);
}

/* The buffers are exact, so that a byte read or written past an end is an error to the
 * sanitizer. */
static void check_path(const pn_quant_traits *traits, quant_path path, size_t n_blocks, size_t skew,
                       GRand *rand)
{
    const size_t n = n_blocks * traits->block_elems;
    const size_t size = n_blocks * traits->block_bytes;
    g_autofree uint8_t *src = g_malloc(size + skew);
    g_autofree uint8_t *dst = g_malloc(n * 4 + skew);
    g_autofree float *want = g_new(float, n);
    uint8_t *const from = src + skew;
    float *const to = (float *)(void *)(dst + skew);

    random_bytes(rand, from, size);
    quant_path_choose(QUANT_PORTABLE);
    pn_dequantize(traits->id, false, from, want, n_blocks);
    quant_path_choose(path);
    pn_dequantize(traits->id, false, from, to, n_blocks);

    for (size_t i = 0; i < n; i++) {
        uint32_t a, b;
        memcpy(&a, (uint8_t *)to + 4 * i, 4);
        memcpy(&b, want + i, 4);
        if (!same_value(a, b))
            ck_abort_msg("%s, %s: element %zu of %zu is %08x, should be %08x", traits->name,
                         quant_path_name(path), i, n, a, b);
    }
}

START_TEST(test_paths)
{
    const pn_quant_traits *traits = pn_quant_traits_at((size_t)_i);
    g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)_i);

    for (int path = 0; path < QUANT_PATHS; path++) {
        if (!quant_path_choose((quant_path)path))
            continue;
        for (size_t skew = 0; skew < 16; skew++)
            check_path(traits, (quant_path)path, MAX_BLOCKS, skew, rand);
        for (size_t n_blocks = 0; n_blocks < MAX_BLOCKS; n_blocks++)
            check_path(traits, (quant_path)path, n_blocks, n_blocks % 16, rand);
        for (int round = 0; round < 20; round++)
            check_path(traits, (quant_path)path, MAX_BLOCKS, 0, rand);
    }
}
END_TEST

START_TEST(test_choose)
{
    quant_path best = quant_path_now();
    ck_assert(quant_path_choose(best));
    ck_assert(quant_path_choose(QUANT_PORTABLE));
    ck_assert_int_eq(quant_path_now(), QUANT_PORTABLE);
    ck_assert_str_eq(quant_path_name(QUANT_PORTABLE), "portable");
}
END_TEST

int main(void)
{
    int n_types = 0;
    while (pn_quant_traits_at((size_t)n_types))
        n_types++;

    Suite *suite = suite_create("quant-paths");
    TCase *tcase = tcase_create("quant-paths");
    tcase_add_test(tcase, test_choose);
    tcase_add_loop_test(tcase, test_paths, 0, n_types);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
