/* SPDX-License-Identifier: BSD-3-Clause */
#include "host_priv.h"

#include <string.h>

static size_t trimmed_length(const char *output)
{
	size_t length = output ? strlen(output) : 0;

	while (length > 0 && strchr(" \t\r\n", output[length - 1]))
		length--;
	return length;
}

const char *output_last_line(char *output)
{
	size_t length = trimmed_length(output);
	char *newline;

	if (length == 0)
		return "no output";
	output[length] = '\0';
	newline = strrchr(output, '\n');
	return newline ? newline + 1 : output;
}

const char *output_tail(const char *output, size_t lines)
{
	const char *at = (output ? output : "") + trimmed_length(output);
	const char *begin = output ? output : at;

	while (at > begin) {
		if (at[-1] == '\n' && --lines == 0)
			break;
		at--;
	}
	return at;
}
