/* Hostile files cost no more than others: memory is bounded by what is there, and time grows with
 * it and no faster. Growth is compared, not seconds: a file four times as large may take a little
 * more than four times as long, where sixteen times would be quadratic. */
#include "opened.h"

#include <gguf-writer.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif
#else
enum { IS_SANITIZED = 0 };
#endif

enum { GROWTH = 4, MOST_GROWTH = 9, LONG_NAME = 300, MOST_PIECES = 100000 };

static const uint64_t one[] = {1};

/* Makers of a file with n of something. */

static void same_tensor_names(gguf_writer *w, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        writer_tensor_info(w, "a", 1, PN_GGUF_F32, 1, one, 32 * (uint64_t)i);
    writer_data(w, NULL, 32 * (size_t)n);
}

static void same_keys(gguf_writer *w, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        writer_int(w, "k", PN_GGUF_UINT8, i);
}

/* Names that are cut at the same place. */
static void long_tensor_names(gguf_writer *w, unsigned n)
{
    char name[LONG_NAME + 1];
    for (unsigned i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%0*u", LONG_NAME, i);
        writer_tensor_info(w, name, LONG_NAME, PN_GGUF_F32, 1, one, 0);
    }
    writer_data(w, NULL, 32);
}

static void long_keys(gguf_writer *w, unsigned n)
{
    char name[LONG_NAME + 1];
    for (unsigned i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%0*u", LONG_NAME, i);
        writer_int(w, name, PN_GGUF_UINT8, i);
    }
}

static void same_long_names(gguf_writer *w, unsigned n)
{
    char name[LONG_NAME + 1];
    snprintf(name, sizeof name, "%0*u", LONG_NAME, 1);
    for (unsigned i = 0; i < n; i++)
        writer_tensor_info(w, name, LONG_NAME, PN_GGUF_F32, 1, one, 0);
    writer_data(w, NULL, 32);
}

/* Each is where no other reader expects it: a problem of its own. */
static void tensors_backwards(gguf_writer *w, unsigned n)
{
    char name[32];
    for (unsigned i = 0; i < n; i++) {
        snprintf(name, sizeof name, "blk.%u.x", i);
        writer_tensor_info(w, name, -1, PN_GGUF_F32, 1, one, 5 * (uint64_t)(n - i));
    }
    writer_data(w, NULL, 5 * (size_t)n);
}

static void one_layer(gguf_writer *w, unsigned n)
{
    char name[32];
    for (unsigned i = 0; i < n; i++) {
        snprintf(name, sizeof name, "blk.0.%u", i);
        writer_tensor_info(w, name, -1, 4000, 0, NULL, 0);
    }
    writer_data(w, NULL, 32);
}

static void empty_arrays(gguf_writer *w, unsigned n)
{
    writer_key(w, "arrays", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_ARRAY, n);
    for (unsigned i = 0; i < n; i++)
        writer_put_array(w, i % 13, 0);
}

static void nested_arrays(gguf_writer *w, unsigned n)
{
    enum { DEPTH = PN_GGUF_MAX_NESTING };
    writer_key(w, "arrays", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_ARRAY, n / (DEPTH - 1));
    for (unsigned i = 0; i < n / (DEPTH - 1); i++) {
        for (unsigned depth = 2; depth < DEPTH; depth++)
            writer_put_array(w, PN_GGUF_ARRAY, 1);
        writer_put_array(w, PN_GGUF_BOOL, 0);
    }
}

static void empty_strings(gguf_writer *w, unsigned n)
{
    writer_key(w, "tokenizer.ggml.tokens", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_STRING, n);
    for (unsigned i = 0; i < n; i++)
        writer_put_string(w, "", 0);
}

static void many_bools(gguf_writer *w, unsigned n)
{
    writer_key(w, "bools", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_BOOL, n);
    for (unsigned i = 0; i < n; i++)
        writer_put_int(w, PN_GGUF_BOOL, i % 3); /* 2 is a problem */
}

static const struct {
    const char *name;
    void (*make)(gguf_writer *w, unsigned n);
    unsigned n; /* keys or tensors; past MOST_PIECES: elements of one array */
} hostile[] = {
    {"same tensor names", same_tensor_names, MOST_PIECES},
    {"same keys", same_keys, MOST_PIECES},
    {"long tensor names", long_tensor_names, MOST_PIECES},
    {"long keys", long_keys, MOST_PIECES},
    {"same long names", same_long_names, MOST_PIECES},
    {"tensors backwards", tensors_backwards, MOST_PIECES},
    {"one layer", one_layer, MOST_PIECES},
    {"empty arrays", empty_arrays, 1500000},
    {"nested arrays", nested_arrays, 1500000},
    {"empty strings", empty_strings, 1500000},
    {"bools", many_bools, 1500000},
};

static bool is_array(int i)
{
    return hostile[i].n > MOST_PIECES;
}

static GByteArray *hostile_file(int i, unsigned n)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    hostile[i].make(w, n);
    return writer_finish(w);
}

static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* 16 MiB and 100 bytes for each tensor and key: the address space has no more. */
START_TEST(test_memory)
{
    if (IS_SANITIZED) /* it takes what it likes */
        return;
    g_autoptr(GByteArray) bytes = hostile_file(_i, hostile[_i].n);
    pn_gguf_source source = {bytes->data, bytes->len, "hostile.gguf"};
    uint64_t pieces = is_array(_i) ? 1 : hostile[_i].n;
    rlim_t most = address_space() + 16 * 1024 * 1024 + 100 * pieces;

    ck_assert_int_eq(setrlimit(RLIMIT_AS, &(struct rlimit){most, most}), 0);
    g_autoptr(GError) error = NULL;
    g_autoptr(pn_gguf_file) file = pn_gguf_parse(&source, NULL, &error);
    ck_assert_msg(file != NULL, "%s", error ? error->message : "no message");
}
END_TEST

/* A count that lies costs nothing: the header ends long before. */
START_TEST(test_memory_of_lies)
{
    static const uint64_t lies[] = {1000, 1 << 20, UINT64_C(1) << 32, UINT64_C(1) << 60};
    for (size_t i = 0; i < G_N_ELEMENTS(lies) && !IS_SANITIZED; i++) {
        g_autoptr(gguf_writer) w = writer_new(3, false);
        w->n_kv = _i % 2 ? lies[i] : 0;
        w->n_tensors = _i % 2 ? 0 : lies[i];
        writer_data(w, NULL, 4 << 20);
        g_autoptr(GByteArray) bytes = writer_finish(w);
        pn_gguf_source source = {bytes->data, bytes->len, "lies.gguf"};
        g_autoptr(GError) error = NULL;
        rlim_t most = address_space() + 16 * 1024 * 1024;
        ck_assert_int_eq(setrlimit(RLIMIT_AS, &(struct rlimit){most, RLIM_INFINITY}), 0);
        pn_gguf_file *file = pn_gguf_parse(&source, NULL, &error);
        ck_assert_int_eq(setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}), 0);
        pn_gguf_free(file);
    }
}
END_TEST

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Lists a folder, and finds each of its files by name; goes down into those that are folders. */
static unsigned list_all(const opened *o, uint64_t folder)
{
    char name[TREE_NAME_MAX + 1];
    uint64_t cookie = 0, ino, found;
    tree_kind kind;
    unsigned n = 0;

    while (tree_readdir(o->t, folder, &cookie, name, &ino, &kind) == 0) {
        ck_assert_int_eq(tree_lookup(o->t, folder, name, &found), 0);
        ck_assert_uint_eq(found, ino);
        n += 1 + (kind == TREE_DIR ? list_all(o, ino) : 0);
    }
    return n;
}

/* The files of the whole model, rendered to the end. */
static void read_texts(const opened *o)
{
    static const char *const paths[] = {"summary.txt", "problems.txt", "metadata.json",
                                        "tensors.tsv", "tensors.json"};
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autoptr(GByteArray) text = read_all(o, paths[i]);
        ck_assert_uint_eq(text->len, stat_of(o, ino_of(o, paths[i])).size);
    }
}

/* Everything that a visitor does, once. */
static double time_of(int i, unsigned n)
{
    GByteArray *bytes = hostile_file(i, n);
    double start = cpu_seconds();
    opened o = open_bytes(bytes, NULL);
    ck_assert_uint_gt(list_all(&o, TREE_ROOT), 10);
    ck_assert_uint_gt(tree_node_count(o.t), 10);
    read_texts(&o);
    double end = cpu_seconds();
    opened_close(&o);
    return end - start;
}

START_TEST(test_time)
{
    unsigned n = hostile[_i].n / (is_array(_i) ? 4 : 16);
    double small = 1e9, large = 1e9;

    for (int round = 0; round < 2; round++) { /* the better of two: others use the machine too */
        small = MIN(small, time_of(_i, n / GROWTH));
        large = MIN(large, time_of(_i, n));
        if (large < MOST_GROWTH * small)
            break;
    }
    ck_assert_msg(large < MOST_GROWTH * small, "%s: %u take %.3f s, %u take %.3f s",
                  hostile[_i].name, n / GROWTH, small, n, large);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("limits");
    tcase_add_loop_test(tc, test_memory, 0, G_N_ELEMENTS(hostile));
    tcase_add_loop_test(tc, test_memory_of_lies, 0, 2);
    tcase_add_loop_test(tc, test_time, 0, G_N_ELEMENTS(hostile));
    Suite *suite = suite_create("limits");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
