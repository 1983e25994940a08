/* The crafted files of tests/data/cases: each mounts, mounts with problems, or is refused, as
 * expected.tsv says, and the sentences name what is wrong. */
#include <pantheon/gguf.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* What the error, or one of the problems, must say. */
static const struct {
    const char *file, *says;
} sentences[] = {
    {"017_dup_tensor", "tensor 2 (a) has the name of an earlier tensor"},
    {"020_dup_key", "has the name of an earlier key"},
    {"021_empty_key", "has an empty name"},
    {"032_bool_2", "holds a bool that is stored as 2"},
    {"035_arr_unknown_et", "array of type 77"},
    {"036_val_unknown", "value of type 13"},
    {"040_arr_nest_3000", "nests arrays more than 16 deep"},
    {"041_arr_len_2p63", "9223372036854775808 elements of an array"},
    {"042_arr_len_wrap", "elements of an array"},
    {"043_str_len_max", "18446744073709551615 bytes of a string"},
    {"044_str_len_past_eof", "the file ends inside key"},
    {"045_nkv_2p63", "9223372036854775808 keys"},
    {"046_nt_2p63", "9223372036854775808 tensors"},
    {"047_nkv_too_many", "the file"},
    {"048_nt_500M", "claims 500000000 tensors"},
    {"050_align_0", "general.alignment is 0"},
    {"051_align_3", "general.alignment is 3"},
    {"052_align_48", "general.alignment is 48"},
    {"055_align_u64_type", "general.alignment is of type uint64"},
    {"056_align_i32_type", "general.alignment is of type int32"},
    {"057_align_2p31", "is cut off by the end of the file: 0 of"},
    {"058_align_arr", "general.alignment is of type array"},
    {"060_offset_unaligned", "tensor 2 (b) begins at offset 12, no multiple of the alignment, 32"},
    {"061_offset_gap", "tensor 2 (b) comes after 64 bytes that belong to no tensor"},
    {"062_overlap", "tensor 2 (b) overlaps tensor 1 (a)"},
    {"065_past_eof", "tensor 2 (b) is cut off by the end of the file: 8 of its"},
    {"066_offset_2p40", "tensor 1 (a) is cut off by the end of the file: 0 of its"},
    {"067_offset_wrap", "tensor 1 (a) is cut off by the end of the file: 0 of its"},
    {"069_trailing_garbage", "72 bytes follow the last tensor"},
    {"070_no_data_section", "(a) is cut off by the end of the file: 0 of its"},
    {"073_dims_overflow", "impossible dimensions"},
    {"074_dims_pad_wrap", "impossible dimensions"},
    {"075_dims_neg", "18446744073709551615"},
    {"076_ndims_huge", "claims 4294967295 dimensions"},
    {"080_q4k_row_partial", "rows of 896 elements, no whole number of Q4_K blocks of 256"},
    {"081_q6k_8x64", "rows of 8 elements, no whole number of Q6_K blocks of 256"},
    {"083_type_31_q4_0_4_4", "is of type 31, which is unknown"},
    {"087_type_139_iq4_k", "is of type 139, which is unknown"},
    {"089_type_43", "is of type 43, which is unknown"},
    {"090_type_neg1", "is of type 4294967295, which is unknown"},
    {"103_v4", "is GGUF version 4"},
    {"104_v0", "is GGUF version 0"},
    {"106_be_fugg", "FUGG"},
    {"107_ggjt", "GGJT"},
    {"108_html", "HTML"},
    {"109_lfs_pointer", "git-lfs pointer"},
    {"110_empty", "is empty"},
    {"111_short_magic", "ends inside its first four bytes"},
    {"112_prefix7", "it begins with 31 32 33 34"},
    {"113_concat_two", "bytes follow the last tensor"},
};

static char *data_path(const char *name)
{
    return g_build_filename(g_getenv("PN_TEST_DATA"), "cases", name, NULL);
}

/* The lines of expected.tsv: file and outcome. */
static GPtrArray *expected;

static void load_expected(void)
{
    g_autofree char *path = data_path("expected.tsv");
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    expected = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    for (size_t i = 1; lines[i] != NULL && lines[i][0] != '\0'; i++)
        g_ptr_array_add(expected, g_strsplit(lines[i], "\t", 3));
}

static char *problems_text(const pn_gguf_file *file)
{
    GString *text = g_string_new(NULL);
    for (uint64_t i = 0; i < file->n_problems; i++) {
        pn_gguf_problem_text(file, i, text);
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}

static void check_sentence(const char *name, const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(sentences); i++)
        if (g_str_has_prefix(name, sentences[i].file))
            ck_assert_msg(strstr(text, sentences[i].says) != NULL, "%s: \"%s\" not in \"%s\"", name,
                          sentences[i].says, text);
    ck_assert(g_utf8_validate(text, -1, NULL));
    for (const char *p = text; *p != '\0'; p++)
        ck_assert(*p == '\n' || !g_ascii_iscntrl(*p));
}

/* Every byte that the tables point at can be read. */
static unsigned touch(const void *bytes, uint64_t len)
{
    unsigned sum = 0;
    for (uint64_t i = 0; i < len; i++)
        sum += ((const uint8_t *)bytes)[i];
    return sum;
}

static void check_model(const pn_gguf_file *file)
{
    unsigned sum = 0;
    uint64_t found;

    for (uint64_t i = 0; i < file->n_kv; i++) {
        pn_gguf_kv kv = pn_gguf_kv_at(file, i);
        sum += touch(kv.key, kv.key_len) + touch(kv.data, kv.nbytes);
        ck_assert(pn_gguf_find_kv(file, kv.key, kv.key_len, kv.nth, &found));
        ck_assert_uint_eq(found, i);
    }
    for (uint64_t i = 0; i < file->n_tensors; i++) {
        pn_gguf_tensor t = pn_gguf_tensor_at(file, i);
        sum += touch(t.name, t.name_len) + touch(t.data, t.available);
        ck_assert_uint_le(t.available, t.nbytes);
        ck_assert(t.has_f32 <= (t.traits != NULL));
        ck_assert(pn_gguf_find_tensor(file, t.name, t.name_len, t.nth, &found));
        ck_assert_uint_eq(found, i);
    }
    ck_assert_uint_ge(sum, 0);
}

START_TEST(test_case)
{
    GStrv line = g_ptr_array_index(expected, _i);
    g_autofree char *path = data_path(line[0]);
    g_autoptr(GError) error = NULL;
    g_autoptr(pn_gguf_file) file = pn_gguf_open(path, false, &error);

    if (strcmp(line[1], "refused") == 0) {
        ck_assert_msg(file == NULL, "%s: not refused", line[0]);
        ck_assert_msg(g_str_has_prefix(error->message, path), "%s", error->message);
        check_sentence(line[0], error->message);
        return;
    }
    ck_assert_msg(file != NULL, "%s", file == NULL ? error->message : "");
    g_autofree char *problems = problems_text(file);
    bool has_problem = strcmp(line[1], "mounts, problem") == 0;
    ck_assert_msg((file->n_problems > 0) == has_problem, "%s: problems: \"%s\"", line[0], problems);
    if (has_problem)
        check_sentence(line[0], problems);
    check_model(file);
}
END_TEST

/* What some of the files hold, to the number. */

static pn_gguf_file *open_case(const char *name)
{
    g_autofree char *path = data_path(name);
    g_autoptr(GError) error = NULL;
    pn_gguf_file *file = pn_gguf_open(path, false, &error);
    ck_assert_msg(file != NULL, "%s", file == NULL ? error->message : "");
    return file;
}

static const struct {
    const char *file;
    uint64_t tensor;
    uint64_t rel_offset, nbytes, available;
    bool has_f32;
} tensors[] = {
    {"001_ok_scalar_ndims0.gguf", 0, 0, 4, 4, true},
    {"053_align_1.gguf", 1, 12, 32, 32, true},
    {"060_offset_unaligned.gguf", 1, 12, 32, 32, true},
    {"062_overlap.gguf", 0, 0, 64, 64, true},
    {"065_past_eof.gguf", 0, 0, 32, 32, true},
    {"065_past_eof.gguf", 1, 32, 32, 8, true},
    {"066_offset_2p40.gguf", 0, UINT64_C(1) << 40, 32, 0, true},
    {"081_q6k_8x64.gguf", 0, 0, 448, 448, false},
    {"083_type_31_q4_0_4_4.gguf", 0, 0, 32, 32, false},
    {"083_type_31_q4_0_4_4.gguf", 1, 32, 32, 32, true},
    {"100_v1.gguf", 0, 0, 32, 32, true},
    {"105_be_v3.gguf", 0, 0, 32, 32, true},
};

START_TEST(test_tensor)
{
    g_autoptr(pn_gguf_file) file = open_case(tensors[_i].file);
    ck_assert_uint_lt(tensors[_i].tensor, file->n_tensors);
    pn_gguf_tensor t = pn_gguf_tensor_at(file, tensors[_i].tensor);
    ck_assert_uint_eq(t.rel_offset, tensors[_i].rel_offset);
    ck_assert_uint_eq(t.nbytes, tensors[_i].nbytes);
    ck_assert_uint_eq(t.available, tensors[_i].available);
    ck_assert_int_eq(t.has_f32, tensors[_i].has_f32);
}
END_TEST

int main(void)
{
    load_expected();
    g_assert_cmpuint(expected->len, >=, 95);
    TCase *tc = tcase_create("cases");
    tcase_add_loop_test(tc, test_case, 0, (int)expected->len);
    tcase_add_loop_test(tc, test_tensor, 0, G_N_ELEMENTS(tensors));
    Suite *suite = suite_create("gguf-cases");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    g_ptr_array_unref(expected);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
