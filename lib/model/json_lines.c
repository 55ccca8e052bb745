/* SPDX-License-Identifier: BSD-3-Clause */
#include "files_priv.h"

#include <stddef.h>
#include <string.h>

/* Steps over one character, or over one whole string. */
static const char *step(const char *at, long *line)
{
	if (*at == '\n')
		++*line;
	if (*at != '"')
		return at + 1;
	for (at++; *at && *at != '"'; at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == '\n')
			++*line;
	}
	return *at ? at + 1 : at;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_key(const char *at, const char *key)
{
	size_t length = strlen(key);

	if (*at != '"' || strncmp(at + 1, key, length) != 0 || at[length + 1] != '"')
		return false;
	at += length + 2;
	while (is_blank(*at))
		at++;
	return *at == ':';
}

long json_lines_key(const char *text, const char *object, const char *key)
{
	int depth = 0;
	bool inside = false;
	long line = 1;

	for (const char *at = text; *at; at = step(at, &line)) {
		if (*at == '{' || *at == '[')
			depth++;
		else if (*at == '}' || *at == ']')
			depth--;
		if (depth == 1 && *at == '"' && object)
			inside = is_key(at, object);
		if (depth == (object ? 2 : 1) && (inside || !object) && is_key(at, key))
			return line;
	}
	return 0;
}

struct json_lines json_lines_find(const char *text, const char *key)
{
	int depth = 0;
	long line = 1;

	for (const char *at = text; *at; at = step(at, &line)) {
		bool found = depth == 1 && is_key(at, key);

		if (*at == '{' || *at == '[')
			depth++;
		else if (*at == '}' || *at == ']')
			depth--;
		if (!found)
			continue;
		for (at += strlen(key) + 2; is_blank(*at) || *at == ':'; at = step(at, &line))
			;
		if (*at == '[')
			return (struct json_lines){.at = at + 1, .line = line};
		if (!*at)
			break;
	}
	return (struct json_lines){.at = NULL};
}

long json_lines_next(struct json_lines *lines)
{
	int depth = 0;
	long first;

	if (!lines->at)
		return 0;
	while (is_blank(*lines->at) || *lines->at == ',')
		lines->at = step(lines->at, &lines->line);
	first = lines->line;
	if (!*lines->at || *lines->at == ']') {
		lines->at = NULL;
		return 0;
	}
	while (*lines->at && (depth > 0 || (*lines->at != ',' && *lines->at != ']'))) {
		if (*lines->at == '{' || *lines->at == '[')
			depth++;
		else if (*lines->at == '}' || *lines->at == ']')
			depth--;
		lines->at = step(lines->at, &lines->line);
	}
	return first;
}
