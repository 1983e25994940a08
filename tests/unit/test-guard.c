/* The guarded gate: faults in registered mappings become EIO, in every thread, again and again;
 * anything else stays fatal. */
#include "fuse/guard.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A sanitizer takes the fatal ones, and exits in its own way. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { PAGE = 4096, PAGES = 8, FILE_SIZE = PAGES * PAGE, CUT = 3 * PAGE + 100 };

typedef struct {
    const uint8_t *data;
    size_t at;
    size_t len;
    unsigned sum;
} touch;

static int touch_run(void *arg)
{
    touch *t = arg;
    t->sum = 0;
    for (size_t i = 0; i < t->len; i++)
        t->sum += ((const volatile uint8_t *)t->data)[t->at + i];
    return 0;
}

static int return_arg(void *arg)
{
    return *(int *)arg;
}

/* A file of FILE_SIZE bytes of 1, mapped, then cut to CUT. Returns the mapping. */
static uint8_t *map_cut_file(void)
{
    char path[] = "/tmp/guard-test-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    unlink(path);
    uint8_t page[PAGE];
    for (size_t i = 0; i < PAGE; i++)
        page[i] = 1;
    for (int i = 0; i < PAGES; i++)
        ck_assert_int_eq(write(fd, page, PAGE), PAGE);
    uint8_t *data = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(data, MAP_FAILED);
    ck_assert_int_eq(ftruncate(fd, CUT), 0);
    close(fd);
    return data;
}

START_TEST(results_pass_through)
{
    ck_assert_int_eq(guard_install(), 0);
    int values[] = {0, ENOENT, EIO, 12345};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        ck_assert_int_eq(guard_run(return_arg, &values[i]), values[i]);
}
END_TEST

START_TEST(faults_become_eio)
{
    ck_assert_int_eq(guard_install(), 0);
    uint8_t *data = map_cut_file();
    ck_assert_int_eq(guard_add(data, FILE_SIZE), 0);
    static const struct {
        size_t at, len;
        int result;
        unsigned sum;
    } cases[] = {
        {0, PAGE, 0, PAGE},
        {0, CUT, 0, CUT},
        {CUT - 1, 1, 0, 1},
        {CUT, 4 * PAGE - CUT, 0, 0} /* zeros to the page's end: why the size is compared too */,
        {4 * PAGE, 1, EIO, 0},
        {FILE_SIZE - 1, 1, EIO, 0},
        {0, FILE_SIZE, EIO, 0},
    };
    for (int round = 0; round < 1000; round++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            touch t = {data, cases[i].at, cases[i].len, 0};
            ck_assert_int_eq(guard_run(touch_run, &t), cases[i].result);
            if (cases[i].result == 0)
                ck_assert_uint_eq(t.sum, cases[i].sum);
        }
    }
    munmap(data, FILE_SIZE);
}
END_TEST

static void *fault_often(void *arg)
{
    uint8_t *data = arg;
    for (intptr_t i = 0; i < 2000; i++) {
        touch bad = {data, (size_t)(4 + i % 4) * PAGE, 1, 0};
        touch good = {data, (size_t)(i % 3) * PAGE, 10, 0};
        if (guard_run(touch_run, &bad) != EIO || guard_run(touch_run, &good) != 0 || good.sum != 10)
            return (void *)(i + 1);
    }
    return NULL;
}

START_TEST(every_thread_has_its_own)
{
    ck_assert_int_eq(guard_install(), 0);
    uint8_t *data = map_cut_file();
    ck_assert_int_eq(guard_add(data, FILE_SIZE), 0);
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, fault_often, data), 0);
    for (size_t i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    munmap(data, FILE_SIZE);
}
END_TEST

#if !SANITIZED
START_TEST(other_faults_are_fatal)
{
    ck_assert_int_eq(guard_install(), 0);
    uint8_t *data = map_cut_file(); /* not registered */
    touch t = {data, FILE_SIZE - 1, 1, 0};
    guard_run(touch_run, &t);
}
END_TEST

START_TEST(outside_the_gate_is_fatal)
{
    ck_assert_int_eq(guard_install(), 0);
    uint8_t *data = map_cut_file();
    ck_assert_int_eq(guard_add(data, FILE_SIZE), 0);
    touch t = {data, FILE_SIZE - 1, 1, 0};
    ck_assert_int_eq(guard_run(touch_run, &t), EIO);
    touch_run(&t);
}
END_TEST

START_TEST(null_is_fatal)
{
    ck_assert_int_eq(guard_install(), 0);
    uint8_t *data = map_cut_file();
    ck_assert_int_eq(guard_add(data, FILE_SIZE), 0);
    touch t = {NULL, 0, 1, 0};
    guard_run(touch_run, &t);
}
END_TEST

START_TEST(sent_signals_are_fatal)
{
    ck_assert_int_eq(guard_install(), 0);
    raise(SIGBUS);
}
END_TEST
#endif

START_TEST(the_table_is_bounded)
{
    int result = 0;
    for (int i = 0; i < 70000 && result == 0; i++)
        result = guard_add(&result, 0);
    ck_assert_int_eq(result, 0); /* an empty mapping takes no room */
    for (int i = 0; i < 70000 && result == 0; i++)
        result = guard_add("x", 1);
    ck_assert_int_eq(result, ENOSPC);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("guard");
    tcase_add_test(tc, results_pass_through);
    tcase_add_test(tc, faults_become_eio);
    tcase_add_test(tc, every_thread_has_its_own);
#if !SANITIZED
    tcase_add_test_raise_signal(tc, other_faults_are_fatal, SIGBUS);
    tcase_add_test_raise_signal(tc, outside_the_gate_is_fatal, SIGBUS);
    tcase_add_test_raise_signal(tc, null_is_fatal, SIGSEGV);
    tcase_add_test_raise_signal(tc, sent_signals_are_fatal, SIGBUS);
#endif
    tcase_add_test(tc, the_table_is_bounded);
    Suite *suite = suite_create("guard");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
