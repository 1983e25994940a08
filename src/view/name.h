/* The file name of a key or a tensor, and the way back.
 *
 * A file name is the true name with every '/', '%', NUL, control byte and byte that is no valid
 * UTF-8 written %XX; "." and ".." are %2E and %2E%2E, the empty name is %. What is added begins
 * with a bare %, which no encoded name contains: the second key of a name has %~2 at its end. The
 * stem (all but the suffix) has at most 251 bytes; a name that needs more is cut, and %~ and 16 hex
 * digits of the SHA-256 of the true name follow the cut, before the %~2 of a duplicate. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { VIEW_NAME_MAX = 255, VIEW_SUFFIX_MAX = 4, VIEW_STEM_MAX = VIEW_NAME_MAX - VIEW_SUFFIX_MAX };

/* Writes the file name of the nth (from 1) key or tensor of this name to out, with a NUL. suffix
 * (at most VIEW_SUFFIX_MAX bytes; NULL: none) is appended as it is. Owns no memory
 * where it touches the name for the first time: may be left by a long jump. */
void view_file_name(char out[VIEW_NAME_MAX + 1], const char *bytes, uint64_t len, uint32_t nth,
                    const char *suffix);

/* Whether that name is cut, and the digits in it as a number. For those who keep the number, since
 * it costs a walk over the whole name: the same with the number given. */
bool view_name_is_cut(const char *bytes, uint64_t len, uint32_t nth);
uint64_t view_name_hash(const char *bytes, uint64_t len);
void view_file_name_hashed(char out[VIEW_NAME_MAX + 1], const char *bytes, uint64_t len,
                           uint32_t nth, const char *suffix, uint64_t hash);

/* What a file name says. */
typedef struct {
    uint32_t nth;
    bool is_cut;
    uint64_t hash;             /* when it is cut, … */
    char bytes[VIEW_NAME_MAX]; /* … else the true name, … */
    uint32_t len;              /* … and its length */
} view_name;

/* Takes a file name apart; false when it cannot be one of ours. It does not check that the spelling
 * is the one that view_file_name gives: render what was found, and compare. */
bool view_name_parse(const char *file_name, const char *suffix, view_name *out);
