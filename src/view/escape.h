/* Strings from a file, made fit for JSON and for lines. */
#pragma once

#include "view/text.h"

/* How many of len bytes, TEXT_SLICE at most, to take next, so that no character is cut. */
size_t escape_slice(const char *bytes, uint64_t len);

/* What stands between the quotes in JSON. UTF-8 stays as it is; bytes that are not UTF-8 become
 * U+FFFD, one for each longest piece of a character; control characters, C1 and DEL among them, are
 * escaped. */
void escape_json(text_sink *sink, const char *bytes, size_t len);

/* Backslash, newline, carriage return and NUL as \\ \n \r \0, so that a string is one line. */
void escape_line(text_sink *sink, const char *bytes, size_t len);
