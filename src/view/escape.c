/* Strings from a file, made fit for JSON and for lines (escape.h). Both look for runs of bytes that
 * stay as they are, and give them to the sink whole. */
#include "view/escape.h"

#include <string.h>

#include "gguf/escape.h"

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t escape_slice(const char *bytes, uint64_t len)
{
    if (len <= TEXT_SLICE)
        return (size_t)len;
    /* A character has at most three bytes after its first; four in a row belong to none. */
    for (size_t back = 0; back < 4; back++)
        if (!is_continuation(bytes[TEXT_SLICE - back]))
            return TEXT_SLICE - back;
    return TEXT_SLICE;
}

/* How many bytes of len > 0 that begin with no whole character make one U+FFFD: as many as could
 * begin a character (the Unicode Standard, section 3.9, "maximal subpart"). */
static size_t broken_length(const char *bytes, size_t len)
{
    unsigned char first = (unsigned char)bytes[0];
    unsigned char second = len > 1 ? (unsigned char)bytes[1] : 0;
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    size_t want = first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 1;

    if (want == 1 || second < low || second > high)
        return 1;
    return want == 4 && len > 2 && is_continuation(bytes[2]) ? 3 : 2;
}

static void put_json_control(text_sink *sink, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char letters[] = "btn\0fr"; /* from 8 */

    if (c >= 8 && c <= 13 && letters[c - 8])
        text_put(sink, (const char[]){'\\', letters[c - 8]}, 2);
    else
        text_put(sink, (const char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
}

static bool is_plain_json(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* One character that is not plain ASCII; its length. */
static size_t put_json_special(text_sink *sink, const char *bytes, size_t len)
{
    unsigned char c = (unsigned char)bytes[0];

    if (c == '"' || c == '\\') {
        text_put(sink, (const char[]){'\\', (char)c}, 2);
        return 1;
    }
    if (c < 0x80) {
        put_json_control(sink, c);
        return 1;
    }

    size_t length = pn_utf8_length(bytes, len);
    if (length == 0) {
        text_put(sink, "\xef\xbf\xbd", 3);
        return broken_length(bytes, len);
    }
    if (c == 0xc2 && (unsigned char)bytes[1] < 0xa0)
        put_json_control(sink, (unsigned char)bytes[1]);
    else
        text_put(sink, bytes, length);
    return length;
}

void escape_json(text_sink *sink, const char *bytes, size_t len)
{
    size_t i = 0;

    while (i < len) {
        size_t run = i;
        while (run < len && is_plain_json((unsigned char)bytes[run]))
            run++;
        if (run > i)
            text_put(sink, bytes + i, run - i);
        i = run;
        if (i < len)
            i += put_json_special(sink, bytes + i, len - i);
    }
}

static char line_escape(char c)
{
    switch (c) {
    case '\\':
        return '\\';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\0':
        return '0';
    default:
        return 0;
    }
}

void escape_line(text_sink *sink, const char *bytes, size_t len)
{
    size_t i = 0;

    while (i < len) {
        size_t run = i;
        while (run < len && !line_escape(bytes[run]))
            run++;
        if (run > i)
            text_put(sink, bytes + i, run - i);
        if (run < len)
            text_put(sink, (const char[]){'\\', line_escape(bytes[run])}, 2);
        i = run + 1;
    }
}
