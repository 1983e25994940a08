/* File names: whatever a key or tensor is called, its file name is fit for one, unlike that of any
 * other, and leads back to it. */
#include <string.h>

#include "check-model.h"
#include "fuzz.h"
#include "view/name.h"

static const char *const suffixes[] = {NULL, ".npy", ".f", "%~2"};

/* A name as the model has it. */
typedef struct {
    const char *bytes;
    uint64_t len;
    uint32_t nth;
} true_name;

static void check_name(const true_name *name, const char *suffix, char out[VIEW_NAME_MAX + 1])
{
    view_name back;

    view_file_name(out, name->bytes, name->len, name->nth, suffix);
    size_t len = strlen(out), suffix_len = suffix ? strlen(suffix) : 0;
    g_assert_true(len > suffix_len && len - suffix_len <= VIEW_STEM_MAX);
    g_assert_true(!suffix || g_str_has_suffix(out, suffix));
    g_assert_true(strchr(out, '/') == NULL && strcmp(out, ".") != 0 && strcmp(out, "..") != 0);
    check_sentence(out);

    g_assert_true(view_name_parse(out, suffix, &back));
    g_assert_cmpuint(back.nth, ==, name->nth);
    g_assert_true(back.is_cut == view_name_is_cut(name->bytes, name->len, name->nth));
    if (back.is_cut) {
        char again[VIEW_NAME_MAX + 1];
        g_assert_cmpuint(back.hash, ==, view_name_hash(name->bytes, name->len));
        view_file_name_hashed(again, name->bytes, name->len, name->nth, suffix, back.hash);
        g_assert_cmpstr(again, ==, out);
    } else {
        g_assert_cmpuint(back.len, ==, name->len);
        g_assert_true(name->len == 0 || memcmp(back.bytes, name->bytes, back.len) == 0);
    }
}

static bool same(const true_name *a, const true_name *b)
{
    return a->len == b->len && a->nth == b->nth &&
           (a->len == 0 || memcmp(a->bytes, b->bytes, a->len) == 0);
}

/* The input as the name of a file that somebody asks for. What it is taken for has that very name,
 * or another one. */
static void ask_for(const uint8_t *data, size_t size, const char *suffix)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    char out[VIEW_NAME_MAX + 1];
    view_name found;

    if (!view_name_parse(text, suffix, &found))
        return;
    g_assert_true(found.nth >= 1 && found.len <= VIEW_NAME_MAX);
    if (!found.is_cut) {
        true_name name = {found.bytes, found.len, found.nth};
        check_name(&name, suffix, out);
    }
}

/* Two numbers, then two names: the input is cut in two in a place that it says. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t nths[] = {1, 1, 1, 2, 3, 99, 1000000000, UINT32_MAX};
    fuzz_input in = {data, data + size};
    char a_name[VIEW_NAME_MAX + 1], b_name[VIEW_NAME_MAX + 1];

    uint64_t choice = fuzz_take(&in, 1), at = fuzz_take(&in, 2);
    size_t left = (size_t)(in.end - in.at), a_len = MIN(at, left);
    const char *suffix = suffixes[choice % G_N_ELEMENTS(suffixes)];
    true_name a = {(const char *)in.at, a_len, nths[choice / 4 % 8]};
    true_name b = {(const char *)in.at + a_len, left - a_len, nths[choice / 32]};

    check_name(&a, suffix, a_name);
    check_name(&b, suffix, b_name);
    g_assert_true(same(&a, &b) == (strcmp(a_name, b_name) == 0));
    ask_for(in.at, left, suffix);
    return 0;
}
