/* A fuzz target without a fuzzer: runs the files that it is given, and those in folders, in order
 * of their names, and of each a few mutations, the same every time. Files over 256 KiB are left
 * out: they take long, and unit tests look at them. */
#include "mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = 256 * 1024, MUTATIONS = 20, MUTATED_MAX = 16 * 1024 };

static bool in_target;
static fuzz_dice dice = {1};

#pragma weak LLVMFuzzerCustomMutator

/* A target must return: an exit() inside it would look like success. */
static void refuse_exit(void)
{
    if (in_target)
        abort();
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    if (size < max_size && fuzz_below(&dice, 4) == 0)
        data[size++] = (uint8_t)fuzz_roll(&dice);
    for (uint64_t n = fuzz_below(&dice, 4) + 1; size > 0 && n > 0; n--)
        data[fuzz_below(&dice, size)] = (uint8_t)fuzz_roll(&dice);
    return size;
}

/* The copy ends where the sanitizer looks. */
static void run_one(const void *bytes, size_t size)
{
    g_autofree uint8_t *exact = g_memdup2(bytes, size);
    in_target = true;
    LLVMFuzzerTestOneInput(exact, size);
    in_target = false;
}

static void run_mutations(const char *path, const void *bytes, size_t size)
{
    g_autofree uint8_t *work = g_malloc(MUTATED_MAX);
    size_t now = 0;

    for (unsigned i = 0; size <= MUTATED_MAX && i < MUTATIONS; i++) {
        if (i % 4 == 0) { /* each four build on one another */
            memcpy(work, bytes, size);
            now = size;
        }
        now = LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(work, now, MUTATED_MAX, i)
                                      : LLVMFuzzerMutate(work, now, MUTATED_MAX);
        fprintf(stderr, "%s, mutation %u\n", path, i);
        run_one(work, now);
    }
}

static unsigned run(const char *path)
{
    GDir *folder = g_dir_open(path, 0, NULL);
    unsigned n = 0;

    if (folder) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        for (const char *name; (name = g_dir_read_name(folder));)
            g_ptr_array_add(names, g_build_filename(path, name, NULL));
        g_dir_close(folder);
        g_ptr_array_sort(names, compare_names);
        for (guint i = 0; i < names->len; i++)
            n += run(g_ptr_array_index(names, i));
        return n;
    }

    g_autofree char *bytes = NULL;
    g_autoptr(GError) error = NULL;
    gsize size;
    if (!g_file_get_contents(path, &bytes, &size, &error)) {
        fprintf(stderr, "%s\n", error->message);
        exit(EXIT_FAILURE);
    }
    if (size > MAX_SIZE)
        return 0;
    fprintf(stderr, "%s\n", path);
    run_one(bytes, size);
    run_mutations(path, bytes, size);
    return 1;
}

int main(int argc, char **argv)
{
    unsigned n = 0;

    atexit(refuse_exit);
    for (int i = 1; i < argc; i++)
        n += run(argv[i]);
    fprintf(stderr, "%u inputs\n", n);
    return n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
