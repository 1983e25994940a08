/* The names of the files of a split set. Knows names, and opens nothing. */
#include "gguf/split.h"

#include "gguf/escape.h"

#include <pantheon/gguf.h>

#include <string.h>

enum { LEAST_DIGITS = 5 };

/* Reads a number that ends at path[*end], as printf writes %05d, and moves *end before it. */
static bool number_before(const char *path, size_t *end, unsigned *out)
{
    size_t start = *end;
    while (start > 0 && g_ascii_isdigit(path[start - 1]))
        start--;

    size_t digits = *end - start;
    if (digits < LEAST_DIGITS || digits > 9 || (digits > LEAST_DIGITS && path[start] == '0'))
        return false;
    *out = 0;
    for (size_t i = start; i < *end; i++)
        *out = *out * 10 + (unsigned)(path[i] - '0');
    *end = start;
    return true;
}

static bool string_before(const char *path, size_t *end, const char *string)
{
    size_t len = strlen(string);
    if (*end < len || memcmp(path + *end - len, string, len) != 0)
        return false;
    *end -= len;
    return true;
}

bool pn_split_parse(const char *path, size_t *prefix_len, unsigned *no, unsigned *count)
{
    size_t end = strlen(path);
    unsigned number, of;

    if (!string_before(path, &end, ".gguf") || !number_before(path, &end, &of) ||
        !string_before(path, &end, "-of-") || !number_before(path, &end, &number) ||
        !string_before(path, &end, "-"))
        return false;
    if (number < 1 || number > of)
        return false;
    *prefix_len = end;
    *no = number - 1;
    *count = of;
    return true;
}

char *pn_split_sibling(const char *path, unsigned no, unsigned count, GError **error)
{
    size_t prefix_len;
    unsigned named_no, named_count;
    g_autoptr(GString) name = g_string_new(NULL);

    pn_escape_brief(name, path, strlen(path));
    if (!pn_split_parse(path, &prefix_len, &named_no, &named_count)) {
        g_set_error(error, PN_GGUF_ERROR, PN_GGUF_ERROR_SHARD,
                    "%s is not named like a shard (…-%05u-of-%05u.gguf), so there is no telling "
                    "where it is",
                    name->str, no + 1, count);
        return NULL;
    }
    if (named_count != count) {
        g_set_error(error, PN_GGUF_ERROR, PN_GGUF_ERROR_SHARD,
                    "%s is named as one of %u shards, where its metadata say %u", name->str,
                    named_count, count);
        return NULL;
    }
    return g_strdup_printf("%.*s-%05u-of-%05u.gguf", (int)prefix_len, path, no + 1, count);
}
