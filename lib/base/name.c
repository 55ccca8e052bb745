/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/name.h>

#include <stdint.h>
#include <string.h>

bool name_is_printable(const char *text, const char *allowed)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if ((*c < ' ' || *c == 0x7f) && !strchr(allowed, *c))
			return false;
		if (*c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f)
			return false;
	}
	return true;
}

enum { COMPARED_BYTES = 32 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Returns the optimal string alignment distance, computed row by row. Both texts are shorter than COMPARED_BYTES. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][COMPARED_BYTES] = {0}, *before = rows[0], *above = rows[1], *row = rows[2], width = strlen(b);

	for (size_t j = 0; j <= width; j++)
		above[j] = j;
	for (size_t i = 1; i <= strlen(a); i++) {
		size_t *spare = before;

		row[0] = i;
		for (size_t j = 1; j <= width; j++) {
			row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
		before = above;
		above = row;
		row = spare;
	}
	return above[width];
}

const char *name_nearest(const char *typed, const char *const *names)
{
	const char *nearest = NULL;
	size_t length = strlen(typed), fewest = (length + 1) / 3 + 1;

	if (length >= COMPARED_BYTES)
		return NULL;
	for (; *names; names++) {
		size_t edits = strlen(*names) < COMPARED_BYTES ? distance(typed, *names) : fewest;

		if (edits >= fewest)
			continue;
		nearest = *names;
		fewest = edits;
	}
	return nearest;
}

bool name_is_utf8(const char *text)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};

	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		int more = *at < 0x80 ? 0 : *at >> 5 == 6 ? 1 : *at >> 4 == 14 ? 2 : *at >> 3 == 30 ? 3 : -1, n = 0;
		uint32_t code = more > 0 ? *at & (0x3fU >> more) : *at;

		for (; n < more && at[1] >> 6 == 2; n++)
			code = code << 6 | (*++at & 0x3fU);
		if (n != more || code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
			return false;
	}
	return true;
}

bool name_is_valid(const char *name, size_t capacity)
{
	return name[0] != '\0' && strlen(name) < capacity && !strpbrk(name, " ,\"") && name_is_printable(name, "") &&
	       name_is_utf8(name);
}

void name_print_quoted(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

void shell_print(FILE *out, const char *text, size_t bytes)
{
	fputc('\'', out);
	for (size_t i = 0; i < bytes; i++)
		fputs(text[i] == '\'' ? "'\\''" : (const char[]){text[i], '\0'}, out);
	fputc('\'', out);
}

void xml_print(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*text, out);
		}
	}
}
