/* Bytes from a file, made fit for a file name, a log and a terminal. Knows nothing of what the
 * bytes mean. */
#include "gguf/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { BRIEF_MAX = 200, BRIEF_HEAD = 120, BRIEF_TAIL = 60 };

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

size_t pn_utf8_length(const char *bytes, size_t len)
{
    const uint8_t *b = (const uint8_t *)bytes;

    if (b[0] < 0x80)
        return 1;
    if (b[0] < 0xC2 || b[0] > 0xF4)
        return 0;

    size_t n = b[0] < 0xE0 ? 2 : b[0] < 0xF0 ? 3 : 4;
    if (len < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if (!is_continuation(b[i]))
            return 0;

    bool overlong = (b[0] == 0xE0 && b[1] < 0xA0) || (b[0] == 0xF0 && b[1] < 0x90);
    bool surrogate = b[0] == 0xED && b[1] >= 0xA0;
    bool too_large = b[0] == 0xF4 && b[1] >= 0x90;
    return overlong || surrogate || too_large ? 0 : n;
}

/* Whether the character of n bytes at b (n = 0: one stray byte) must be written as hex. */
static bool is_unsafe(const uint8_t *b, size_t n, bool keep_slash)
{
    if (n == 1)
        return b[0] < 0x20 || b[0] == 0x7F || b[0] == '%' || (b[0] == '/' && !keep_slash);
    return n == 0 || (n == 2 && b[0] == 0xC2 && b[1] < 0xA0);
}

/* A character is copied before it is judged: bytes in a mapping may change between two looks. */
static size_t next(const char *bytes, size_t len, bool keep_slash, char out[PN_ESCAPED_MAX],
                   size_t *out_len)
{
    static const char hex[] = "0123456789ABCDEF";
    char character[4];
    size_t there = MIN(len, sizeof character);
    memcpy(character, bytes, there);

    size_t n = pn_utf8_length(character, there);
    if (!is_unsafe((const uint8_t *)character, n, keep_slash)) {
        memcpy(out, character, n);
        *out_len = n;
        return n;
    }
    n = n == 2 ? 2 : 1; /* C1, or a byte alone */
    for (size_t i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)character[i];
        out[3 * i] = '%';
        out[3 * i + 1] = hex[byte >> 4];
        out[3 * i + 2] = hex[byte & 15];
    }
    *out_len = 3 * n;
    return n;
}

size_t pn_escape_next(const char *bytes, size_t len, char out[PN_ESCAPED_MAX], size_t *out_len)
{
    return next(bytes, len, false, out, out_len);
}

static void escape(GString *out, const char *bytes, size_t len, bool keep_slash)
{
    for (size_t i = 0; i < len;) {
        char escaped[PN_ESCAPED_MAX];
        size_t n;
        i += next(bytes + i, len - i, keep_slash, escaped, &n);
        g_string_append_len(out, escaped, (gssize)n);
    }
}

void pn_escape(GString *out, const char *bytes, size_t len)
{
    escape(out, bytes, len, false);
}

/* Moves `at` back to where a character begins, so that a cut leaves no half of one. */
static size_t character_start(const char *bytes, size_t at)
{
    for (size_t back = 0; back < 4 && back < at; back++)
        if (!is_continuation((uint8_t)bytes[at - back]))
            return at - back;
    return at;
}

void pn_escape_brief(GString *out, const char *bytes, size_t len)
{
    if (len <= BRIEF_MAX) {
        escape(out, bytes, len, true);
        return;
    }
    size_t head = character_start(bytes, BRIEF_HEAD);
    size_t tail = character_start(bytes, len - BRIEF_TAIL);
    escape(out, bytes, head, true);
    g_string_append(out, "…");
    escape(out, bytes + tail, len - tail, true);
}
