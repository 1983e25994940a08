/* float32 to float16 and bfloat16: around every value and every midpoint of the small format, and
 * the same bits on every path over patterns that are spread over all float32. */
#include "quant/scalar.h"
#include "quant/types.h"

#include <check.h>
#include <glib.h>
#include <stdlib.h>

typedef void (*narrow)(const float *src, uint16_t *dst, size_t n);

static const struct {
    narrow convert;
    uint32_t n_finite; /* positive: 0 to infinity, which is this number */
} formats[] = {
    {pn_f32_to_f16, 0x7c00},
    {pn_f32_to_bf16, 0x7f80},
};

static float widen(int format, uint32_t value)
{
    return format == 0 ? f32_of_f16((uint16_t)value) : f32_of_bits(value << 16);
}

/* The float32 between two neighbours of the small format; between the largest and what would be
 * next where infinity is. */
static uint32_t midpoint(int format, uint32_t value)
{
    if (format == 1)
        return value << 16 | 0x8000;
    double low = widen(format, value);
    double high = value + 1 == formats[0].n_finite ? 65536 : (double)widen(format, value + 1);
    return bits_of_f32((float)((low + high) / 2));
}

static void check_one(int format, uint32_t bits, uint32_t want)
{
    for (uint32_t sign = 0; sign < 2; sign++) {
        float values[9]; /* eight for the vectors and one for the rest */
        uint16_t got[9];
        for (int i = 0; i < 9; i++)
            values[i] = f32_of_bits(bits | sign << 31);
        formats[format].convert(values, got, 9);
        for (int i = 0; i < 9; i += 8)
            if (got[i] != (want | sign << 15))
                ck_abort_msg("%s: %08x becomes %04x, should be %04x",
                             quant_path_name(quant_path_now()), bits | sign << 31, got[i],
                             want | sign << 15);
    }
}

START_TEST(test_rounding)
{
    for (int path = 0; path < QUANT_PATHS; path++) {
        if (!quant_path_choose((quant_path)path))
            continue;
        for (uint32_t value = 0; value < formats[_i].n_finite; value++) {
            const uint32_t middle = midpoint(_i, value);
            check_one(_i, bits_of_f32(widen(_i, value)), value);
            check_one(_i, middle - 1, value);
            check_one(_i, middle, value + value % 2); /* the even one */
            check_one(_i, middle + 1, value + 1);
        }
        check_one(_i, 0x7f800000, formats[_i].n_finite);
        check_one(_i, 1, 0);
        check_one(_i, 0x7f7fffff, formats[_i].n_finite);
    }
}
END_TEST

START_TEST(test_nan)
{
    static const uint32_t nans[] = {0x7f800001, 0x7f801fff, 0x7fc00000, 0x7fffffff,
                                    0xff800001, 0xffbfffff, 0xffffffff};
    for (int path = 0; path < QUANT_PATHS; path++) {
        if (!quant_path_choose((quant_path)path))
            continue;
        for (size_t i = 0; i < G_N_ELEMENTS(nans); i++) {
            float values[9];
            uint16_t got[9];
            for (int k = 0; k < 9; k++)
                values[k] = f32_of_bits(nans[i]);
            formats[_i].convert(values, got, 9);
            for (int k = 0; k < 9; k++) {
                ck_assert_uint_gt(got[k] & 0x7fff, formats[_i].n_finite);
                ck_assert_uint_eq(got[k] >> 15, nans[i] >> 31);
            }
        }
    }
}
END_TEST

/* Patterns 509 apart, all of them: the low bits take every value. */
START_TEST(test_paths_agree)
{
    enum { N = 4096 };
    static float values[N];
    static uint16_t want[N], got[N];
    uint64_t bits = 0;

    while (bits <= UINT32_MAX) {
        for (int i = 0; i < N; i++, bits += 509)
            values[i] = f32_of_bits((uint32_t)bits);
        quant_path_choose(QUANT_PORTABLE);
        formats[_i].convert(values, want, N);
        for (int path = 1; path < QUANT_PATHS; path++) {
            if (!quant_path_choose((quant_path)path))
                continue;
            formats[_i].convert(values, got, N);
            ck_assert_mem_eq(got, want, sizeof want);
        }
    }
}
END_TEST

/* Any alignment, any number; the buffers are exact. */
START_TEST(test_misaligned)
{
    for (int path = 0; path < QUANT_PATHS; path++) {
        if (!quant_path_choose((quant_path)path))
            continue;
        for (size_t n = 0; n < 20; n++) {
            for (size_t skew = 0; skew < 4; skew++) {
                g_autofree uint8_t *src = g_malloc(4 * n + skew);
                g_autofree uint8_t *dst = g_malloc(2 * n + skew);
                for (size_t i = 0; i < n; i++) {
                    float value = (float)i;
                    memcpy(src + skew + 4 * i, &value, 4);
                }
                formats[_i].convert((float *)(void *)(src + skew), (uint16_t *)(void *)(dst + skew),
                                    n);
                for (size_t i = 0; i < n; i++)
                    ck_assert(widen(_i, u16_at(dst + skew + 2 * i)) == (float)i);
            }
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quant-narrow");
    TCase *tcase = tcase_create("quant-narrow");
    tcase_add_loop_test(tcase, test_rounding, 0, 2);
    tcase_add_loop_test(tcase, test_nan, 0, 2);
    tcase_add_loop_test(tcase, test_paths_agree, 0, 2);
    tcase_add_loop_test(tcase, test_misaligned, 0, 2);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
