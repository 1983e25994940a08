/* Sentences for a wrong command line, commands in sentences, and the word that was meant by a
 * misspelled one. */
#pragma once

#include "mount/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Sets a usage error: the sentence, and where to read more. Returns false. */
bool usage_error(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* A path as a shell takes it, for a command in a sentence. */
char *shell_word(const char *path);

/* A search: begin with the word, try the words that there are, look at `found`. */
typedef struct {
    const char *wanted;
    size_t wanted_len;
    const char *found; /* the nearest; NULL while none differs by a slip of the hand only */
    size_t found_len;
    unsigned distance; /* of found: letters that are missing, too many, wrong or swapped */
} nearest;

/* Of both words only what comes before a '=' counts. */
void nearest_begin(nearest *n, const char *wanted);
void nearest_try(nearest *n, const char *candidate);
