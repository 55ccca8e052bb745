/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of hosts and racks, limited to characters that every file format can hold without quotes. */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Returns true if the name is valid UTF-8, is not empty, fits `capacity` bytes with its NUL, and has no blanks, control
 * characters, commas or double quotes.
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
 * Returns the name in `names` (ended by NULL) that is most similar to `typed`, by the number of inserted, omitted,
 * replaced or swapped letters; NULL if all names differ by more than a third of the letters of `typed` (rounded).
 */
const char *name_nearest(const char *typed, const char *const *names);

/*
 * Prints the text in double quotes, with a backslash before each quote and backslash, as Prometheus and Graphviz
 * expect.
 */
void name_print_quoted(FILE *out, const char *text);

/* Prints the first `bytes` bytes of the text in single quotes: a word that a POSIX shell does not change. */
void shell_print(FILE *out, const char *text, size_t bytes);

/* Prints text escaped for XML and HTML, also for use within double quotes. */
void xml_print(FILE *out, const char *text);

#endif
