/* Shared by the tests of the parser: files in memory that end exactly where their bytes end, so
 * that AddressSanitizer sees every step too far. */
#pragma once

#include "gguf-writer.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint8_t *bytes;
    pn_gguf_source source;
    pn_gguf_file *file; /* NULL: refused */
    GError *error;
} parsed;

/* size 0 has no bytes at all. */
static inline parsed *parse_bytes(const void *bytes, size_t size)
{
    parsed *p = g_new0(parsed, 1);
    p->bytes = g_memdup2(bytes, size);
    p->source = (pn_gguf_source){.data = p->bytes, .size = size, .name = "test.gguf"};
    p->file = pn_gguf_parse(&p->source, NULL, &p->error);
    ck_assert((p->file == NULL) == (p->error != NULL));
    return p;
}

static inline void parsed_free(parsed *p)
{
    pn_gguf_free(p->file);
    g_clear_error(&p->error);
    g_free(p->bytes);
    g_free(p);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(parsed, parsed_free)

static inline parsed *parse_writer(const gguf_writer *w)
{
    g_autoptr(GByteArray) bytes = writer_finish(w);
    return parse_bytes(bytes->data, bytes->len);
}

static inline char *problems_of(const pn_gguf_file *file)
{
    GString *text = g_string_new(NULL);
    for (uint64_t i = 0; i < file->n_problems; i++) {
        pn_gguf_problem_text(file, i, text);
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}

static inline void assert_says(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in \"%s\"", part, text);
}

static inline uint64_t find_kv(const pn_gguf_file *file, const char *key)
{
    uint64_t i;
    ck_assert_msg(pn_gguf_find_kv(file, key, strlen(key), 1, &i), "no key %s", key);
    return i;
}

static inline int run_suite(const char *name, TCase *tc)
{
    Suite *suite = suite_create(name);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
