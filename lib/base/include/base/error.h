/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An error that a person can act on: an errno value and one line of text. Functions that can fail on somebody's input
 * take a `struct error *` (NULL is legal: the code is still returned) and return 0 or -errno. The caller owns the
 * struct, which needs no heap memory. Not to be shared between threads.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdarg.h>

enum { ERROR_TEXT_BYTES = 1024 };

struct error {
	int code; /* errno value, 0 = none */
	char text[ERROR_TEXT_BYTES];
};

/* The place of an error in an input file. line 0 and field NULL mean "does not apply". */
struct error_place {
	const char *file;
	long line; /* from 1 */
	const char *field;
};

/*
 * Sets err to code (an errno value, > 0) and the formatted line; returns -code, so that `return error_set(...)`
 * reads well. Say what was found, what was expected, and what to do next.
 */
int error_set(struct error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* As error_set(), with "file:line: field: " in front of the text. */
int error_at(struct error *err, struct error_place place, int code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Puts "prefix: " in front of err's text and keeps its code. Returns -err->code, or -EINVAL if err is NULL. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Returns the code for a caller to return after a create function returned NULL: -err->code, or -fallback if err is
 * NULL or empty. fallback (> 0) is the errno value of the failures that do not set err, mostly ENOMEM.
 */
int error_code(const struct error *err, int fallback);

#endif
