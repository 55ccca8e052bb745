/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of hosts and racks, limited to characters that every file format can hold without quotes. */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * True for one word of UTF-8 that fits `capacity` bytes with its NUL: not empty, no blanks, control characters, commas,
 * quotes.
 */
bool name_is_valid(const char *name, size_t capacity);

/* True if the text is well-formed UTF-8. JSON can hold no other text. */
bool name_is_utf8(const char *text);

/*
 * True if UTF-8 text has no control characters (U+0001 to 1F, 7F to 9F) except those in `allowed`, an ASCII string.
 * Such text neither breaks a table nor controls the terminal when it is printed.
 */
bool name_is_printable(const char *text, const char *allowed);

/*
 * The one of `names` (ended by NULL) that is most similar to `typed`, by the number of inserted, omitted, replaced
 * or swapped letters; NULL when all differ by more than one letter in three (rounded).
 */
const char *name_nearest(const char *typed, const char *const *names);

/* Prints the text in double quotes, with a backslash before each quote and backslash: Prometheus' labels, Graphviz. */
void name_print_quoted(FILE *out, const char *text);

#endif
