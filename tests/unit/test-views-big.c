/* Values that are large: hundreds of thousands of elements, one string of 50 MB, nests of arrays.
 * Pieces from anywhere are slices of the whole; a value that changes under the mount is an error.
 */
#include "text-views.h"

#include "gguf-writer.h"
#include "reading.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum { MANY = 300000, LONG = 50 * 1000 * 1000 };

static void check_everywhere(opened_model *m, uint64_t key)
{
    check_slices(m, &view_metadata, key, 60);
    check_slices(m, &view_metadata_raw, key, 30);
    check_slices(m, &view_metadata_json, 0, 60);
}

static guint count_lines(opened_model *m, uint64_t key)
{
    g_autofree char *text = text_of(m, &view_metadata, key);
    guint n = 0;

    for (const char *at = text; (at = strchr(at, '\n')); at++)
        n++;
    return n;
}

START_TEST(many_numbers)
{
    static const pn_gguf_type types[] = {PN_GGUF_UINT8, PN_GGUF_INT64, PN_GGUF_FLOAT32};
    g_autoptr(gguf_writer) w = writer_new(3, _i % 2 == 1);

    writer_key(w, "numbers", -1, PN_GGUF_ARRAY);
    writer_put_array(w, types[_i], MANY);
    for (uint64_t i = 0; i < MANY; i++)
        if (types[_i] == PN_GGUF_FLOAT32)
            writer_put_float(w, types[_i], -(double)i / 7);
        else
            writer_put_int(w, types[_i], i * 0x9e3779b97f4a7c15u);

    opened_model m = open_bytes(writer_finish(w));
    check_everywhere(&m, 0);
    ck_assert_uint_eq(count_lines(&m, 0), MANY);
    close_model(&m);
}
END_TEST

START_TEST(many_strings)
{
    static const char *const words[] = {"",         "the", "\xe2\x96\x81of", "a\nb", "\\",
                                        "\xff\xfe", "\""};
    g_autoptr(gguf_writer) w = writer_new(3, false);

    writer_key(w, "words", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_STRING, MANY);
    for (uint64_t i = 0; i < MANY; i++)
        writer_put_string(w, words[i * 7919 % G_N_ELEMENTS(words)], -1);

    opened_model m = open_bytes(writer_finish(w));
    check_everywhere(&m, 0);
    ck_assert_uint_eq(count_lines(&m, 0), MANY);
    close_model(&m);
}
END_TEST

/* A string of 50 MB, alone and in an array, of bytes among which are newlines, quotes, characters
 * of two to four bytes, and what is no text. */
START_TEST(one_long_string)
{
    static const char mix[] =
        "plain text, \"quoted\"\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xe2\x82|\x80\x80\x80\x80\x80";
    g_autoptr(gguf_writer) w = writer_new(3, false);
    g_autofree char *string = g_malloc(LONG);

    for (size_t i = 0; i < LONG; i++)
        string[i] = mix[i % (sizeof mix - 1)];
    writer_key(w, "long", -1, _i == 0 ? PN_GGUF_STRING : PN_GGUF_ARRAY);
    if (_i == 1)
        writer_put_array(w, PN_GGUF_STRING, 1);
    writer_put_string(w, string, LONG);

    opened_model m = open_bytes(writer_finish(w));
    check_everywhere(&m, 0);
    close_model(&m);
}
END_TEST

/* The pieces that a string is cut into do not show: each offset of a cut, through each character.
 */
START_TEST(slices_cut_no_character)
{
    static const char *const tails[] = {"\xc3\xa9",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x98\x80",
                                        "\x80\x80\x80\x80\x80\x80",
                                        "\xf0\x9f\x98\x80\x80\x80\x80",
                                        "\xf0\x9f\x98",
                                        "\xe2\x82"};
    const char *tail = tails[_i];
    g_autofree char *pad = g_strnfill(TEXT_SLICE + 8, 'x');
    g_autofree char *first = NULL;

    for (size_t n = TEXT_SLICE - 8; n <= TEXT_SLICE; n++) {
        g_autoptr(gguf_writer) w = writer_new(3, false);
        g_autofree char *string = g_strdup_printf("%.*s%s|", (int)n, pad, tail);
        writer_string(w, "k", string);
        opened_model m = open_bytes(writer_finish(w));
        g_autofree char *json = text_of(&m, &view_metadata_json, 0);
        const char *end = strrchr(json, 'x');
        if (!first)
            first = g_strdup(end);
        ck_assert_str_eq(end, first);
        close_model(&m);
    }
}
END_TEST

START_TEST(many_arrays)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);

    writer_key(w, "nest", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_ARRAY, MANY / 4);
    for (uint64_t i = 0; i < MANY / 4; i++) {
        writer_put_array(w, PN_GGUF_ARRAY, i % 3);
        for (uint64_t j = 0; j < i % 3; j++) {
            writer_put_array(w, PN_GGUF_UINT16, 2);
            writer_put_int(w, PN_GGUF_UINT16, i);
            writer_put_int(w, PN_GGUF_UINT16, j);
        }
    }
    writer_key(w, "giant", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_ARRAY, 1);
    writer_put_array(w, PN_GGUF_UINT8, MANY);
    for (uint64_t i = 0; i < MANY; i++)
        writer_put_int(w, PN_GGUF_UINT8, i);

    opened_model m = open_bytes(writer_finish(w));
    check_everywhere(&m, 0);
    check_slices(&m, &view_metadata, 1, 60);
    ck_assert_uint_eq(count_lines(&m, 0), MANY / 4);
    ck_assert_uint_eq(count_lines(&m, 1), 1);
    close_model(&m);
}
END_TEST

START_TEST(many_keys_and_tensors)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    const uint64_t ne[] = {2, 3};

    for (unsigned i = 0; i < 20000; i++) {
        g_autofree char *key = g_strdup_printf("key.%u", i % 19000);
        g_autofree char *tensor = g_strdup_printf("blk.%u/\n", i % 19000);
        writer_int(w, key, PN_GGUF_UINT32, i);
        writer_tensor_info(w, tensor, -1, i % 50, 2, ne, i * 32);
    }

    opened_model m = open_bytes(writer_finish(w));
    check_slices(&m, &view_metadata_json, 0, 60);
    check_slices(&m, &view_tensors_tsv, 0, 60);
    check_slices(&m, &view_tensors_json, 0, 60);
    check_slices(&m, &view_problems, 0, 60);
    check_slices(&m, &view_summary, 0, 10);
    close_model(&m);
}
END_TEST

/* After a text was sized, its source is overwritten, so that nothing fits any more. */
START_TEST(overwritten_after_sizing)
{
    static const view *const views[] = {&view_metadata, &view_metadata_raw, &view_metadata_json};
    static const uint8_t fills[] = {0x00, 0x01, 0x22, 0x7f, 0xff};
    const view *v = views[_i % 3];
    g_autoptr(gguf_writer) w = writer_new(3, false);
    char *buffer = g_malloc(1 << 20);

    writer_key(w, "words", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_STRING, 50000);
    for (int i = 0; i < 50000; i++)
        writer_put_string(w, "word", -1);
    opened_model m = open_bytes(writer_finish(w));
    pn_gguf_kv kv = pn_gguf_kv_at(m.gguf, 0);

    uint64_t size = size_of(&m, v, 0);
    memset(m.bytes->data + (kv.data - m.bytes->data), fills[_i / 3], kv.nbytes);
    int errors = 0;
    for (uint64_t offset = 0; offset < size; offset += 30000) {
        view_piece piece;
        int result = v->read(m.model, 0, offset, buffer, 1 << 20, m.scratch, &piece);
        ck_assert(result == 0 || result == EIO);
        ck_assert(result != 0 || offset + piece.len <= size);
        errors += result == EIO;
    }
    ck_assert_int_gt(errors, 0);
    ck_assert_uint_eq(size_of(&m, v, 0), size);

    g_free(buffer);
    close_model(&m);
}
END_TEST

/* Random bytes of a nested value change, before and after sizing: any result but a crash, and
 * never more than was said. */
START_TEST(random_changes)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(11);
    g_autoptr(gguf_writer) w = writer_new(3, false);

    writer_key(w, "nest", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_ARRAY, 200);
    for (uint64_t i = 0; i < 200; i++) {
        writer_put_array(w, i % 2 ? PN_GGUF_STRING : PN_GGUF_ARRAY, 3);
        for (int j = 0; j < 3; j++)
            if (i % 2)
                writer_put_string(w, "abc", -1);
            else
                writer_put_array(w, PN_GGUF_FLOAT64, 0);
    }
    g_autoptr(GByteArray) sound = writer_finish(w);

    for (int i = 0; i < 3000; i++) {
        opened_model m =
            open_bytes(g_byte_array_append(g_byte_array_new(), sound->data, sound->len));
        const view *v = i % 2 ? &view_metadata : &view_metadata_json;
        pn_gguf_kv kv = pn_gguf_kv_at(m.gguf, 0);
        uint8_t *data = m.bytes->data + (kv.data - m.bytes->data);
        uint64_t size = UINT64_MAX;
        char buffer[8192];
        view_piece piece;

        if (i % 4 < 2)
            size = size_of(&m, v, 0);
        for (int j = 0; j < 3; j++)
            data[g_rand_int(rand) % kv.nbytes] = (uint8_t)(g_rand_int(rand) % (j ? 13 : 256));
        for (uint64_t offset = 0; offset < 20000; offset += 4999)
            if (v->read(m.model, 0, offset, buffer, sizeof buffer, m.scratch, &piece) == 0)
                ck_assert(piece.len == 0 || offset + piece.len <= size);
        close_model(&m);
    }
}
END_TEST

/* The text of 262,144 scores: shortest floats must not make it slow. */
START_TEST(scores_are_quick)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);

    writer_key(w, "scores", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_FLOAT32, 262144);
    for (int i = 0; i < 262144; i++)
        writer_put_float(w, PN_GGUF_FLOAT32, -20 * g_rand_double(rand));
    opened_model m = open_bytes(writer_finish(w));

    clock_t start = clock();
    size_of(&m, &view_metadata, 0);
    ck_assert_int_lt((clock() - start) * 1000 / CLOCKS_PER_SEC, 1000); /* 20 ms; slow machines */
    close_model(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("views-big");
    TCase *tests = tcase_create("views-big");

    tcase_add_loop_test(tests, many_numbers, 0, 3);
    tcase_add_test(tests, many_strings);
    tcase_add_loop_test(tests, one_long_string, 0, 2);
    tcase_add_loop_test(tests, slices_cut_no_character, 0, 7);
    tcase_add_test(tests, many_arrays);
    tcase_add_test(tests, many_keys_and_tensors);
    tcase_add_loop_test(tests, overwritten_after_sizing, 0, 15);
    tcase_add_test(tests, random_changes);
    tcase_add_test(tests, scores_are_quick);
    suite_add_tcase(suite, tests);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
