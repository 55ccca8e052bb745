/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of hosts and racks, limited to characters that every file format can hold without quotes. Pure. */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True for one word of UTF-8 that fits `capacity` bytes with its NUL: not empty, no blanks, control characters, commas,
 * quotes.
 */
bool name_is_valid(const char *name, size_t capacity);

/* Is the text well-formed UTF-8? JSON can hold no other text. */
bool name_is_utf8(const char *text);

/*
 * Has UTF-8 text no control characters (U+0001 to 1F, 7F to 9F) but those of `allowed`, an ASCII string? Printed, it
 * then neither breaks a table nor drives a terminal.
 */
bool name_is_printable(const char *text, const char *allowed);

/*
 * The one of `names` (ended by NULL) that is most similar to `typed`, by the number of inserted, omitted, replaced
 * or swapped letters; NULL when all differ by more than one letter in three (rounded).
 */
const char *name_nearest(const char *typed, const char *const *names);

#endif
