/* Usage errors, and the nearest word by optimal string alignment: the least number of letters to
 * add, drop, change or swap with the next. */
#include "mount/words.h"

#include <stdarg.h>
#include <string.h>

enum { LONGEST = 32 }; /* nothing that anybody could have meant is longer */

bool usage_error(GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *sentence = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, MOUNT_ERROR, MOUNT_USAGE, "%s (see mount.gguf --help)", sentence);
    return false;
}

char *shell_word(const char *path)
{
    static const char plain[] = G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "/._-+,=:@%";
    bool is_plain = *path != '\0' && path[strspn(path, plain)] == '\0';
    return is_plain ? g_strdup(path) : g_shell_quote(path);
}

static unsigned distance_of(const char *a, size_t n, const char *b, size_t m)
{
    unsigned rows[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= n; i++)
        rows[i][0] = (unsigned)i;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            unsigned changed = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            unsigned least = MIN(MIN(rows[i - 1][j], rows[i][j - 1]) + 1, changed);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                least = MIN(least, rows[i - 2][j - 2] + 1);
            rows[i][j] = least;
        }
    }
    return rows[n][m];
}

void nearest_begin(nearest *n, const char *wanted)
{
    *n = (nearest){.wanted = wanted, .wanted_len = strcspn(wanted, "=")};
}

void nearest_try(nearest *n, const char *candidate)
{
    size_t len = strcspn(candidate, "=");
    if (n->wanted_len > LONGEST || len > LONGEST)
        return;
    unsigned distance = distance_of(n->wanted, n->wanted_len, candidate, len);
    unsigned slips = len < 4 ? 1 : len < 8 ? 2 : 3;
    if (distance > slips || 2 * distance >= len || (n->found != NULL && distance >= n->distance))
        return;
    n->found = candidate;
    n->found_len = len;
    n->distance = distance;
}
