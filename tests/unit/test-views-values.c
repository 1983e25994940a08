/* The values of keys, as text, as bytes and as JSON: every type, in every version and byte order,
 * and strings of bytes that are no text. */
#include "text-views.h"

#include "gguf-writer.h"
#include "reading.h"

#include <stdlib.h>

/* A file's variants: all hold the same values. */
static const struct {
    uint32_t version;
    bool big_endian;
} variants[] = {{1, false}, {2, false}, {3, false}, {3, true}};

static void check_text(opened_model *m, const view *v, uint64_t index, const char *expected)
{
    g_autofree char *text = text_of(m, v, index);
    ck_assert_str_eq(text, expected);
}

static void check_bytes(opened_model *m, uint64_t index, const void *expected, size_t len)
{
    GString *raw = read_whole(m, &view_metadata_raw, index);
    ck_assert_uint_eq(raw->len, len);
    ck_assert_int_eq(memcmp(raw->str, expected, len), 0);
    g_string_free(raw, TRUE);
}

static const struct {
    pn_gguf_type type;
    uint64_t bits;
    const char *text, *json; /* json NULL: the same */
} numbers[] = {
    {PN_GGUF_UINT8, 255, "255", NULL},
    {PN_GGUF_INT8, (uint64_t)-128, "-128", NULL},
    {PN_GGUF_UINT16, 65535, "65535", NULL},
    {PN_GGUF_INT16, (uint64_t)-32768, "-32768", NULL},
    {PN_GGUF_UINT32, 4294967295, "4294967295", NULL},
    {PN_GGUF_INT32, (uint64_t)INT32_MIN, "-2147483648", NULL},
    {PN_GGUF_UINT64, UINT64_MAX, "18446744073709551615", NULL},
    {PN_GGUF_INT64, (uint64_t)INT64_MIN, "-9223372036854775808", NULL},
    {PN_GGUF_BOOL, 0, "false", NULL},
    {PN_GGUF_BOOL, 1, "true", NULL},
    {PN_GGUF_BOOL, 2, "true", NULL},
    {PN_GGUF_BOOL, 255, "true", NULL},
    {PN_GGUF_FLOAT32, 0x461c4000, "10000.0", NULL},
    {PN_GGUF_FLOAT32, 0x3727c5ac, "1e-05", NULL},
    {PN_GGUF_FLOAT32, 0x80000000, "-0.0", NULL},
    {PN_GGUF_FLOAT32, 0x7fc00000, "nan", "\"NaN\""},
    {PN_GGUF_FLOAT32, 0xff800000, "-inf", "\"-Infinity\""},
    {PN_GGUF_FLOAT64, 0x3fb999999999999a, "0.1", NULL},
    {PN_GGUF_FLOAT64, 0x4341c37937e08000, "1e+16", NULL},
    {PN_GGUF_FLOAT64, 0x7ff0000000000000, "inf", "\"Infinity\""},
    {PN_GGUF_FLOAT64, 0xfff8000000000001, "nan", "\"NaN\""},
};

/* Where the bits of a float are given, not its value. */
static pn_gguf_type stored_as(pn_gguf_type type)
{
    return type == PN_GGUF_FLOAT32   ? PN_GGUF_UINT32
           : type == PN_GGUF_FLOAT64 ? PN_GGUF_UINT64
                                     : type;
}

/* Each number as a scalar, and twice in an array. */
START_TEST(numbers_of_every_type)
{
    g_autoptr(gguf_writer) w = writer_new(variants[_i].version, variants[_i].big_endian);

    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        g_autofree char *key = g_strdup_printf("scalar.%zu", i);
        writer_key(w, key, -1, numbers[i].type);
        writer_put_int(w, stored_as(numbers[i].type), numbers[i].bits);
        g_autofree char *array = g_strdup_printf("array.%zu", i);
        writer_key(w, array, -1, PN_GGUF_ARRAY);
        writer_put_array(w, numbers[i].type, 2);
        writer_put_int(w, stored_as(numbers[i].type), numbers[i].bits);
        writer_put_int(w, stored_as(numbers[i].type), numbers[i].bits);
    }

    opened_model m = open_bytes(writer_finish(w));
    g_autoptr(GString) json = g_string_new("{");
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        const char *text = numbers[i].text, *number = numbers[i].json ? numbers[i].json : text;
        size_t size = pn_gguf_type_size(numbers[i].type);
        char bytes[16];
        memcpy(bytes, &numbers[i].bits, 8); /* the tests' machine is little-endian */
        memcpy(bytes + size, &numbers[i].bits, 8);
        check_bytes(&m, 2 * i, bytes, size);
        check_bytes(&m, 2 * i + 1, bytes, 2 * size);

        g_autofree char *line = g_strconcat(text, "\n", NULL);
        g_autofree char *lines = g_strconcat(line, line, NULL);
        check_text(&m, &view_metadata, 2 * i, line);
        check_text(&m, &view_metadata, 2 * i + 1, lines);
        g_string_append_printf(json, "%s\n  \"scalar.%zu\": %s,\n  \"array.%zu\": [%s, %s]",
                               i > 0 ? "," : "", i, number, i, number, number);
    }
    g_string_append(json, "\n}\n");
    check_text(&m, &view_metadata_json, 0, json->str);
    close_model(&m);
}
END_TEST

static const struct {
    const char *bytes;
    size_t len;
    const char *line; /* in metadata/, as an element */
    const char *json;
} strings[] = {
    {"", 0, "", ""},
    {"plain", 5, "plain", "plain"},
    {"a\\n", 3, "a\\\\n", "a\\\\n"},
    {"l1\nl2\r\n", 7, "l1\\nl2\\r\\n", "l1\\nl2\\r\\n"},
    {"a\0b", 3, "a\\0b", "a\\u0000b"},
    {"\"\t\b\f\v\x1b\x7f", 7, "\"\t\b\f\v\x1b\x7f", "\\\"\\t\\b\\f\\u000b\\u001b\\u007f"},
    {"\xc2\x85\xc2\xa0", 4, "\xc2\x85\xc2\xa0", "\\u0085\xc2\xa0"},
    {"\xe2\x96\x81x", 4, "\xe2\x96\x81x", "\xe2\x96\x81x"},
    {"\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
    /* one U+FFFD for each longest piece of a character: the Unicode Standard, table 3-8 ff. */
    {"\x80\xbf", 2, "\x80\xbf", "\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xc0\xaf", 2, "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xe0\x80\xbf", 3, "\xe0\x80\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xed\xa0\x80", 3, "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", 9, "\xf4\x91\x92\x93\xff\x41\x80\xbf\x42",
     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\x41\xef\xbf\xbd\xef\xbf\xbd"
     "\x42"},
    {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", 9, "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41",
     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\x41"},
    {"\xe2\x96", 2, "\xe2\x96", "\xef\xbf\xbd"},
    {"\xf0\x9f\x98", 3, "\xf0\x9f\x98", "\xef\xbf\xbd"},
    {"\xf0\x9f", 2, "\xf0\x9f", "\xef\xbf\xbd"},
    {"\xf0\x8f\x98", 3, "\xf0\x8f\x98", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xf5\x80", 2, "\xf5\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xc3(", 2, "\xc3(", "\xef\xbf\xbd("},
};

static GString *joined(const char *separator, bool lines)
{
    GString *out = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(strings); i++)
        g_string_append_printf(out, "%s%s%s",
                               lines   ? ""
                               : i > 0 ? ", \""
                                       : "\"",
                               lines ? strings[i].line : strings[i].json, separator);
    return out;
}

START_TEST(strings_of_any_bytes)
{
    g_autoptr(gguf_writer) w = writer_new(variants[_i].version, variants[_i].big_endian);

    writer_key(w, "all", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_STRING, G_N_ELEMENTS(strings));
    for (size_t i = 0; i < G_N_ELEMENTS(strings); i++)
        writer_put_string(w, strings[i].bytes, (gssize)strings[i].len);
    for (size_t i = 0; i < G_N_ELEMENTS(strings); i++) {
        writer_key(w, strings[i].bytes, (gssize)strings[i].len, PN_GGUF_STRING);
        writer_put_string(w, strings[i].bytes, (gssize)strings[i].len);
    }

    opened_model m = open_bytes(writer_finish(w));
    g_autoptr(GString) raw = g_string_new(NULL), json = g_string_new("{\n  \"all\": [");
    g_autoptr(GString) lines = joined("\n", true), elements = joined("\"", false);
    g_string_append_printf(json, "%s]", elements->str);
    for (size_t i = 0; i < G_N_ELEMENTS(strings); i++) {
        GString *whole = read_whole(&m, &view_metadata, i + 1);
        ck_assert_uint_eq(whole->len, strings[i].len + 1);
        ck_assert_int_eq(memcmp(whole->str, strings[i].bytes, strings[i].len), 0);
        ck_assert_int_eq(whole->str[strings[i].len], '\n');
        g_string_free(whole, TRUE);
        check_bytes(&m, i + 1, strings[i].bytes, strings[i].len);
        check_slices(&m, &view_metadata, i + 1, 20);

        g_string_append_len(raw, strings[i].bytes, (gssize)strings[i].len + 1);
        g_string_append_printf(json, ",\n  \"%s\": \"%s\"", strings[i].json, strings[i].json);
    }
    g_string_append(json, "\n}\n");
    check_bytes(&m, 0, raw->str, raw->len);
    check_text(&m, &view_metadata, 0, lines->str);
    check_text(&m, &view_metadata_json, 0, json->str);
    close_model(&m);
}
END_TEST

START_TEST(arrays_of_arrays)
{
    g_autoptr(gguf_writer) w = writer_new(variants[_i].version, variants[_i].big_endian);

    writer_key(w, "empty", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_UINT32, 0);
    writer_key(w, "nested", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_ARRAY, 4);
    writer_put_array(w, PN_GGUF_UINT8, 2);
    writer_put_int(w, PN_GGUF_UINT8, 1);
    writer_put_int(w, PN_GGUF_UINT8, 2);
    writer_put_array(w, PN_GGUF_STRING, 2);
    writer_put_string(w, "a\n", -1);
    writer_put_string(w, "\xff", -1);
    writer_put_array(w, PN_GGUF_FLOAT32, 0);
    writer_put_array(w, PN_GGUF_ARRAY, 2);
    writer_put_array(w, PN_GGUF_FLOAT64, 1);
    writer_put_float(w, PN_GGUF_FLOAT64, 0.5);
    writer_put_array(w, PN_GGUF_ARRAY, 0);

    opened_model m = open_bytes(writer_finish(w));
    check_text(&m, &view_metadata, 0, "");
    check_bytes(&m, 0, "", 0);
    check_text(&m, &view_metadata, 1, "[1, 2]\n[\"a\\n\", \"\xef\xbf\xbd\"]\n[]\n[[0.5], []]\n");
    check_text(&m, &view_metadata_json, 0,
               "{\n  \"empty\": [],\n"
               "  \"nested\": [[1, 2], [\"a\\n\", \"\xef\xbf\xbd\"], [], [[0.5], []]]\n}\n");

    pn_gguf_kv kv = pn_gguf_kv_at(m.gguf, 1);
    check_bytes(&m, 1, kv.data, kv.nbytes);
    close_model(&m);
}
END_TEST

/* As deep as the parser allows. */
START_TEST(deepest_nesting)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    g_autoptr(GString) expected = g_string_new("{\n  \"deep\": ");

    writer_key(w, "deep", -1, PN_GGUF_ARRAY);
    for (int i = 0; i < PN_GGUF_MAX_NESTING - 1; i++)
        writer_put_array(w, PN_GGUF_ARRAY, 1);
    writer_put_array(w, PN_GGUF_UINT8, 1);
    writer_put_int(w, PN_GGUF_UINT8, 7);
    for (int i = 0; i < PN_GGUF_MAX_NESTING; i++)
        g_string_append_c(expected, '[');
    g_string_append_c(expected, '7');
    for (int i = 0; i < PN_GGUF_MAX_NESTING; i++)
        g_string_append_c(expected, ']');
    g_string_append(expected, "\n}\n");

    opened_model m = open_bytes(writer_finish(w));
    check_text(&m, &view_metadata_json, 0, expected->str);
    close_model(&m);
}
END_TEST

START_TEST(keys)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);

    writer_int(w, "a/b", PN_GGUF_UINT8, 1);
    writer_int(w, "a/b", PN_GGUF_UINT8, 2);
    writer_int(w, "", PN_GGUF_UINT8, 3);
    writer_int(w, "a/b", PN_GGUF_UINT8, 4);

    opened_model m = open_bytes(writer_finish(w));
    check_text(&m, &view_metadata_json, 0,
               "{\n  \"a/b\": 1,\n  \"a%2Fb%~2\": 2,\n  \"\": 3,\n  \"a%2Fb%~3\": 4\n}\n");
    check_slices(&m, &view_metadata_json, 0, 100);
    close_model(&m);
}
END_TEST

/* A true key that looks like the file name of a second one. */
START_TEST(keys_with_our_signs)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);

    writer_int(w, "a%~2", PN_GGUF_UINT8, 1);
    writer_int(w, "a", PN_GGUF_UINT8, 2);
    writer_int(w, "a", PN_GGUF_UINT8, 3);
    writer_int(w, "100%", PN_GGUF_UINT8, 4);

    opened_model m = open_bytes(writer_finish(w));
    check_text(&m, &view_metadata_json, 0,
               "{\n  \"a%25~2\": 1,\n  \"a\": 2,\n  \"a%~2\": 3,\n  \"100%\": 4\n}\n");
    check_slices(&m, &view_metadata_json, 0, 100);
    close_model(&m);
}
END_TEST

START_TEST(no_keys)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    opened_model m = open_bytes(writer_finish(w));

    check_text(&m, &view_metadata_json, 0, "{}\n");
    check_text(&m, &view_tensors_json, 0, "[]\n");
    check_text(&m, &view_problems, 0, "");
    close_model(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("views-values");
    TCase *tests = tcase_create("views-values");

    tcase_add_loop_test(tests, numbers_of_every_type, 0, G_N_ELEMENTS(variants));
    tcase_add_loop_test(tests, strings_of_any_bytes, 0, G_N_ELEMENTS(variants));
    tcase_add_loop_test(tests, arrays_of_arrays, 0, G_N_ELEMENTS(variants));
    tcase_add_test(tests, deepest_nesting);
    tcase_add_test(tests, keys);
    tcase_add_test(tests, keys_with_our_signs);
    tcase_add_test(tests, no_keys);
    suite_add_tcase(suite, tests);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
