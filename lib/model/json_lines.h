/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the lines of the elements of a top-level array, in JSON text that jansson has already accepted, so that an
 * error message about an element can give its line. The text is read once for all elements.
 */
#ifndef MODEL_JSON_LINES_H
#define MODEL_JSON_LINES_H

#include <stdbool.h>

struct json_lines {
	const char *at; /* NULL = not found or at the end */
	long line;      /* of `at`, from 1 */
};

/* Finds the array that is the value of `key` in the outermost object. */
struct json_lines json_lines_find(const char *text, const char *key);

/*
 * Returns the line of `key`, or 0 if it is not found. If `object` is NULL, searches the outermost object; else searches
 * the object that is the value of the key `object` there.
 */
long json_lines_key(const char *text, const char *object, const char *key);

/* Returns the line of the next element, or 0 if there is none. */
long json_lines_next(struct json_lines *lines);

#endif
