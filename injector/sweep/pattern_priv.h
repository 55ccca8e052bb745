/* SPDX-License-Identifier: BSD-3-Clause */
/* The size of a metric's regular expression, and constructs that mean something else in POSIX. */
#ifndef SWEEP_PATTERN_PRIV_H
#define SWEEP_PATTERN_PRIV_H

#include <stddef.h>

enum { PATTERN_BYTES_MAXIMUM = 1000, PATTERN_PARTS_MAXIMUM = 500 };

/*
 * Estimates the number of parts into which regcomp() expands an extended regular expression; the time to compile it
 * grows with the third power of this number. Returns PATTERN_PARTS_MAXIMUM + 1 if the expression has more than
 * PATTERN_PARTS_MAXIMUM parts or is longer than PATTERN_BYTES_MAXIMUM. Pure.
 */
size_t pattern_parts(const char *pattern);

/*
 * Returns the first construct of Perl's regular expressions that POSIX lacks or reads in another way, such as \d or *?,
 * and sets *posix to the form to write instead; NULL if there is none. Pure.
 */
const char *pattern_foreign(const char *pattern, const char **posix);

#endif
