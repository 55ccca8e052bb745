/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/number.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_SHORT = 18 };

/* strtod() also accepts leading blanks, hexadecimal numbers, "inf" and "nan", which are not allowed here. */
static int looks_decimal(const char *text)
{
	return strspn(text, "+-.0123456789eE") == strlen(text) && strpbrk(text, "0123456789");
}

/*
 * Fast path for digits with or without a point, as an integer divided by a power of ten. If the integer has at most 53
 * bits, both are exact doubles; their quotient is rounded once, and equals the result of strtod(), in a tenth of the
 * time. Returns false for other numbers, which strtod() must parse.
 */
static bool parse_short(const char *text, double *value)
{
	static const double tens[DIGITS_SHORT + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
						      1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
	const char *c = text + (text[0] == '-' || text[0] == '+');
	uint64_t whole = 0;
	int digits = 0, behind = 0;
	bool point = false;

	for (;; c++) {
		if (*c >= '0' && *c <= '9') {
			if (++digits > DIGITS_SHORT)
				return false;
			whole = whole * 10 + (uint64_t)(*c - '0');
			behind += point;
		} else if (*c == '.' && !point) {
			point = true;
		} else {
			break;
		}
	}
	if (*c != '\0' || digits == 0 || whole > UINT64_C(1) << 53)
		return false;
	*value = (double)whole / tens[behind];
	if (text[0] == '-')
		*value = -*value;
	return true;
}

int number_parse_double(const char *text, double *value)
{
	char *end;
	double parsed;

	if (parse_short(text, value))
		return 0;
	if (!looks_decimal(text))
		return -EINVAL;
	parsed = strtod(text, &end);
	if (*end != '\0')
		return -EINVAL;
	if (!isfinite(parsed))
		return -ERANGE;
	*value = parsed;
	return 0;
}

int number_parse_i64(const char *text, int64_t *value)
{
	char *end;
	long long parsed;

	if (text[0] == '\0' || isspace((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	parsed = strtoll(text, &end, 10);
	if (end == text || *end != '\0')
		return -EINVAL;
	if (errno == ERANGE)
		return -ERANGE;
	*value = parsed;
	return 0;
}

void number_print_double(double value, char *text, size_t bytes)
{
	for (int digits = 15; digits <= 17; digits++) { /* %.15g drops trailing zeros: 0.1, not 0.100000000000000 */
		snprintf(text, bytes, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			return;
	}
}

double number_rounded(double value, int decimals)
{
	double scale = pow(10, decimals);

	return round(value * scale) / scale + 0.0; /* -0 + 0 is 0 */
}
