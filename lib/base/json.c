/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/json.h>

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/log.h>
#include <base/name.h>

enum { JSON_BYTES_MAXIMUM = 1 << 30 };

json_t *json_read_text(const char *name, long line, const char *text, size_t bytes, struct error *err)
{
	size_t mark = file_mark_bytes(text, bytes);
	json_error_t trouble;
	json_t *value = json_loadb(text + mark, bytes - mark, JSON_REJECT_DUPLICATES, &trouble);

	if (!value)
		error_at(err, (struct error_place){name, line > 0 ? line : trouble.line, NULL}, EINVAL,
			 "not valid JSON at column %d: %s", trouble.column, trouble.text);
	return value;
}

json_t *json_read_file(const char *path, struct error *err)
{
	size_t bytes;
	char *text = file_read_all(path, JSON_BYTES_MAXIMUM, &bytes, err);
	json_t *value;

	if (!text)
		return NULL;
	value = json_read_text(strcmp(path, "-") == 0 ? "standard input" : path, 0, text, bytes, err);
	free(text);
	return value;
}

/*
 * Most values have at most six decimals. Prints such a value without searching for its shortest form, and returns the
 * length. Returns 0 if the value has more decimals, is negative or is too large.
 */
static size_t millionths_text(double value, char *text)
{
	enum { MILLION = 1000000, PLACES = 6 };
	const double largest = 9e15; /* < 2^53: each whole number up to there is a double */

	if (signbit(value) || !(value * MILLION < largest))
		return 0;
	int64_t count = llround(value * MILLION);

	/*
	 * Parsing the decimal would give the same double as this division, so the text is exact if that double is
	 * `value`.
	 */
	if ((double)count / MILLION != value)
		return 0;
	int bytes = snprintf(text, JSON_REAL_BYTES, "%lld.%0*lld", (long long)(count / MILLION), PLACES,
			     (long long)(count % MILLION));

	while (text[bytes - 1] == '0' && text[bytes - 2] != '.')
		bytes--;
	text[bytes] = '\0';
	return (size_t)bytes;
}

size_t json_real_text(double value, char text[static JSON_REAL_BYTES])
{
	size_t bytes = isfinite(value) ? millionths_text(value, text) : 0;

	if (!isfinite(value))
		bytes = (size_t)snprintf(text, JSON_REAL_BYTES, "null");
	for (int digits = 15; bytes == 0; digits++) {
		bytes = (size_t)snprintf(text, JSON_REAL_BYTES, "%.*g", digits, value);
		if (digits < 17 && strtod(text, NULL) != value)
			bytes = 0;
	}
	if (isfinite(value) && !strpbrk(text, ".e")) {
		memcpy(text + bytes, ".0", sizeof ".0");
		bytes += 2;
	}
	return bytes;
}

/*
 * Copies the number at *from to `to`, shortened if it is a real. Moves *from past the number, and returns the end of
 * the copy.
 */
static char *copy_number(const char **from, char *to)
{
	size_t length = strspn(*from, "+-.0123456789eE"), bytes = length;
	char shorter[JSON_REAL_BYTES];

	if (memchr(*from, '.', length))
		bytes = json_real_text(strtod(*from, NULL), shorter);
	if (bytes < length)
		memcpy(to, shorter, bytes);
	else
		memmove(to, *from, bytes = length);
	*from += length;
	return to + bytes;
}

static _Thread_local bool ran_out;

static void *watched_malloc(size_t bytes)
{
	void *memory = malloc(bytes);

	ran_out |= !memory;
	return memory;
}

/* The library's functions report it, too, but nobody checks each member that is added to an object. */
__attribute__((constructor)) static void watch_memory(void)
{
	json_set_alloc_funcs(watched_malloc, free);
}

/* Since the last call. */
static bool has_run_out(void)
{
	bool was = ran_out;

	ran_out = false;
	return was;
}

/* If json_dumps() runs out of memory, it may return a text that lacks keys. */
char *json_dump_whole(const json_t *value, size_t flags)
{
	char *text = value ? json_dumps(value, flags) : NULL;

	if (!has_run_out())
		return text;
	free(text);
	return NULL;
}

static char *to_text(const json_t *value, size_t layout)
{
	char *text = json_dump_whole(value, layout | JSON_REAL_PRECISION(17) | JSON_ENCODE_ANY), *to = text;
	bool quoted = false;

	/* The text is changed in place, as no number becomes longer. */
	for (const char *from = text; from && *from;) {
		if (!quoted && strchr("-0123456789", *from)) {
			to = copy_number(&from, to);
			continue;
		}
		if (*from == '"')
			quoted = !quoted;
		if (quoted && *from == '\\')
			*to++ = *from++;
		*to++ = *from++;
	}
	if (text)
		*to = '\0';
	return text;
}

char *json_to_text(const json_t *value)
{
	return to_text(value, JSON_INDENT(2));
}

bool json_print_member(FILE *out, const char *before, json_t *value)
{
	char *text = value ? to_text(value, 0) : NULL;
	bool written = text && fputs(before, out) != EOF && fputs(text, out) != EOF;

	free(text);
	json_decref(value);
	return written;
}

int json_print(FILE *out, const json_t *value)
{
	char *text = value ? json_to_text(value) : NULL;

	if (text)
		fprintf(out, "%s\n", text);
	free(text);
	return text ? 0 : -ENOMEM;
}

int json_write_file(const char *path, const json_t *value, struct error *err)
{
	char *text = json_to_text(value);
	struct file_writer *writer;

	if (!text)
		return error_set(err, ENOMEM, "cannot write %s: out of memory", path);
	writer = file_writer_open(path, err);
	if (!writer) {
		free(text);
		return error_code(err, EIO);
	}
	errno = 0;
	if (fputs(text, file_writer_stream(writer)) == EOF || fputc('\n', file_writer_stream(writer)) == EOF) {
		int code = errno ? errno : EIO;

		free(text);
		file_writer_discard(writer);
		return error_set(err, code, "cannot write %s: %s", strcmp(path, "-") == 0 ? "to standard output" : path,
				 strerror(code));
	}
	free(text);
	return file_writer_commit(writer, err);
}

int json_write_file_new(const char *path, json_t *value, struct error *err)
{
	int code = value ? json_write_file(path, value, err) : error_set(err, ENOMEM, "out of memory");

	json_decref(value);
	return code;
}

static void fail_va(struct json_reader *reader, const char *where, const char *key, const char *format, va_list list)
{
	char field[300], text[600];

	if (reader->failed)
		return;
	reader->failed = true;
	snprintf(field, sizeof field, "%s%s%s", where ? where : "", where && where[0] && key && key[0] ? "." : "",
		 key ? key : "");
	vsnprintf(text, sizeof text, format, list);
	error_at(reader->err, (struct error_place){reader->file, reader->line, field}, EINVAL, "%s", text);
}

void json_fail(struct json_reader *reader, const char *where, const char *key, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	fail_va(reader, where, key, format, list);
	va_end(list);
}

void json_no_memory(struct json_reader *reader)
{
	if (!reader->failed)
		error_set(reader->err, ENOMEM, "%s: out of memory", reader->file);
	reader->failed = true;
}

static const char *kind_of(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	default:
		return "null";
	}
}

/* Types of a value, as bits. */
enum {
	NUMBER = 1 << JSON_INTEGER | 1 << JSON_REAL,
	BOOLEAN = 1 << JSON_TRUE | 1 << JSON_FALSE,
	STRING = 1 << JSON_STRING,
	ARRAY = 1 << JSON_ARRAY,
	OBJECT = 1 << JSON_OBJECT,
};

/*
 * Returns object[key], or NULL if it is missing or null. It is an error if object is no object, if a needed key is
 * missing or null, or if the type of the value is not among `types`.
 */
static const json_t *get(struct json_reader *reader, const json_t *object, const char *where, const char *key,
			 bool needed, int types, const char *expected)
{
	const json_t *value;

	if (reader->failed)
		return NULL;
	if (!json_is_object(object)) {
		json_fail(reader, where, NULL, "expected an object");
		return NULL;
	}
	value = json_object_get(object, key);
	if (value && types >> json_typeof(value) & 1)
		return value;
	if (value && (needed || !json_is_null(value)))
		json_fail(reader, where, key, "found %s, expected %s", kind_of(value), expected);
	else if (needed)
		json_fail(reader, where, key, "missing, expected %s", expected);
	return NULL;
}

void json_need_schema(struct json_reader *reader, const json_t *object, const char *schema)
{
	const char *found = json_need_string(reader, object, "", "schema");

	if (found && strcmp(found, schema) != 0)
		json_fail(reader, "", "schema", "found '%.80s', expected '%s'", found, schema);
}

static bool is_among(const char *key, const char *const *names)
{
	while (*names && strcmp(*names, key) != 0)
		names++;
	return *names != NULL;
}

const char *json_misspelt_key(const json_t *object, const char *const *known)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
		if (!is_among(key, known) && name_nearest(key, known))
			return key;
	}
	return NULL;
}

static void tell_foreign_key(struct json_reader *reader, const json_t *object, const char *where,
			     const char *const *known)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
		if (reader->foreign_told || is_among(key, known) || !name_is_printable(key, ""))
			continue;
		log_warning("%s: %s%s%.80s is no key that is known here: it is ignored, as are others like it",
			    reader->file, where, where[0] ? "." : "", key);
		reader->foreign_told = true;
	}
}

void json_need_known(struct json_reader *reader, const json_t *object, const char *where, const char *const *known)
{
	const char *key = json_misspelt_key(object, known);
	char list[300] = "";

	if (!key) {
		tell_foreign_key(reader, object, where, known);
		return;
	}
	for (const char *const *name = known; *name; name++)
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", name == known ? "" : ", ", *name);
	json_fail(reader, where, name_is_printable(key, "") ? key : NULL,
		  "unknown key, did you mean '%s'? Expected one of %s", name_nearest(key, known), list);
}

static double number(struct json_reader *reader, const json_t *object, const char *where, const char *key,
		     double minimum, double maximum, bool needed, double fallback)
{
	const json_t *value = get(reader, object, where, key, needed, NUMBER, "a number");
	double x;

	if (!value)
		return fallback;
	x = json_number_value(value);
	if (!isfinite(x) || x < minimum || x > maximum) {
		json_fail(reader, where, key, "found %.15g, expected a number from %.15g to %.15g", x, minimum,
			  maximum);
		return fallback;
	}
	return x;
}

double json_need_number(struct json_reader *reader, const json_t *object, const char *where, const char *key,
			double minimum, double maximum)
{
	return number(reader, object, where, key, minimum, maximum, true, minimum);
}

double json_may_number(struct json_reader *reader, const json_t *object, const char *where, const char *key,
		       double minimum, double maximum, double fallback)
{
	return number(reader, object, where, key, minimum, maximum, false, fallback);
}

/* 4.0 counts as whole: some programs write all numbers as reals. */
static bool whole_number(const json_t *value, int64_t *x)
{
	double real = json_number_value(value);

	if (json_is_integer(value)) {
		*x = json_integer_value(value);
		return true;
	}
	if (real != floor(real) || fabs(real) > 0x1p53)
		return false;
	*x = (int64_t)real;
	return true;
}

static int64_t integer(struct json_reader *reader, const json_t *object, const char *where, const char *key,
		       int64_t minimum, int64_t maximum, bool needed, int64_t fallback)
{
	const json_t *value = get(reader, object, where, key, needed, NUMBER, "a whole number");
	int64_t x;

	if (!value)
		return fallback;
	if (!whole_number(value, &x)) {
		json_fail(reader, where, key, "found %.15g, expected a whole number", json_real_value(value));
		return fallback;
	}
	if (x < minimum || x > maximum) {
		json_fail(reader, where, key, "found %lld, expected a whole number from %lld to %lld", (long long)x,
			  (long long)minimum, (long long)maximum);
		return fallback;
	}
	return x;
}

int64_t json_need_integer(struct json_reader *reader, const json_t *object, const char *where, const char *key,
			  int64_t minimum, int64_t maximum)
{
	return integer(reader, object, where, key, minimum, maximum, true, minimum);
}

int64_t json_may_integer(struct json_reader *reader, const json_t *object, const char *where, const char *key,
			 int64_t minimum, int64_t maximum, int64_t fallback)
{
	return integer(reader, object, where, key, minimum, maximum, false, fallback);
}

static const char *string(struct json_reader *reader, const json_t *object, const char *where, const char *key,
			  bool needed, const char *fallback)
{
	const json_t *value = get(reader, object, where, key, needed, STRING, "a string");

	if (!value)
		return fallback;
	if (needed && json_string_length(value) == 0) {
		json_fail(reader, where, key, "is empty");
		return fallback;
	}
	if (!name_is_printable(json_string_value(value), "\n\t")) {
		json_fail(reader, where, key, "expected text without control characters");
		return fallback;
	}
	return json_string_value(value);
}

const char *json_need_string(struct json_reader *reader, const json_t *object, const char *where, const char *key)
{
	return string(reader, object, where, key, true, NULL);
}

const char *json_may_string(struct json_reader *reader, const json_t *object, const char *where, const char *key,
			    const char *fallback)
{
	return string(reader, object, where, key, false, fallback);
}

bool json_may_boolean(struct json_reader *reader, const json_t *object, const char *where, const char *key,
		      bool fallback)
{
	const json_t *value = get(reader, object, where, key, false, BOOLEAN, "true or false");

	if (!value)
		return fallback;
	return json_is_true(value);
}

const json_t *json_need_array(struct json_reader *reader, const json_t *object, const char *where, const char *key)
{
	return get(reader, object, where, key, true, ARRAY, "an array");
}

const json_t *json_may_array(struct json_reader *reader, const json_t *object, const char *where, const char *key)
{
	return get(reader, object, where, key, false, ARRAY, "an array");
}

const json_t *json_need_object(struct json_reader *reader, const json_t *object, const char *where, const char *key)
{
	return get(reader, object, where, key, true, OBJECT, "an object");
}

json_t *json_message(const char *text)
{
	json_t *message = json_string(text);
	char *copy = message ? NULL : strdup(text);

	for (char *c = copy; c && *c; c++)
		if (*c & 0x80)
			*c = '?';
	if (copy)
		message = json_string(copy);
	free(copy);
	return message;
}

json_t *json_number_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}
