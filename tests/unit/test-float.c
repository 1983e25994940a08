/* Numbers as text: the shortest digits, against a table that NumPy wrote (tests/data/floats.tsv:
 * kind, bits in hex, text), and as a property of random numbers: they read back to the same bits,
 * and one digit fewer does not. */
#include "view/number.h"

#include <check.h>
#include <glib.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *text_f32(float value)
{
    static char out[NUMBER_TEXT_MAX + 1];
    out[number_f32(out, value)] = '\0';
    return out;
}

static const char *text_f64(double value)
{
    static char out[NUMBER_TEXT_MAX + 1];
    out[number_f64(out, value)] = '\0';
    return out;
}

static float f32_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double f64_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

START_TEST(as_numpy)
{
    g_autofree char *path = g_build_filename(g_getenv("PN_TEST_DATA"), "floats.tsv", NULL);
    g_autofree char *table = NULL;
    ck_assert(g_file_get_contents(path, &table, NULL, NULL));

    g_auto(GStrv) lines = g_strsplit(g_strstrip(table), "\n", -1);
    for (char **line = lines; *line; line++) {
        g_auto(GStrv) fields = g_strsplit(*line, "\t", 3);
        uint64_t bits = g_ascii_strtoull(fields[1], NULL, 16);
        if (strcmp(fields[0], "f32") == 0)
            ck_assert_str_eq(text_f32(f32_of((uint32_t)bits)), fields[2]);
        else
            ck_assert_str_eq(text_f64(f64_of(bits)), fields[2]);
    }
    ck_assert_uint_gt(g_strv_length(lines), 500);
}
END_TEST

static int count_digits(const char *text)
{
    int n = 0, zeros = 0;

    for (; *text && *text != 'e'; text++) {
        if (!g_ascii_isdigit(*text))
            continue;
        zeros = *text == '0' ? zeros + 1 : 0;
        if (n > 0 || *text != '0')
            n++;
    }
    return n - MIN(zeros, n);
}

START_TEST(shortest_that_reads_back)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(2);

    for (int i = 0; i < 200000; i++) {
        uint64_t bits = (uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand);
        double value = f64_of(bits);
        if (!isfinite(value))
            continue;
        const char *text = text_f64(value);
        ck_assert_msg(g_ascii_strtod(text, NULL) == value, "%016" G_GINT64_MODIFIER "x", bits);
        if (i % 16 == 0 && count_digits(text) > 1) {
            char shorter[64], format[16];
            g_snprintf(format, sizeof format, "%%.%de", count_digits(text) - 2);
            g_ascii_formatd(shorter, sizeof shorter, format, value);
            ck_assert(g_ascii_strtod(shorter, NULL) != value);
        }

        float f = f32_of((uint32_t)bits);
        if (isfinite(f))
            ck_assert(strtof(text_f32(f), NULL) == f);
    }
}
END_TEST

START_TEST(integers)
{
    char out[NUMBER_TEXT_MAX + 1];
    static const struct {
        int64_t value;
        const char *text;
    } signed_numbers[] = {{0, "0"},
                          {-1, "-1"},
                          {-128, "-128"},
                          {INT64_MAX, "9223372036854775807"},
                          {INT64_MIN, "-9223372036854775808"}};

    for (size_t i = 0; i < G_N_ELEMENTS(signed_numbers); i++) {
        out[number_i64(out, signed_numbers[i].value)] = '\0';
        ck_assert_str_eq(out, signed_numbers[i].text);
    }
    out[number_u64(out, UINT64_MAX)] = '\0';
    ck_assert_str_eq(out, "18446744073709551615");
    out[number_u64(out, 10)] = '\0';
    ck_assert_str_eq(out, "10");
}
END_TEST

START_TEST(no_locale)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8"))
        return;
    ck_assert_str_eq(text_f32(0.1f), "0.1");
    setlocale(LC_ALL, "C");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("float");
    TCase *tests = tcase_create("float");

    tcase_add_test(tests, as_numpy);
    tcase_add_test(tests, shortest_that_reads_back);
    tcase_add_test(tests, integers);
    tcase_add_test(tests, no_locale);
    suite_add_tcase(suite, tests);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
