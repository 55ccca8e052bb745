/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/number.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* strtod also takes blanks, hex, "inf" and "nan"; a file's number is none of these. */
static int looks_decimal(const char *text)
{
	return text[0] != '\0' && strspn(text, "+-.0123456789eE") == strlen(text) && strpbrk(text, "0123456789");
}

int number_parse_double(const char *text, double *value)
{
	char *end;
	double parsed;

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
