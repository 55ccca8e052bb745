/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of the elements of a top-level array in JSON text that jansson has already accepted, so that a message about
 * element 312 can say where it is. One walk over the text for all elements.
 */
#ifndef MODEL_JSON_LINES_H
#define MODEL_JSON_LINES_H

#include <stdbool.h>

struct json_lines {
	const char *at; /* NULL = not found or at the end */
	long line;      /* of `at`, from 1 */
};

/* Goes to the array that is the value of `key` in the outermost object. */
struct json_lines json_lines_find(const char *text, const char *key);

/* Line of a key of the outermost object, or of the object that is the value of its key `object`; 0 if it is not found.
 */
long json_lines_key(const char *text, const char *object, const char *key);

/* Line of the next element, 0 when there is none. */
long json_lines_next(struct json_lines *lines);

#endif
