/* The text views on the crafted files, the golden files and a few of our own: they agree with
 * their sizes in pieces of any length, the JSON ones are JSON with the file's values in it, and
 * nothing for people holds a control byte. */
#include "text-views.h"

#include "gguf-writer.h"
#include "reading.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <stdlib.h>

static const view *const texts[] = {
    &view_readme,        &view_summary,     &view_problems,     &view_metadata, &view_metadata_raw,
    &view_metadata_json, &view_tensors_tsv, &view_tensors_json, &view_info,
};

static uint64_t count_of(const opened_model *m, const view *v)
{
    return v->scope == VIEW_MODEL ? 1 : v->scope == VIEW_KEY ? m->gguf->n_kv : m->gguf->n_tensors;
}

static void check_pieces(opened_model *m, const view *v, uint64_t index)
{
    static const size_t steps[] = {1, 7, 4097};
    GString *whole = read_whole(m, v, index);

    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
        if (whole->len / steps[i] > 700)
            continue;
        GString *again = read_in_steps(m, v, index, steps[i]);
        ck_assert(g_string_equal(whole, again));
        g_string_free(again, TRUE);
    }
    g_string_free(whole, TRUE);
}

/* Every byte of it can go to a terminal. */
static void check_harmless(const char *text, gsize len)
{
    MUST(g_utf8_validate(text, (gssize)len, NULL));
    for (const char *at = text; at < text + len; at = g_utf8_next_char(at))
        MUST(*at == '\n' || *at == '\t' || !g_unichar_iscntrl(g_utf8_get_char(at)));
}

static void check_json_string(JsonNode *node, const char *bytes, uint64_t len)
{
    g_autofree char *expected = g_utf8_make_valid(bytes, (gssize)len);
    gsize nul = strlen(expected);

    /* GLib replaces each byte, and NUL too; it decides only where nothing is replaced. */
    if (g_utf8_validate(bytes, (gssize)len, NULL) && nul == len)
        MUST(strcmp(json_node_get_string(node), expected) == 0);
    else
        MUST(json_node_get_value_type(node) == G_TYPE_STRING);
}

static void check_json_float(JsonNode *node, pn_gguf_type type, double value)
{
    if (json_node_get_value_type(node) == G_TYPE_STRING) {
        const char *word = json_node_get_string(node);
        MUST(strcmp(word, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity") == 0);
        MUST(!isfinite(value));
        return;
    }
    double got = json_node_get_double(node);
    MUST(type == PN_GGUF_FLOAT32 ? (float)got == (float)value : got == value);
}

static void check_json_number(JsonNode *node, pn_gguf_type type, pn_gguf_number number)
{
    switch (type) {
    case PN_GGUF_BOOL:
        MUST((json_node_get_boolean(node) != 0) == (number.u64 != 0));
        break;
    case PN_GGUF_FLOAT32:
        check_json_float(node, type, (double)number.f32);
        break;
    case PN_GGUF_FLOAT64:
        check_json_float(node, type, number.f64);
        break;
    default: /* json-glib has no uint64; the texts of those are in test-views-values.c */
        if (type != PN_GGUF_UINT64 || number.i64 >= 0)
            MUST(json_node_get_int(node) == number.i64);
        break;
    }
}

static void check_json_array(const pn_gguf_file *gguf, pn_gguf_walk *walk, pn_gguf_type elem,
                             uint64_t count, JsonNode *node)
{
    JsonArray *array = json_node_get_array(node);

    MUST(json_array_get_length(array) == count);
    for (guint i = 0; i < count; i++) {
        JsonNode *inner = json_array_get_element(array, i);
        const char *string;
        uint64_t n;
        pn_gguf_number number;
        pn_gguf_type type;
        if (elem == PN_GGUF_STRING) {
            MUST(pn_gguf_walk_string(gguf, walk, &string, &n));
            check_json_string(inner, string, n);
        } else if (elem == PN_GGUF_ARRAY) {
            MUST(pn_gguf_walk_array(gguf, walk, &type, &n));
            check_json_array(gguf, walk, type, n, inner);
        } else {
            MUST(pn_gguf_walk_number(gguf, walk, elem, &number));
            check_json_number(inner, elem, number);
        }
    }
}

static JsonNode *parse_json(const char *text)
{
    g_autoptr(GError) error = NULL;
    JsonNode *root = json_from_string(text, &error);
    ck_assert_msg(root != NULL, "%s", error ? error->message : "");
    return root;
}

static void check_metadata_json(opened_model *m)
{
    g_autofree char *text = text_of(m, &view_metadata_json, 0);
    g_autoptr(JsonNode) root = parse_json(text);
    JsonObject *object = json_node_get_object(root);
    g_autoptr(GList) keys = json_object_get_members(object);
    GList *key = keys;

    ck_assert_uint_eq(json_object_get_size(object), m->gguf->n_kv);
    for (uint64_t i = 0; i < m->gguf->n_kv; i++, key = key->next) {
        pn_gguf_kv kv = pn_gguf_kv_at(m->gguf, i);
        JsonNode *node = json_object_get_member(object, key->data);
        pn_gguf_walk walk = pn_gguf_walk_value(&kv);
        pn_gguf_number number;
        if (kv.nth == 1 && g_utf8_validate(kv.key, (gssize)kv.key_len, NULL))
            ck_assert(memcmp(key->data, kv.key, kv.key_len) == 0);
        if (kv.type == PN_GGUF_ARRAY)
            check_json_array(m->gguf, &walk, kv.elem, kv.count, node);
        else if (kv.type == PN_GGUF_STRING)
            check_json_string(node, (const char *)kv.data, kv.nbytes);
        else if (pn_gguf_walk_number(m->gguf, &walk, kv.type, &number))
            check_json_number(node, kv.type, number);
    }
}

static void check_tensors(opened_model *m)
{
    g_autofree char *text = text_of(m, &view_tensors_json, 0);
    g_autoptr(JsonNode) root = parse_json(text);
    JsonArray *array = json_node_get_array(root);
    g_autofree char *table = text_of(m, &view_tensors_tsv, 0);
    g_auto(GStrv) lines = g_strsplit(table, "\n", -1);

    ck_assert_uint_eq(json_array_get_length(array), m->gguf->n_tensors);
    ck_assert_uint_eq(g_strv_length(lines), m->gguf->n_tensors + 2);
    for (guint i = 0; i < m->gguf->n_tensors; i++) {
        pn_gguf_tensor tensor = pn_gguf_tensor_at(m->gguf, i);
        JsonObject *object = json_array_get_object_element(array, i);
        JsonArray *ne = json_object_get_array_member(object, "ne");
        JsonArray *shape = json_object_get_array_member(object, "shape");
        check_json_string(json_object_get_member(object, "name"), tensor.name, tensor.name_len);
        ck_assert_uint_eq(json_array_get_length(ne), tensor.n_dims);
        for (guint d = 0; d < tensor.n_dims; d++) {
            ck_assert_int_eq(json_array_get_int_element(ne, d), (gint64)tensor.ne[d]);
            ck_assert_int_eq(json_array_get_int_element(shape, tensor.n_dims - 1 - d),
                             (gint64)tensor.ne[d]);
        }
        ck_assert_int_eq(json_object_get_int_member(object, "bytes"), (gint64)tensor.nbytes);
        ck_assert_str_eq(json_object_get_string_member(object, "file"), "test.gguf");

        g_auto(GStrv) fields = g_strsplit(lines[i + 1], "\t", -1);
        ck_assert_uint_eq(g_strv_length(fields), 7);
        ck_assert_str_eq(fields[1], json_object_get_string_member(object, "type"));
        ck_assert_uint_eq(g_ascii_strtoull(fields[3], NULL, 10), tensor.n_elems);
        ck_assert_uint_eq(g_ascii_strtoull(fields[4], NULL, 10), tensor.nbytes);
    }
}

static void check_model(opened_model *m)
{
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        const view *v = texts[i];
        for (uint64_t index = 0; index < count_of(m, v); index++) {
            check_pieces(m, v, index);
            if (v == &view_metadata || v == &view_metadata_raw)
                continue;
            GString *whole = read_whole(m, v, index);
            check_harmless(whole->str, whole->len);
            g_string_free(whole, TRUE);
        }
    }
    check_metadata_json(m);
    check_tensors(m);
}

START_TEST(crafted_files)
{
    g_autofree char *path =
        g_build_filename(g_getenv("PN_TEST_DATA"), "cases", "expected.tsv", NULL);
    g_autofree char *table = NULL;
    ck_assert(g_file_get_contents(path, &table, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(table, "\n", -1);
    int seen = 0;

    for (char **line = lines + 1; *line && **line; line++) {
        g_auto(GStrv) fields = g_strsplit(*line, "\t", -1);
        if (!g_str_has_prefix(fields[1], "mounts"))
            continue;
        g_autofree char *name = g_build_filename("cases", fields[0], NULL);
        opened_model m = open_data(name);
        check_model(&m);
        uint64_t size = size_of(&m, &view_problems, 0);
        ck_assert_int_eq(size > 0, strcmp(fields[1], "mounts") != 0);
        close_model(&m);
        seen++;
    }
    ck_assert_int_gt(seen, 50);
}
END_TEST

START_TEST(golden_files)
{
    static const char *const names[] = {"types.gguf", "types-be.gguf", "types-extra.gguf"};
    g_autofree char *name = g_build_filename("golden", names[_i], NULL);
    opened_model m = open_data(name);
    check_model(&m);
    close_model(&m);
}
END_TEST

static opened_model open_odd_tensors(void)
{
    static const uint64_t ne[] = {32, 4, 2};
    g_autoptr(gguf_writer) w = writer_new(3, false);
    g_autofree char *longest = g_strnfill(70000, 'n');

    writer_string(w, "general.architecture", "llama");
    writer_string(w, "general.name", "a \x1b[31mred\n name");
    writer_int(w, "llama.block_count", PN_GGUF_UINT32, 2);
    writer_int(w, "llama.context_length", PN_GGUF_UINT32, 131072);
    writer_key(w, "llama.attention.head_count", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_INT32, 2);
    writer_put_int(w, PN_GGUF_INT32, 8);
    writer_put_int(w, PN_GGUF_INT32, 16);
    writer_tensor(w, "a\tb\x1b", -1, PN_GGUF_Q8_0, 3, ne, NULL, 8 * 34);
    writer_tensor(w, "twice", -1, PN_GGUF_F32, 1, ne, NULL, 128);
    writer_tensor(w, "twice", -1, PN_GGUF_F32, 0, ne, NULL, 4);
    writer_tensor(w, longest, -1, 139, 2, ne, NULL, 64);
    writer_tensor_info(w, "far", -1, PN_GGUF_F16, 1, ne, UINT64_MAX - 31);
    return open_bytes(writer_finish(w));
}

START_TEST(odd_tensors)
{
    opened_model m = open_odd_tensors();
    g_autofree char *table = text_of(&m, &view_tensors_tsv, 0);
    g_auto(GStrv) lines = g_strsplit(table, "\n", -1);
    uint64_t start = m.gguf->shards[0].data_start;

    check_model(&m);
    ck_assert_str_eq(lines[0], "name\ttype\tshape\tparameters\tbytes\toffset\tfile");
    const char *const expected[] = {"a%09b%1B\tQ8_0\t[2,4,32]\t256\t272\t",
                                    "twice\tF32\t[32]\t32\t128\t", "twice%~2\tF32\t[]\t1\t4\t",
                                    "nnnn", "far\tF16\t[32]\t32\t64\t-\ttest.gguf"};
    for (int i = 0; i < 5; i++)
        ck_assert_msg(g_str_has_prefix(lines[i + 1], expected[i]), "%s", lines[i + 1]);

    g_autofree char *info = text_of(&m, &view_info, 0);
    g_autofree char *expected_info = g_strdup_printf(
        "name: a%%09b%%1B\ntype: Q8_0\nshape: [2,4,32]\nne: [32,4,2]\nparameters: 256\nbytes: 272\n"
        "bits per weight: 8.5\noffset: %" G_GUINT64_FORMAT "\nfile: test.gguf\n"
        "block: 32 elements, 34 bytes: %s\n",
        start, pn_quant_traits_of(PN_GGUF_Q8_0)->layout);
    ck_assert_str_eq(info, expected_info);
    g_autofree char *far = text_of(&m, &view_info, 4);
    ck_assert(strstr(far, "\navailable: 0 bytes; the file ends there\n") != NULL);
    ck_assert(strstr(far, "\noffset:") == NULL);
    close_model(&m);
}
END_TEST

START_TEST(summary)
{
    static const char *const lines[] = {
        "Name              a %1B[31mred%0A name\n",
        "Architecture      llama\n",
        "Layers            2\n",
        "Context           131,072\n",
        "Heads             8 to 16, keys and values 8 to 16\n",
        "Tensors           5\n",
        "Cut off           1\n",
        "Format            GGUF version 3, little-endian, alignment 32\n",
        "Q8_0                    1                  256                  272",
        "type 139                1                  128",
    };
    opened_model m = open_odd_tensors();
    g_autofree char *text = text_of(&m, &view_summary, 0);

    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++)
        ck_assert_msg(strstr(text, lines[i]) != NULL, "no %s in\n%s", lines[i], text);
    ck_assert(strstr(text, "\n\n\n") == NULL);
    close_model(&m);
}
END_TEST

START_TEST(problems_grow)
{
    opened_model m = open_data("cases/020_dup_key.gguf");
    g_autofree char *before = text_of(&m, &view_problems, 0);

    view_model_note(m.model, "the source was changed");
    g_autofree char *after = text_of(&m, &view_problems, 0);
    g_autofree char *expected = g_strconcat(before, "the source was changed\n", NULL);
    ck_assert_str_eq(after, expected);
    check_slices(&m, &view_problems, 0, 200);
    close_model(&m);
}
END_TEST

START_TEST(readme_fits_a_screen)
{
    opened_model m = open_data("cases/000_ok_one_f32.gguf");
    g_autofree char *text = text_of(&m, &view_readme, 0);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    ck_assert_uint_le(g_strv_length(lines), 25);
    for (char **line = lines; *line; line++)
        ck_assert_uint_le(strlen(*line), 80);
    close_model(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("views");
    TCase *tests = tcase_create("views");

    tcase_add_test(tests, crafted_files);
    tcase_add_loop_test(tests, golden_files, 0, 3);
    tcase_add_test(tests, odd_tensors);
    tcase_add_test(tests, summary);
    tcase_add_test(tests, problems_grow);
    tcase_add_test(tests, readme_fits_a_screen);
    suite_add_tcase(suite, tests);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
