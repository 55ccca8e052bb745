/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/name.h>

#include <string.h>

#include <jansson.h>

bool name_is_valid(const char *name, size_t capacity)
{
	json_t *text;

	if (name[0] == '\0' || strlen(name) >= capacity)
		return false;
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == ',' || *c == '"' || *c == 0x7f)
			return false;
	text = json_string(name); /* NULL when it is not UTF-8 */
	json_decref(text);
	return text != NULL;
}
