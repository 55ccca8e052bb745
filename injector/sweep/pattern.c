/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * glibc's regcomp() expands repetitions: a{1,255} becomes 255 copies of a, a+ becomes two, and nested repetitions
 * multiply until memory is exhausted. So pattern_parts() first estimates the number of parts, such as single
 * characters, after the expansion.
 */
#include "pattern_priv.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * A sequence between parentheses, as far as it was read. parts: its number of parts; atom: the number of parts of its
 * last atom, which a repetition that follows multiplies.
 */
struct sequence {
	size_t parts, atom;
};

static void add_atom(struct sequence *sequence, size_t parts)
{
	sequence->parts += parts;
	sequence->atom = parts;
}

static void repeat(struct sequence *sequence, size_t times)
{
	sequence->parts += sequence->atom * (times - 1);
	sequence->atom *= times;
}

/*
 * Skips the rest of a bracket expression; `at` is after its "[". Returns the place after the matching "]", or the end
 * of the text. Classes such as [:digit:] contain brackets of their own.
 */
static const char *skip_brackets(const char *at)
{
	at += *at == '^';
	at += *at == ']';
	while (*at && *at != ']') {
		const char kind = at[0] == '[' ? at[1] : '\0';

		at++;
		if (kind == ':' || kind == '.' || kind == '=') {
			at++;
			while (*at && !(at[0] == kind && at[1] == ']'))
				at++;
			at += *at ? 2 : 0;
		}
	}
	return at + (*at != '\0');
}

const char *pattern_foreign(const char *pattern, const char **posix)
{
	static const char *const forms[][2] = {
		{"\\d", "[0-9]"},
		{"\\D", "[^0-9]"},
		{"*?", "a class such as [^0-9]*"},
		{"+?", "a class such as [^0-9]+"},
		{"??", "?"},
		{"(?", "( )"},
	};

	for (const char *at = pattern; *at; at++) {
		for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
			if (strncmp(at, forms[i][0], 2) == 0) {
				*posix = forms[i][1];
				return forms[i][0];
			}
		if (at[0] == '\\' && at[1])
			at++;
		else if (*at == '[')
			at = skip_brackets(at + 1) - 1;
	}
	return NULL;
}

/*
 * Parses the rest of an interval such as {1,5}; `at` is after its "{". Returns the place after the "}", and sets *times
 * to the number of copies. If the text is not an interval, returns `at` and sets *times to 1.
 */
static const char *read_interval(const char *at, size_t *times)
{
	char *end;
	unsigned long least = strtoul(at, &end, 10), most = least;
	bool has_least = end != at;

	*times = 1;
	if (*end == ',') {
		const char *upper = end + 1;

		most = strtoul(upper, &end, 10);
		if (end == upper)
			most = least < PATTERN_PARTS_MAXIMUM ? least + 1 : least;
	} else if (!has_least) {
		return at;
	}
	if (*end != '}')
		return at;
	*times = most < 1 ? 1 : most > PATTERN_PARTS_MAXIMUM ? PATTERN_PARTS_MAXIMUM + 1 : most;
	return end + 1;
}

size_t pattern_parts(const char *pattern)
{
	struct sequence stack[PATTERN_BYTES_MAXIMUM + 1] = {{0}};
	struct sequence *now = stack;
	const char *at = pattern;

	if (strlen(pattern) > PATTERN_BYTES_MAXIMUM)
		return PATTERN_PARTS_MAXIMUM + 1;
	while (*at) {
		const char c = *at++;
		size_t times = 1;

		if (c == '(') {
			*++now = (struct sequence){0};
		} else if (c == ')' && now > stack) {
			now--;
			add_atom(now, now[1].parts + 1);
		} else if (c == '|') {
			add_atom(now, 1);
		} else if (c == '+') {
			repeat(now, 2);
		} else if (c == '{' && now->atom > 0) {
			at = read_interval(at, &times);
			repeat(now, times);
		} else if (c == '[') {
			at = skip_brackets(at);
			add_atom(now, 1);
		} else if (c != '*' && c != '?') {
			at += c == '\\' && *at;
			add_atom(now, 1);
		}
		if (now->parts > PATTERN_PARTS_MAXIMUM)
			return PATTERN_PARTS_MAXIMUM + 1;
	}
	while (now > stack) {
		now--;
		now->parts += now[1].parts;
	}
	return stack->parts > PATTERN_PARTS_MAXIMUM ? PATTERN_PARTS_MAXIMUM + 1 : stack->parts;
}
