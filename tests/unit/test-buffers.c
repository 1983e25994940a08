/* The buffers of reads: whoever takes one has it alone, the lowest comes first, none is lost. */
#include "fuse/buffers.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 12, COUNT = 64, THREADS = 8, ROUNDS = 20000 };

START_TEST(test_lowest_first)
{
    buffers b;
    ck_assert_int_eq(buffers_init(&b, SIZE), 0);
    uint8_t *first = buffers_take(&b);
    for (int i = 1; i < COUNT; i++)
        ck_assert_ptr_eq(buffers_take(&b), first + i * SIZE);
    ck_assert_ptr_null(buffers_take(&b));

    buffers_give(&b, first + 40 * SIZE);
    buffers_give(&b, first + 3 * SIZE);
    ck_assert_ptr_eq(buffers_take(&b), first + 3 * SIZE);
    ck_assert_ptr_eq(buffers_take(&b), first + 40 * SIZE);
    ck_assert_ptr_null(buffers_take(&b));
    buffers_clear(&b);
}
END_TEST

/* A buffer far up gives its memory back, and can be taken again. */
START_TEST(test_memory_goes_back)
{
    buffers b;
    ck_assert_int_eq(buffers_init(&b, SIZE), 0);
    uint8_t *taken[COUNT];
    for (int i = 0; i < COUNT; i++) {
        taken[i] = buffers_take(&b);
        memset(taken[i], i + 1, SIZE);
    }
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(taken[i][SIZE - 1], i + 1);
    buffers_give(&b, taken[COUNT - 1]);
    ck_assert_ptr_eq(buffers_take(&b), taken[COUNT - 1]);
    ck_assert_int_eq(taken[COUNT - 1][0], 0);
    buffers_clear(&b);
}
END_TEST

static void *take_and_give(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        uint8_t *mine = buffers_take(arg);
        if (mine == NULL)
            return arg;
        _Atomic(uint8_t) *mark = (_Atomic(uint8_t) *)mine;
        if (atomic_fetch_add(mark, 1) != 0)
            return arg;
        atomic_store(mark, 0);
        buffers_give(arg, mine);
    }
    return NULL;
}

START_TEST(test_threads)
{
    buffers b;
    pthread_t threads[THREADS];
    ck_assert_int_eq(buffers_init(&b, SIZE), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_and_give, &b), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    ck_assert_uint_eq(atomic_load(&b.taken), 0);
    buffers_clear(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("buffers");
    TCase *tests = tcase_create("buffers");
    tcase_add_test(tests, test_lowest_first);
    tcase_add_test(tests, test_memory_goes_back);
    tcase_add_test(tests, test_threads);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
