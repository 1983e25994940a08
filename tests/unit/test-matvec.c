/* The program gguf-matvec: its product is pn_qmv's, and each thing that can be wrong with its
 * arguments and input gives a sentence and no output. */
#include "gguf-writer.h"

#include <pantheon/qmv.h>

#include <check.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, COLS = 64, STRIDE = COLS / 32 * 34 };

static char *folder;
static uint8_t matrix[ROWS * STRIDE];
static float x[COLS];

static char *in_folder(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

/* Runs `gguf-matvec ARGUMENTS < x.f32 > y.f32`, x.f32 of x_size bytes, in the folder. */
static int run(const char *arguments, size_t x_size, char **output, size_t *size, char **sentence)
{
    g_autofree char *x_path = in_folder("x.f32"), *y_path = in_folder("y.f32");
    g_autofree uint8_t *input = g_malloc0(x_size + 1);
    g_autofree char *program = g_shell_quote(g_getenv("PN_MATVEC"));
    g_autofree char *line =
        g_strdup_printf("cd %s && exec %s %s < x.f32 > y.f32", folder, program, arguments);
    const char *argv[] = {"sh", "-c", line, NULL};
    int status;

    memcpy(input, x, MIN(x_size, sizeof x));
    ck_assert(g_file_set_contents(x_path, (char *)input, (gssize)x_size, NULL));
    ck_assert(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                           sentence, &status, NULL));
    ck_assert(g_file_get_contents(y_path, output, size, NULL));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void set_up(void)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    g_autofree char *path = NULL;

    folder = g_dir_make_tmp("matvec-XXXXXX", NULL);
    path = in_folder("m.gguf");
    for (size_t i = 0; i < sizeof matrix; i++)
        matrix[i] = (uint8_t)(i * 37);
    for (size_t block = 0; block < sizeof matrix; block += 34)
        matrix[block + 1] = 0x3c;
    for (int i = 0; i < COLS; i++)
        x[i] = (float)(i - 20) / 8;
    writer_tensor(w, "w", -1, PN_GGUF_Q8_0, 2, (uint64_t[]){COLS, ROWS}, matrix, sizeof matrix);
    writer_tensor(w, "bias", -1, PN_GGUF_F32, 1, (uint64_t[]){COLS}, NULL, 4 * COLS);
    writer_tensor(w, "experts", -1, PN_GGUF_F32, 3, (uint64_t[]){8, 2, 2}, NULL, 4 * 32);
    writer_tensor(w, "strange", -1, 200, 2, (uint64_t[]){8, 2}, NULL, 64);
    writer_tensor(w, "empty", -1, PN_GGUF_F32, 2, (uint64_t[]){COLS, 0}, NULL, 0);
    writer_tensor_info(w, "cut", -1, PN_GGUF_F32, 2, (uint64_t[]){COLS, 1000}, 2048);
    ck_assert(writer_save(w, path, NULL));
}

static void tear_down(void)
{
    static const char *const names[] = {"m.gguf", "x.f32", "y.f32"};

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = in_folder(names[i]);
        g_remove(path);
    }
    g_rmdir(folder);
    g_free(folder);
}

START_TEST(test_product)
{
    static const char *const arguments[] = {"m.gguf w", "-t 1 m.gguf w", "--threads=3 m.gguf w"};
    const pn_qweight w = {matrix, PN_GGUF_Q8_0, ROWS, COLS, STRIDE};
    g_autofree char *output = NULL, *sentence = NULL;
    size_t size;
    float want[ROWS];

    ck_assert_int_eq(pn_qmv(&w, x, want, 1), 0);
    ck_assert_int_eq(run(arguments[_i], sizeof x, &output, &size, &sentence), 0);
    ck_assert_str_eq(sentence, "");
    ck_assert_uint_eq(size, sizeof want);
    ck_assert_mem_eq(output, want, sizeof want);
}
END_TEST

START_TEST(test_no_rows)
{
    g_autofree char *output = NULL, *sentence = NULL;
    size_t size;

    ck_assert_int_eq(run("m.gguf empty", sizeof x, &output, &size, &sentence), 0);
    ck_assert_uint_eq(size, 0);
}
END_TEST

static const struct {
    const char *arguments;
    size_t x_size;
    int status;
    const char *sentence; /* a part of it */
} refused[] = {
    {"m.gguf w", 0, 1,
     "has 64 columns, so x must be 64 float32, 256 bytes; the standard input holds 0"},
    {"m.gguf w", 255, 1, "holds 255 bytes"},
    {"m.gguf w", 257, 1, "holds more than 256 bytes"},
    {"m.gguf nothing", 256, 1, "m.gguf: there is no tensor nothing among its 6"},
    {"m.gguf bias", 256, 1, "m.gguf: tensor bias has 1 dimension; a matrix has 2"},
    {"m.gguf experts", 32, 1, "tensor experts has 3 dimensions; a matrix has 2"},
    {"m.gguf strange", 32, 1, "m.gguf: tensor strange is of type 200"},
    {"m.gguf cut", 256, 1, "m.gguf: tensor cut is cut off by the end of the file"},
    {"missing.gguf w", 256, 1, "missing.gguf: No such file"},
    {"x.f32 w", 256, 1, "x.f32: "},
    {"", 256, 2, "Usage: gguf-matvec"},
    {"m.gguf", 256, 2, "Usage: gguf-matvec"},
    {"m.gguf w more", 256, 2, "Usage: gguf-matvec"},
    {"-t 0 m.gguf w", 256, 2, "0 is no number of threads"},
    {"-t many m.gguf w", 256, 2, "many is no number of threads"},
};

START_TEST(test_refused)
{
    g_autofree char *output = NULL, *sentence = NULL;
    size_t size;
    int status = run(refused[_i].arguments, refused[_i].x_size, &output, &size, &sentence);

    if (status != refused[_i].status || !strstr(sentence, refused[_i].sentence))
        ck_abort_msg("gguf-matvec %s: status %d, %s", refused[_i].arguments, status, sentence);
    ck_assert_uint_eq(size, 0);
}
END_TEST

START_TEST(test_help)
{
    g_autofree char *output = NULL, *sentence = NULL;
    size_t size;

    ck_assert_int_eq(run("--help", 0, &output, &size, &sentence), 0);
    ck_assert_ptr_nonnull(strstr(output, "TENSOR"));
    g_free(g_steal_pointer(&output));
    g_free(g_steal_pointer(&sentence));
    ck_assert_int_eq(run("--version", 0, &output, &size, &sentence), 0);
    ck_assert_str_eq(output, "gguf-matvec " PN_VERSION "\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("matvec");
    TCase *tcase = tcase_create("matvec");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, test_product, 0, 3);
    tcase_add_test(tcase, test_no_rows);
    tcase_add_loop_test(tcase, test_refused, 0, G_N_ELEMENTS(refused));
    tcase_add_test(tcase, test_help);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
