/* Bytes from a file, made fit for a file name, a log and a terminal. */
#pragma once

#include <glib.h>

/* How many bytes (1 to 4) the valid UTF-8 character at bytes takes, of len > 0 that are there; 0
 * when there is none: overlong forms, surrogates and what lies past U+10FFFF are not valid. */
size_t pn_utf8_length(const char *bytes, size_t len);

/* The most bytes that one character becomes. */
enum { PN_ESCAPED_MAX = 6 };

/* Writes the first character of len > 0 bytes to out as pn_escape does, without a NUL, its length
 * to out_len. Returns how many bytes it took. Allocates nothing. */
size_t pn_escape_next(const char *bytes, size_t len, char out[PN_ESCAPED_MAX], size_t *out_len);

/* Appends len bytes to out, with '/', '%', NUL, control bytes (C0, 7F, and C1 as C2 80 to C2 9F)
 * and bytes that are no part of valid UTF-8 written %XX, in upper-case hex. */
void pn_escape(GString *out, const char *bytes, size_t len);

/* The same for a sentence: of a long run only the beginning and the end appear, and "…" between
 * them. '/' is left as it is. */
void pn_escape_brief(GString *out, const char *bytes, size_t len);
