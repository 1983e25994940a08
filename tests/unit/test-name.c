/* File names: the rule by examples, and what must hold for any bytes. */
#include "view/name.h"

#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#define A10  "aaaaaaaaaa"
#define A50  A10 A10 A10 A10 A10
#define A200 A50 A50 A50 A50
#define A221 A200 A10 A10 "a"
#define A230 A200 A10 A10 A10
#define A231 A230 "a"
#define A233 A230 "aaa"
#define A248 A230 A10 "aaaaaaaa"
#define A250 A200 A50
#define A251 A250 "a"
#define E10  "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"

typedef struct {
    const char *bytes;
    size_t len;
    uint32_t nth;
    const char *suffix;
    const char *file_name;
} example;

/* clang-format off */
static const example examples[] = {
    {"blk.0.attn_q.weight", 19, 1, NULL, "blk.0.attn_q.weight"},
    {"blk.0.attn_q.weight", 19, 1, ".npy", "blk.0.attn_q.weight.npy"},
    {"a", 1, 2, NULL, "a%~2"},
    {"a", 1, UINT32_MAX, ".npy", "a%~4294967295.npy"},
    {"", 0, 1, NULL, "%"},
    {"", 0, 1, ".npy", "%.npy"},
    {"", 0, 2, NULL, "%%~2"},
    {".", 1, 1, NULL, "%2E"},
    {".", 1, 1, ".npy", "%2E.npy"},
    {"..", 2, 1, NULL, "%2E%2E"},
    {"..", 2, 3, NULL, "%2E%2E%~3"},
    {"...", 3, 1, NULL, "..."},
    {"%", 1, 1, NULL, "%25"},
    {"a%~2", 4, 1, NULL, "a%25~2"},
    {"a/b", 3, 1, NULL, "a%2Fb"},
    {"a\0b", 3, 1, NULL, "a%00b"},
    {"a\nb\x7f", 4, 1, NULL, "a%0Ab%7F"},
    {"\xc2\x85\xc2\xa0", 4, 1, NULL, "%C2%85\xc2\xa0"},
    {"\xff\xc3\xa9\xc3", 4, 1, NULL, "%FF\xc3\xa9%C3"},
    {"\xed\xa0\x80", 3, 1, NULL, "%ED%A0%80"},
    {"~", 1, 1, NULL, "~"},
    {A251, 251, 1, ".npy", A251 ".npy"},
    {A248, 248, 2, NULL, A248 "%~2"},
    {A251 "a", 252, 1, NULL, A233 "%~03aaf5773717feae"},
    {A251, 251, 2, ".npy", A230 "%~772f911dd9d66928%~2.npy"},
    {A251, 251, UINT32_MAX, NULL, A221 "%~772f911dd9d66928%~4294967295"},
    {A250 "\xc3\xa9", 252, 1, NULL, A233 "%~9d274a431b69af48"},
    {A231 "a" E10 E10, 272, 1, NULL, A231 "a%~aace54452ca7103f"}, /* never inside a character, */
    {A231 "//////////" "//////////", 251, 1, NULL, A231 "%~47abbb7c61f337b7"}, /* nor a %XX */
};
/* clang-format on */

START_TEST(follows_the_rule)
{
    const example *e = &examples[_i];
    char name[VIEW_NAME_MAX + 1];

    view_file_name(name, e->bytes, e->len, e->nth, e->suffix);
    ck_assert_str_eq(name, e->file_name);
}
END_TEST

/* The one way back: to the true name, or to what stands for it. */
START_TEST(reads_back)
{
    const example *e = &examples[_i];
    view_name name;

    ck_assert(view_name_parse(e->file_name, e->suffix, &name));
    ck_assert_uint_eq(name.nth, e->nth);
    ck_assert_int_eq(name.is_cut, view_name_is_cut(e->bytes, e->len, e->nth));
    if (name.is_cut) {
        ck_assert_uint_eq(name.hash, view_name_hash(e->bytes, e->len));
    } else {
        ck_assert_uint_eq(name.len, e->len);
        ck_assert_mem_eq(name.bytes, e->bytes, e->len);
    }
}
END_TEST

static const struct {
    const char *file_name, *suffix;
} strangers[] = {
    {"", NULL},
    {".npy", ".npy"},
    {"a", ".npy"},
    {"a.NPY", ".npy"},
    {"%4", NULL},
    {"%4g", NULL},
    {"%4a", NULL},
    {"a%", NULL},
    {"%%", NULL},
    {"a%~", NULL},
    {"a%~0", NULL},
    {"a%~1", NULL},
    {"a%~x", NULL},
    {"a%~2%~3", NULL},
    {"%~2", NULL},
    {"a%~4294967296", NULL},
    {"a%~-2", NULL},
    {"a%~03aaf5773717fea", NULL},
    {"a%~03AAF5773717FEAE", NULL},
    {"a%~00000000000", NULL},
    {A251 "a", NULL},
    {A251 "a.npy", ".npy"},
};

START_TEST(refuses_strangers)
{
    view_name name;
    ck_assert(!view_name_parse(strangers[_i].file_name, strangers[_i].suffix, &name));
}
END_TEST

/* Random names of every kind that is special: pieces of our own marks, bytes that are escaped,
 * characters of every length, lengths around the limit, the same name again. */
static void random_bytes(GRand *rand, GByteArray *out)
{
    static const char *const pieces[] = {
        "a", "b", ".", "..", "%",    "%~",   "%~2",      "%25",      "%~03aaf5773717feae",
        "~", "2", "/", "\n", "\xff", "\xc3", "\xc3\xa9", "\xc2\x85", "\xf0\x9f\x98\x80",
        A10, A50, A231};
    guint n = (guint)g_rand_int_range(rand, 0, 6);

    g_byte_array_set_size(out, 0);
    for (guint i = 0; i < n; i++) {
        gint which = g_rand_int_range(rand, -2, G_N_ELEMENTS(pieces));
        guint8 byte = (guint8)g_rand_int(rand);
        if (which < 0)
            g_byte_array_append(out, &byte, 1);
        else
            g_byte_array_append(out, (const guint8 *)pieces[which], (guint)strlen(pieces[which]));
    }
    if (g_rand_int_range(rand, 0, 8) == 0) {
        guint pad = (guint)g_rand_int_range(rand, 200, 260);
        while (out->len < pad)
            g_byte_array_append(out, (const guint8 *)"p", 1);
    }
}

static void check_name(const char *file_name, GBytes *true_name, uint32_t nth)
{
    gsize len;
    const char *bytes = g_bytes_get_data(true_name, &len);
    view_name parsed;

    ck_assert_uint_le(strlen(file_name), VIEW_STEM_MAX);
    ck_assert(g_utf8_validate(file_name, -1, NULL));
    ck_assert_ptr_null(strchr(file_name, '/'));
    ck_assert_str_ne(file_name, ".");
    ck_assert_str_ne(file_name, "..");

    ck_assert(view_name_parse(file_name, NULL, &parsed));
    ck_assert_uint_eq(parsed.nth, nth);
    if (parsed.is_cut) {
        ck_assert_uint_eq(parsed.hash, view_name_hash(bytes, len));
    } else {
        ck_assert_uint_eq(parsed.len, len);
        ck_assert_int_eq(len == 0 || memcmp(parsed.bytes, bytes, len) == 0, true);
    }

    char again[VIEW_NAME_MAX + 1];
    view_file_name_hashed(again, bytes, len, nth, ".npy", view_name_hash(bytes, len));
    ck_assert(g_str_has_prefix(again, file_name));
    ck_assert_str_eq(again + strlen(file_name), ".npy");
}

START_TEST(all_are_distinct_and_reversible)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(2);
    g_autoptr(GHashTable) counts =
        g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    for (unsigned i = 0; i < 50000; i++) {
        random_bytes(rand, bytes);
        GBytes *true_name = g_bytes_new(bytes->data, bytes->len);
        uint32_t nth = GPOINTER_TO_UINT(g_hash_table_lookup(counts, true_name)) + 1;
        char file_name[VIEW_NAME_MAX + 1];

        view_file_name(file_name, (const char *)bytes->data, bytes->len, nth, NULL);
        check_name(file_name, true_name, nth);
        ck_assert_msg(g_hash_table_add(names, g_strdup(file_name)), "twice: %s", file_name);
        g_hash_table_insert(counts, true_name, GUINT_TO_POINTER(nth));
    }
}
END_TEST

START_TEST(the_hash_is_the_head_of_sha256)
{
    char name[300];
    memset(name, 'a', sizeof name);
    ck_assert_uint_eq(view_name_hash(name, sizeof name), UINT64_C(0x9835fa6bf4e20a9b));
    ck_assert_uint_eq(view_name_hash(name, 0), UINT64_C(0xe3b0c44298fc1c14));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("name");
    TCase *tcase = tcase_create("name");
    tcase_add_loop_test(tcase, follows_the_rule, 0, G_N_ELEMENTS(examples));
    tcase_add_loop_test(tcase, reads_back, 0, G_N_ELEMENTS(examples));
    tcase_add_loop_test(tcase, refuses_strangers, 0, G_N_ELEMENTS(strangers));
    tcase_add_test(tcase, all_are_distinct_and_reversible);
    tcase_add_test(tcase, the_hash_is_the_head_of_sha256);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
