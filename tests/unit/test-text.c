/* The engine of texts: a text of known bytes comes out right in every piece, its checkpoints are
 * few and are used, and a text that changes after it was sized is an error and never too long. */
#include "view/text.h"

#include "gguf-writer.h"
#include "reading.h"

#include <errno.h>
#include <stdlib.h>

/* The text of the tests: its step says how many bytes it gives and how often. */
typedef struct {
    uint64_t steps;      /* how many there are … */
    uint64_t step_bytes; /* … of how many bytes */
    uint64_t made;       /* how many were made */
    uint64_t shard_from; /* from this step on the text depends on shard 1 */
} script;

/* check runs each test in a process of its own. */
static script now;

static char byte_at(uint64_t offset)
{
    return (char)('a' + (offset * 2654435761u >> 16) % 26);
}

static int scripted_step(const text_job *job, text_state *state, text_sink *sink)
{
    char bytes[4096];

    if (state->item == now.steps)
        return TEXT_END;
    for (uint64_t given = 0; given < now.step_bytes;) {
        size_t len = MIN(sizeof bytes, now.step_bytes - given);
        for (size_t i = 0; i < len; i++)
            bytes[i] = byte_at(state->item * now.step_bytes + given + i);
        text_put(sink, bytes, len);
        given += len;
    }
    unsigned shard = state->item >= now.shard_from;
    if (sink->shard != shard)
        sink->source_end = 0;
    sink->shard = shard;
    sink->source_end = ++state->item;
    __atomic_fetch_add(&now.made, 1, __ATOMIC_RELAXED);
    return TEXT_MORE;
}

static const text_maker scripted = {.id = TEXT_METADATA_JSON, .step = scripted_step};

static opened_model open_nothing(void)
{
    g_autoptr(gguf_writer) writer = writer_new(3, false);
    return open_bytes(writer_finish(writer));
}

static uint64_t scripted_size(opened_model *m)
{
    uint64_t size = 0;
    ck_assert_int_eq(text_size(&scripted, m->model, 0, m->scratch, &size), 0);
    return size;
}

static view_piece scripted_read(opened_model *m, uint64_t offset, char *buffer, size_t len)
{
    view_piece piece;
    ck_assert_int_eq(text_read(&scripted, m->model, 0, offset, buffer, len, m->scratch, &piece), 0);
    size_t right = 0;
    while (right < piece.len && buffer[right] == byte_at(offset + right))
        right++;
    ck_assert_uint_eq(right, piece.len);
    return piece;
}

START_TEST(empty)
{
    opened_model m = open_nothing();
    char buffer[8];

    ck_assert(!text_is_sized(&scripted, m.model, 0));
    ck_assert_uint_eq(scripted_size(&m), 0);
    ck_assert(text_is_sized(&scripted, m.model, 0));
    ck_assert_uint_eq(scripted_read(&m, 0, buffer, 8).len, 0);
    ck_assert_uint_eq(scripted_read(&m, 99, buffer, 8).len, 0);
    close_model(&m);
}
END_TEST

START_TEST(every_offset_of_a_short_text)
{
    now = (script){.steps = 13, .step_bytes = 7, .shard_from = UINT64_MAX};
    opened_model m = open_nothing();
    char buffer[128];

    for (uint64_t offset = 0; offset < 95; offset++)
        for (size_t len = 1; len < 100; len++) {
            view_piece piece = scripted_read(&m, offset, buffer, len);
            ck_assert_uint_eq(piece.len, offset < 91 ? MIN(len, 91 - offset) : 0);
        }
    ck_assert_uint_eq(scripted_size(&m), 91);
    close_model(&m);
}
END_TEST

/* 600 MB: more than 4,096 checkpoints of 64 KiB. */
START_TEST(checkpoints_are_few_and_used)
{
    now = (script){.steps = 150000, .step_bytes = 4000, .shard_from = UINT64_MAX};
    opened_model m = open_nothing();
    char buffer[1000];
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);

    uint64_t size = scripted_size(&m);
    ck_assert_uint_eq(size, 600000000);
    ck_assert_uint_eq(now.made, 150000);
    now.made = 0;
    for (int i = 0; i < 200; i++) {
        uint64_t offset = (uint64_t)(g_rand_double(rand) * (double)size);
        scripted_read(&m, offset, buffer, sizeof buffer);
    }
    /* The stride has become 256 KiB: 65 steps, half of them on average. */
    ck_assert_uint_lt(now.made, 200 * 70);
    close_model(&m);
}
END_TEST

START_TEST(reading_on_costs_nothing_twice)
{
    now = (script){.steps = 10000, .step_bytes = 1000, .shard_from = UINT64_MAX};
    opened_model m = open_nothing();
    char *buffer = g_malloc(3000);

    scripted_size(&m);
    now.made = 0;
    for (uint64_t offset = 0; offset < 10000000; offset += 3000)
        scripted_read(&m, offset, buffer, 3000);
    ck_assert_uint_lt(now.made, 10000 + 10000 / 2);
    g_free(buffer);
    close_model(&m);
}
END_TEST

START_TEST(a_piece_is_of_one_shard)
{
    now = (script){.steps = 10, .step_bytes = 10, .shard_from = 4};
    opened_model m = open_nothing();
    char buffer[100];

    view_piece piece = scripted_read(&m, 5, buffer, 100);
    ck_assert_uint_eq(piece.len, 35);
    ck_assert_uint_eq(piece.shard, 0);
    ck_assert_uint_eq(piece.source_end, 4);
    piece = scripted_read(&m, 40, buffer, 100);
    ck_assert_uint_eq(piece.len, 60);
    ck_assert_uint_eq(piece.shard, 1);
    ck_assert_uint_eq(piece.source_end, 10);
    close_model(&m);
}
END_TEST

static const struct {
    script before, after;
} changes[] = {
    {{10, 10, 0, UINT64_MAX}, {9, 10, 0, UINT64_MAX}},  /* shorter */
    {{10, 10, 0, UINT64_MAX}, {11, 10, 0, UINT64_MAX}}, /* longer */
    {{10, 10, 0, UINT64_MAX}, {10, 11, 0, UINT64_MAX}},
    {{10, 10, 0, UINT64_MAX}, {0, 0, 0, UINT64_MAX}},
};

START_TEST(a_changed_text_is_an_error)
{
    now = changes[_i].before;
    opened_model m = open_nothing();
    char buffer[101];
    view_piece piece;

    uint64_t size = scripted_size(&m);
    now = changes[_i].after;
    buffer[100] = '!';
    ck_assert_int_eq(text_read(&scripted, m.model, 0, 0, buffer, 200, m.scratch, &piece), EIO);
    ck_assert_int_eq(text_read(&scripted, m.model, 0, 99, buffer, 200, m.scratch, &piece), EIO);
    ck_assert_int_eq(buffer[100], '!');
    ck_assert_uint_eq(scripted_size(&m), size);
    close_model(&m);
}
END_TEST

static gpointer size_in_thread(gpointer data)
{
    opened_model own = *(opened_model *)data;
    char buffer[5000];

    own.scratch = view_scratch_new();
    ck_assert_uint_eq(scripted_size(&own), 20000000);
    for (uint64_t offset = 0; offset < 20000000; offset += 999983)
        scripted_read(&own, offset, buffer, sizeof buffer);
    view_scratch_free(own.scratch);
    return NULL;
}

START_TEST(threads_agree)
{
    now = (script){.steps = 20000, .step_bytes = 1000, .shard_from = UINT64_MAX};
    opened_model m = open_nothing();
    GThread *threads[4];

    for (int i = 0; i < 4; i++)
        threads[i] = g_thread_new("reader", size_in_thread, &m);
    for (int i = 0; i < 4; i++)
        g_thread_join(threads[i]);
    close_model(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *tests = tcase_create("text");

    tcase_add_test(tests, empty);
    tcase_add_test(tests, every_offset_of_a_short_text);
    tcase_add_test(tests, checkpoints_are_few_and_used);
    tcase_add_test(tests, reading_on_costs_nothing_twice);
    tcase_add_test(tests, a_piece_is_of_one_shard);
    tcase_add_loop_test(tests, a_changed_text_is_an_error, 0, G_N_ELEMENTS(changes));
    tcase_add_test(tests, threads_agree);
    suite_add_tcase(suite, tests);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
