/* SPDX-License-Identifier: BSD-3-Clause */
/* The size of a metric's regular expression. */
#ifndef SWEEP_PATTERN_PRIV_H
#define SWEEP_PATTERN_PRIV_H

#include <stddef.h>

enum { PATTERN_BYTES_MAXIMUM = 1000, PATTERN_PARTS_MAXIMUM = 500 };

/*
 * Estimates the number of parts that an extended regular expression is compiled into, whose third power is its compile
 * time; PATTERN_PARTS_MAXIMUM + 1 for any that is longer than PATTERN_BYTES_MAXIMUM or has more parts. Pure.
 */
size_t pattern_parts(const char *pattern);

#endif
