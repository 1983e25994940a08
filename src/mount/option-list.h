/* The mount options: the list that follows -o. */
#pragma once

#include "mount/options.h"

/* Takes the options of a list "a,b=c\,d,e" into o: a backslash takes the special meaning from what
 * follows it. What there is not is an error, unless sloppy. */
bool option_list_parse(options *o, const char *list, bool is_sloppy, GError **error);

/* Appends a word to a list of mount options, its commas and backslashes escaped. */
void option_list_append(GString *list, const char *word);
