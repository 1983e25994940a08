/* Whether a text is JSON: json.h. */
#include "json.h"

#include <glib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

typedef struct {
    const char *at, *end;
} cursor;

static bool value(cursor *c, unsigned depth);

static void spaces(cursor *c)
{
    while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at != '\0')
        c->at++;
}

static bool take(cursor *c, char wanted)
{
    bool is_there = c->at < c->end && *c->at == wanted;
    c->at += is_there;
    return is_there;
}

static bool word(cursor *c, const char *wanted)
{
    size_t len = strlen(wanted);
    if ((size_t)(c->end - c->at) < len || memcmp(c->at, wanted, len) != 0)
        return false;
    c->at += len;
    return true;
}

static bool digits(cursor *c)
{
    const char *from = c->at;
    while (c->at < c->end && g_ascii_isdigit(*c->at))
        c->at++;
    return c->at > from;
}

static bool number(cursor *c)
{
    take(c, '-');
    if (!take(c, '0') && !digits(c))
        return false;
    if (take(c, '.') && !digits(c))
        return false;
    if (!take(c, 'e') && !take(c, 'E'))
        return true;
    if (!take(c, '+'))
        take(c, '-');
    return digits(c);
}

static bool escape(cursor *c)
{
    if (c->at == c->end)
        return false;
    char kind = *c->at++;
    if (kind != 'u')
        return kind != '\0' && strchr("\"\\/bfnrt", kind);
    for (int i = 0; i < 4; i++, c->at++) {
        if (c->at == c->end || !g_ascii_isxdigit(*c->at))
            return false;
    }
    return true;
}

static bool string(cursor *c)
{
    if (!take(c, '"'))
        return false;
    while (c->at < c->end) {
        unsigned char byte = (unsigned char)*c->at++;
        if (byte == '"')
            return true;
        if (byte < ' ' || (byte == '\\' && !escape(c)))
            return false;
    }
    return false;
}

static bool member(cursor *c, unsigned depth)
{
    spaces(c);
    if (!string(c))
        return false;
    spaces(c);
    return take(c, ':') && value(c, depth);
}

static bool list(cursor *c, char close, bool (*one)(cursor *c, unsigned depth), unsigned depth)
{
    spaces(c);
    if (take(c, close))
        return true;
    do {
        if (!one(c, depth))
            return false;
        spaces(c);
    } while (take(c, ','));
    return take(c, close);
}

static bool value(cursor *c, unsigned depth)
{
    spaces(c);
    if (c->at == c->end || depth == MAX_DEPTH)
        return false;
    if (take(c, '{'))
        return list(c, '}', member, depth + 1);
    if (take(c, '['))
        return list(c, ']', value, depth + 1);
    if (*c->at == '"')
        return string(c);
    return word(c, "true") || word(c, "false") || word(c, "null") || number(c);
}

bool json_is_valid(const char *text, size_t len)
{
    cursor c = {text, text + len};

    if (!g_utf8_validate_len(text, len, NULL) || !value(&c, 0))
        return false;
    spaces(&c);
    return c.at == c.end;
}
