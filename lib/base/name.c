/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/name.h>

#include <string.h>

#include <jansson.h>

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

bool name_is_valid(const char *name, size_t capacity)
{
	json_t *text;

	if (name[0] == '\0' || strlen(name) >= capacity || strpbrk(name, " ,\"") || !name_is_printable(name, ""))
		return false;
	text = json_string(name); /* NULL when it is not UTF-8 */
	json_decref(text);
	return text != NULL;
}
