/* SPDX-License-Identifier: BSD-3-Clause */
/* The size of a metric's regular expression. */
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

#endif
