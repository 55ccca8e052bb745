/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses numbers strictly: the whole string must be a number, and overflow is an error. Also prints them. Pure, as long
 * as nobody calls setlocale().
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Parses a finite number in decimal or scientific notation. Returns 0, -EINVAL (`text` is not exactly one such number)
 * or -ERANGE (too large). A number too small for a double becomes 0.
 */
int number_parse_double(const char *text, double *value);

/* Parses a decimal integer. Returns 0, -EINVAL or -ERANGE, as number_parse_double(). */
int number_parse_i64(const char *text, int64_t *value);

/*
 * Prints the fewest digits, from 15 to 17 significant ones, that read back as exactly `value`. `text` holds 32 bytes or
 * more.
 */
void number_print_double(double value, char *text, size_t bytes);

/* Rounds to this number of decimals, as printf() does but for halves, and never to -0: printf("%+.1f", ...). */
double number_rounded(double value, int decimals);

/* Returns the ending of a plural, "" for 1 and "s" otherwise: printf("%u job%s", count, number_s(count)). */
static inline const char *number_s(uint64_t count)
{
	return count == 1 ? "" : "s";
}

#endif
