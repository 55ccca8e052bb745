/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes JSON with jansson; errors name file, line and field. A parser reads the members of an object with
 * json_need_*() and json_may_*(). The first mistake sets the reader's error, and later calls do nothing, so the parser
 * checks for an error only once, at the end. Values are borrowed from the root. Not shared between threads.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <base/error.h>

struct json_reader {
	const char *file;  /* for messages */
	long line;         /* 0, or the line of a JSON-lines file */
	struct error *err; /* set by the first mistake; not NULL */
	bool failed;
	bool foreign_told; /* an unknown key was reported; one warning per reader */
};

/*
 * Parse a file ("-" = stdin) or a text. Return the value, which the caller json_decref()s, or NULL with err set. `name`
 * and `line` are for messages: in a JSON-lines file, `line` is the number of the line; 0: `text` is a whole file.
 */
json_t *json_read_file(const char *path, struct error *err);
json_t *json_read_text(const char *name, long line, const char *text, size_t bytes, struct error *err);

/*
 * Returns the value as text with an indent of 2 spaces, which the caller frees; NULL if out of memory. Reals have the
 * fewest digits that read back as the same double: 0.95, where jansson's 17 digits are 0.94999999999999996.
 */
char *json_to_text(const json_t *value);

/*
 * Prints the fewest digits that read back as the same double, as a JSON real ("5.0", "1e+30"); "null" for NAN and
 * infinities. Returns the length.
 */
enum { JSON_REAL_BYTES = 40 };
size_t json_real_text(double value, char text[static JSON_REAL_BYTES]);

/*
 * Prints `before`, then the value on one line, and releases the value. For documents that are too large to be held as
 * one value. Returns false if value is NULL, if out of memory, or if the stream has an error.
 */
bool json_print_member(FILE *out, const char *before, json_t *value);

/*
 * Prints json_to_text() and a newline. Returns 0, or -ENOMEM if out of memory or if value is NULL. Does not check the
 * stream.
 */
int json_print(FILE *out, const json_t *value);

/* Writes json_to_text() atomically, with a newline at the end. */
int json_write_file(const char *path, const json_t *value, struct error *err);
/*
 * As json_write_file(), and releases the value. If value is NULL, fails with -ENOMEM, since functions that make a value
 * return NULL when out of memory.
 */
int json_write_file_new(const char *path, json_t *value, struct error *err);

/* Fails with "expected `schema`, found ..." unless object["schema"] is exactly `schema`. */
void json_need_schema(struct json_reader *reader, const json_t *object, const char *schema);

/*
 * Read object[key] and check its type and range; `where` is the object's place for messages ("servers[3]", "" at the
 * top). need_: it is an error if the key is missing or null. may_: the result is `fallback` (for an array: NULL) if the
 * key is missing or null. After an error, need_ returns `minimum` or NULL, and may_ returns `fallback` or NULL.
 */
double json_need_number(struct json_reader *reader, const json_t *object, const char *where, const char *key,
			double minimum, double maximum);
double json_may_number(struct json_reader *reader, const json_t *object, const char *where, const char *key,
		       double minimum, double maximum, double fallback);
int64_t json_need_integer(struct json_reader *reader, const json_t *object, const char *where, const char *key,
			  int64_t minimum, int64_t maximum);
int64_t json_may_integer(struct json_reader *reader, const json_t *object, const char *where, const char *key,
			 int64_t minimum, int64_t maximum, int64_t fallback);
/*
 * json_need_string() refuses an empty string. Both functions refuse control characters other than newline and tab.
 */
const char *json_need_string(struct json_reader *reader, const json_t *object, const char *where, const char *key);
const char *json_may_string(struct json_reader *reader, const json_t *object, const char *where, const char *key,
			    const char *fallback);
bool json_may_boolean(struct json_reader *reader, const json_t *object, const char *where, const char *key,
		      bool fallback);
const json_t *json_need_array(struct json_reader *reader, const json_t *object, const char *where, const char *key);
const json_t *json_may_array(struct json_reader *reader, const json_t *object, const char *where, const char *key);
const json_t *json_need_object(struct json_reader *reader, const json_t *object, const char *where, const char *key);

/*
 * Returns the first key of the object that is not one of the names in `known` (ended by NULL) but similar to one of
 * them; NULL if there is none, or if `object` is no object.
 */
const char *json_misspelt_key(const json_t *object, const char *const *known);
/*
 * Fails if json_misspelt_key() finds a key; the error lists the known keys and suggests the likely one. Ignores other
 * unknown keys, which may belong to other programs, and logs a warning for the first of them.
 */
void json_need_known(struct json_reader *reader, const json_t *object, const char *where, const char *const *known);

json_t *json_number_or_null(double value); /* JSON null for NAN and infinities; returns NULL if out of memory */

/*
 * Returns a JSON string of a message; returns NULL if out of memory. A message may quote bytes that are no UTF-8, or be
 * cut within a character; then '?' replaces each byte that is not ASCII.
 */
json_t *json_message(const char *text);

/*
 * json_dumps(), or NULL if out of memory: also if this thread ran out of memory in the JSON library since the last
 * call, as a value that was made meanwhile may lack members. The functions above that print or write values use it. The
 * caller frees the text. NULL is legal.
 */
char *json_dump_whole(const json_t *value, size_t flags);

/* Records an error at where.key, unless the reader already has an error. */
void json_fail(struct json_reader *reader, const char *where, const char *key, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Records ENOMEM, "out of memory", unless the reader already has an error. */
void json_no_memory(struct json_reader *reader);

#endif
