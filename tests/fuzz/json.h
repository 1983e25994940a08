/* Whether a text is JSON as RFC 8259 has it, in UTF-8. For checks only: it builds nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool json_is_valid(const char *text, size_t len);
