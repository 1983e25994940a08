/* Escaping of names: every class of byte, and that nothing unsafe is left of random bytes. */
#include "gguf/escape.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *bytes;
    size_t len;
    const char *escaped;
} cases[] = {
    {"", 0, ""},
    {"blk.0.attn_q.weight", 19, "blk.0.attn_q.weight"},
    {"a/b", 3, "a%2Fb"},
    {"a\0b", 3, "a%00b"},
    {"\x01\x1F\x7F\n\t ", 6, "%01%1F%7F%0A%09 "},
    {"100%", 4, "100%25"},
    {"\xC2\x80\xC2\x9F\xC2\xA0", 6, "%C2%80%C2%9F\xC2\xA0"},
    {"gr\xC3\xBC\xC3\x9F", 6, "gr\xC3\xBC\xC3\x9F"},
    {"\xE2\x96\x81the", 6, "\xE2\x96\x81the"},
    {"\xF0\x9F\x98\x80", 4, "\xF0\x9F\x98\x80"},
    {"\xF0\x9F\x98", 3, "%F0%9F%98"},        /* cut off */
    {"\xC3(", 2, "%C3("},                    /* no continuation */
    {"\x80\xBF\xFF\xFE", 4, "%80%BF%FF%FE"}, /* stray bytes */
    {"\xC0\xAF\xC1\xBF", 4, "%C0%AF%C1%BF"}, /* overlong */
    {"\xE0\x9F\xBF", 3, "%E0%9F%BF"},
    {"\xE0\xA0\x80", 3, "\xE0\xA0\x80"},
    {"\xED\x9F\xBF\xED\xA0\x80", 6, "\xED\x9F\xBF%ED%A0%80"}, /* surrogate */
    {"\xF0\x8F\xBF\xBF\xF0\x90\x80\x80", 8, "%F0%8F%BF%BF\xF0\x90\x80\x80"},
    {"\xF4\x8F\xBF\xBF\xF4\x90\x80\x80", 8, "\xF4\x8F\xBF\xBF%F4%90%80%80"},
    {"\xF5\x80\x80\x80", 4, "%F5%80%80%80"},
};

START_TEST(test_cases)
{
    g_autoptr(GString) out = g_string_new(NULL);
    pn_escape(out, cases[_i].bytes, cases[_i].len);
    ck_assert_str_eq(out->str, cases[_i].escaped);
}
END_TEST

static size_t unescape(const char *text, char *bytes)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        if (*text == '%') {
            bytes[n++] = (char)(g_ascii_xdigit_value(text[1]) << 4 | g_ascii_xdigit_value(text[2]));
            text += 2;
        } else {
            bytes[n++] = *text;
        }
    }
    return n;
}

START_TEST(test_random_bytes)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(2);
    for (int round = 0; round < 20000; round++) {
        char bytes[16], back[16];
        size_t len = (size_t)g_rand_int_range(rand, 0, 16);
        for (size_t i = 0; i < len; i++)
            bytes[i] = (char)g_rand_int_range(rand, round % 2 ? 0 : 0x78, 0x100);

        g_autoptr(GString) out = g_string_new(NULL);
        pn_escape(out, bytes, len);
        ck_assert(g_utf8_validate(out->str, (gssize)out->len, NULL));
        ck_assert_ptr_null(strchr(out->str, '/'));
        for (const char *p = out->str; *p != '\0'; p = g_utf8_next_char(p))
            ck_assert(!g_unichar_iscntrl(g_utf8_get_char(p)));
        ck_assert_uint_eq(unescape(out->str, back), len);
        ck_assert_mem_eq(back, bytes, len);
    }
}
END_TEST

START_TEST(test_brief)
{
    g_autoptr(GString) out = g_string_new(NULL);
    pn_escape_brief(out, "a/b\n", 4);
    ck_assert_str_eq(out->str, "a/b%0A");

    /* Cuts fall inside "ü" on both sides: no half is left. */
    g_autoptr(GString) name = g_string_new("x");
    for (int i = 0; i < 500; i++)
        g_string_append(name, "ü");
    g_string_append(name, "x");
    g_string_truncate(out, 0);
    pn_escape_brief(out, name->str, name->len);
    ck_assert(g_utf8_validate(out->str, -1, NULL));
    ck_assert_ptr_null(strchr(out->str, '%'));
    ck_assert_ptr_nonnull(strstr(out->str, "…"));
    ck_assert_uint_lt(out->len, 200);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("escape");
    tcase_add_loop_test(tc, test_cases, 0, G_N_ELEMENTS(cases));
    tcase_add_test(tc, test_random_bytes);
    tcase_add_test(tc, test_brief);
    Suite *suite = suite_create("escape");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
