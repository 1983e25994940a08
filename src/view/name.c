/* File names of keys and tensors. Knows nothing of folders, nor of who else has which name. */
#include "view/name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <glib.h>

#include "gguf/escape.h"

/* "%~" and the digits of a hash; "%~" and those of a number. */
enum { HASH_DIGITS = 16, HASH_MARK = 2 + HASH_DIGITS, NTH_DIGITS = 10, NTH_MARK = 2 + NTH_DIGITS };

/* Encodes the characters that fit into max bytes; false when some do not. */
static bool encode(char *out, size_t max, const char *bytes, uint64_t len, size_t *out_len)
{
    size_t n = 0;
    for (uint64_t i = 0; i < len;) {
        char character[PN_ESCAPED_MAX];
        size_t size;
        i += pn_escape_next(bytes + i, len - i, character, &size);
        if (size > max - n) {
            *out_len = n;
            return false;
        }
        memcpy(out + n, character, size);
        n += size;
    }

    if (n <= 2 && memcmp(out, "..", n) == 0) {
        static const char *const spelled[] = {"%", "%2E", "%2E%2E"};
        size_t size = strlen(spelled[n]);
        memcpy(out, spelled[n], size);
        n = size;
    }
    *out_len = n;
    return true;
}

static size_t mark_nth(char mark[NTH_MARK + 1], uint32_t nth)
{
    mark[0] = '\0';
    return nth > 1 ? (size_t)snprintf(mark, NTH_MARK + 1, "%%~%u", nth) : 0;
}

bool view_name_is_cut(const char *bytes, uint64_t len, uint32_t nth)
{
    char stem[VIEW_STEM_MAX], mark[NTH_MARK + 1];
    size_t room = VIEW_STEM_MAX - mark_nth(mark, nth), n;

    return len > room / 3 && !encode(stem, room, bytes, len, &n);
}

/* Reads a byte of every page: bytes that cannot be read fault here, where no memory is owned yet.
 */
static void touch(const char *bytes, uint64_t len)
{
    enum { PAGE = 4096 };
    const volatile char *at = bytes;

    for (uint64_t i = 0; i < len; i += PAGE)
        (void)at[i];
    if (len > 0)
        (void)at[len - 1];
}

uint64_t view_name_hash(const char *bytes, uint64_t len)
{
    uint8_t digest[32];
    gsize size = sizeof digest;

    touch(bytes, len);
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    for (uint64_t done = 0; done < len; done += MIN(len - done, G_MAXINT32))
        g_checksum_update(sum, (const guchar *)bytes + done, (gssize)MIN(len - done, G_MAXINT32));
    g_checksum_get_digest(sum, digest, &size);

    uint64_t hash = 0;
    for (unsigned i = 0; i < sizeof hash; i++)
        hash = hash << 8 | digest[i];
    return hash;
}

static void render(char *out, const char *bytes, uint64_t len, uint32_t nth, const char *suffix,
                   const uint64_t *known_hash)
{
    char mark[NTH_MARK + 1];
    size_t mark_len = mark_nth(mark, nth), room = VIEW_STEM_MAX - mark_len, n;

    if (!encode(out, room, bytes, len, &n)) {
        uint64_t hash = known_hash ? *known_hash : view_name_hash(bytes, len);
        encode(out, room - HASH_MARK, bytes, len, &n);
        n += (size_t)snprintf(out + n, HASH_MARK + 1, "%%~%016" PRIx64, hash);
    }
    memcpy(out + n, mark, mark_len);
    n += mark_len;

    size_t suffix_len = suffix ? strnlen(suffix, VIEW_SUFFIX_MAX) : 0;
    if (suffix_len > 0)
        memcpy(out + n, suffix, suffix_len);
    out[n + suffix_len] = '\0';
}

void view_file_name(char out[VIEW_NAME_MAX + 1], const char *bytes, uint64_t len, uint32_t nth,
                    const char *suffix)
{
    render(out, bytes, len, nth, suffix, NULL);
}

void view_file_name_hashed(char out[VIEW_NAME_MAX + 1], const char *bytes, uint64_t len,
                           uint32_t nth, const char *suffix, uint64_t hash)
{
    render(out, bytes, len, nth, suffix, &hash);
}

/* The length of text before its last "%~", and what follows that; text is `len` long. */
static bool split_at_mark(const char *text, size_t len, size_t *before, const char **after,
                          size_t *after_len)
{
    const char *mark = len < 2 ? NULL : memrchr(text, '~', len);
    if (!mark || mark == text || mark[-1] != '%')
        return false;
    *before = (size_t)(mark - 1 - text);
    *after = mark + 1;
    *after_len = len - *before - 2;
    return true;
}

/* The digits in front of a name's end, in base 10 or 16 (lower case); false for anything else. */
static bool read_digits(const char *digits, size_t len, unsigned base, uint64_t *out)
{
    static const char alphabet[] = "0123456789abcdef";
    uint64_t number = 0;

    for (size_t i = 0; i < len; i++) {
        const char *digit = memchr(alphabet, digits[i], base);
        if (!digit)
            return false;
        number = number * base + (uint64_t)(digit - alphabet);
    }
    *out = number;
    return len > 0;
}

static int hex_value(char digit)
{
    static const char alphabet[] = "0123456789ABCDEF";
    const char *at = memchr(alphabet, digit, 16);
    return at ? (int)(at - alphabet) : -1;
}

static bool decode(const char *text, size_t len, view_name *out)
{
    out->len = 0;
    if (len == 1 && text[0] == '%')
        return true;

    for (size_t i = 0; i < len; i++) {
        char byte = text[i];
        if (byte == '%') {
            int high = i + 2 < len ? hex_value(text[i + 1]) : -1;
            int low = i + 2 < len ? hex_value(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            byte = (char)(high << 4 | low);
            i += 2;
        }
        out->bytes[out->len++] = byte;
    }
    return out->len > 0;
}

bool view_name_parse(const char *file_name, const char *suffix, view_name *out)
{
    size_t len = strlen(file_name), suffix_len = suffix ? strlen(suffix) : 0;
    if (len <= suffix_len || len - suffix_len > VIEW_STEM_MAX)
        return false;
    len -= suffix_len;
    if (suffix_len > 0 && memcmp(file_name + len, suffix, suffix_len) != 0)
        return false;

    size_t before, digits;
    const char *after;
    uint64_t number;
    bool marked = split_at_mark(file_name, len, &before, &after, &digits);

    out->nth = 1;
    if (marked && digits <= NTH_DIGITS) {
        if (!read_digits(after, digits, 10, &number) || number < 2 || number > UINT32_MAX)
            return false;
        out->nth = (uint32_t)number;
        len = before;
        marked = split_at_mark(file_name, len, &before, &after, &digits);
    }
    out->is_cut = marked;
    out->hash = 0;
    out->len = 0;
    if (marked)
        return digits == HASH_DIGITS && read_digits(after, digits, 16, &out->hash);
    return decode(file_name, len, out);
}
