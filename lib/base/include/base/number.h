/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers from text, strictly: the whole string, no overflow. Pure, as long as nobody calls setlocale(). */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Finite decimal or scientific number that fills `text`; 0, -EINVAL (not a number) or -ERANGE (too large). A number too
 * small for a double becomes 0.
 */
int number_parse_double(const char *text, double *value);

/* Decimal integer that fills `text`; 0, -EINVAL or -ERANGE. */
int number_parse_i64(const char *text, int64_t *value);

/* Text that reads back as exactly `value` (15 to 17 significant digits). `text` holds 32 bytes or more. */
void number_print_double(double value, char *text, size_t bytes);

#endif
