/* SPDX-License-Identifier: BSD-3-Clause */
#include "goal_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/file.h>
#include <base/hash_table.h>
#include <base/number.h>

enum { RANKS_MAXIMUM = 1 << 18, LABEL_BYTES = 256 };

static const double amount_limit = 1e15;

struct label {
	size_t name; /* in `names` */
	uint32_t operation;
};

struct reader {
	struct file_lines *lines;
	struct schedule *schedule;
	char *at; /* the rest of the line */
	char *word;
	char nothing[1]; /* "": the line and the word after the end */
	char held;       /* the character that ended the word, 0 = none was overwritten */
	bool in_comment; /* between the two ends of a comment over several lines */
	bool *seen;      /* [ranks] */
	uint32_t rank;
	struct hash_table table; /* of the rank's labels */
	struct label *labels;
	size_t label_count, label_capacity;
	char *names;
	size_t names_bytes, names_capacity;
};

static int fail(const struct reader *reader, const char *field, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(const struct reader *reader, const char *field, const char *format, ...)
{
	char text[400];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	return error_at(reader->schedule->err,
			(struct error_place){reader->schedule->file, file_lines_number(reader->lines), field}, EINVAL,
			"%s", text);
}

int schedule_fail(const struct schedule *schedule, const struct operation *operation, const char *format, ...)
{
	char text[400];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	return error_at(schedule->err, (struct error_place){schedule->file, operation->line, NULL}, EINVAL, "%s", text);
}

/* Overwrites the comments of a line with blanks. */
static void blank_comments(struct reader *reader, char *line)
{
	for (char *end; *line; line = end) {
		char *begin = reader->in_comment ? line : strchr(line, '/');

		if (!begin)
			return;
		end = begin + 1;
		if (!reader->in_comment && begin[1] == '/') {
			*begin = '\0';
			return;
		}
		if (!reader->in_comment && begin[1] != '*')
			continue;
		end = strstr(reader->in_comment ? begin : begin + 2, "*/");
		reader->in_comment = !end;
		end = end ? end + 2 : begin + strlen(begin);
		memset(begin, ' ', (size_t)(end - begin));
	}
}

/*
 * Sets reader->word to the next word: '{', '}' and ':' are words of their own. Returns 1, 0 at the end of the file, or
 * -errno.
 */
static int next_word(struct reader *reader)
{
	int code;

	if (reader->held)
		*reader->at = reader->held;
	reader->held = '\0';
	while (reader->at += strspn(reader->at, " \t\r"), *reader->at == '\0') {
		code = file_lines_next(reader->lines, &reader->at, reader->schedule->err);
		if (code <= 0) {
			reader->at = reader->word = reader->nothing;
			return code;
		}
		blank_comments(reader, reader->at);
	}
	reader->word = reader->at;
	reader->at += strchr("{}:", *reader->at) ? 1 : strcspn(reader->at, " \t\r{}:");
	reader->held = *reader->at;
	*reader->at = '\0';
	return 1;
}

/* As next_word(), where the file cannot end. */
static int need_word(struct reader *reader, const char *expected)
{
	int code = next_word(reader);

	return code == 0 ? fail(reader, NULL, "expected %s, found the end of the file", expected) : code;
}

static int need_text(struct reader *reader, const char *text)
{
	int code = need_word(reader, text);

	if (code < 0)
		return code;
	return strcmp(reader->word, text) == 0 ? 0
					       : fail(reader, NULL, "expected '%s', found '%.40s'", text, reader->word);
}

static int parse_number(struct reader *reader, const char *text, const char *field, uint64_t most, uint64_t *value)
{
	int64_t number;

	if (number_parse_i64(text, &number) != 0 || number < 0 || (uint64_t)number > most)
		return fail(reader, field, "'%.40s': expected a whole number from 0 to %llu%s", text,
			    (unsigned long long)most,
			    strcmp(text, "-1") == 0
				    ? " (wildcards are not supported: what they match depends on the latency)"
				    : "");
	*value = (uint64_t)number;
	return 0;
}

static int need_number(struct reader *reader, const char *field, uint64_t most, uint64_t *value)
{
	int code = need_word(reader, field);

	return code < 0 ? code : parse_number(reader, reader->word, field, most, value);
}

/* Reads "8b". */
static int need_bytes(struct reader *reader, uint64_t *value)
{
	int code = need_word(reader, "bytes");
	size_t length = strlen(reader->word);

	if (code < 0)
		return code;
	if (length < 2 || reader->word[length - 1] != 'b')
		return fail(reader, "bytes", "'%.40s': expected a number with b at its end, such as 8b", reader->word);
	reader->word[length - 1] = '\0';
	return parse_number(reader, reader->word, "bytes", (uint64_t)amount_limit, value);
}

static uint32_t find_label(const struct reader *reader, const char *name)
{
	HASH_TABLE_EACH (&reader->table, hash_text(name), at) {
		const struct label *label = &reader->labels[hash_table_value(&reader->table, at)];

		if (strcmp(&reader->names[label->name], name) == 0)
			return label->operation;
	}
	return UINT32_MAX;
}

/* Gives the operation that comes next its label. */
static int add_label(struct reader *reader, const char *name)
{
	size_t bytes = strlen(name) + 1;
	struct label *labels = array_grow(reader->labels, reader->label_count, &reader->label_capacity, sizeof *labels);
	char *names;

	if (!labels)
		return -ENOMEM;
	reader->labels = labels;
	if (find_label(reader, name) != UINT32_MAX)
		return fail(reader, "label", "'%.40s' is defined twice in rank %u", name, reader->rank);
	names = array_reserve(reader->names, reader->names_bytes + bytes, &reader->names_capacity, 1);
	if (!names)
		return -ENOMEM;
	reader->names = names;
	memcpy(&names[reader->names_bytes], name, bytes);
	labels[reader->label_count] =
		(struct label){.name = reader->names_bytes, .operation = (uint32_t)reader->schedule->count};
	reader->names_bytes += bytes;
	return hash_table_insert(&reader->table, hash_text(name), (uint32_t)reader->label_count++);
}

static struct operation *add_operation(struct reader *reader)
{
	struct schedule *schedule = reader->schedule;
	struct operation *all = schedule->count < UINT32_MAX - 1 ? array_grow(schedule->operations, schedule->count,
									      &schedule->capacity, sizeof *all)
								 : NULL;

	if (!all)
		return NULL;
	schedule->operations = all;
	all[schedule->count] = (struct operation){
		.rank = reader->rank,
		.line = (uint32_t)file_lines_number(reader->lines),
	};
	return &all[schedule->count++];
}

/* Reads "tag 1", "cpu 1" and "nic 1" after an operation. Leaves the word after them, and its code. */
static int read_settings(struct reader *reader, struct operation *operation)
{
	uint64_t number = 0;
	int code;

	while ((code = next_word(reader)) == 1) {
		bool tag = strcmp(reader->word, "tag") == 0 && operation->kind != OPERATION_CALC;
		bool cpu = strcmp(reader->word, "cpu") == 0;

		if (!tag && !cpu && strcmp(reader->word, "nic") != 0)
			return 1;
		code = need_number(reader,
				   tag   ? "tag"
				   : cpu ? "cpu"
					 : "nic",
				   tag ? INT32_MAX : CPUS_MAXIMUM - 1, &number);
		if (code < 0)
			return code;
		if (tag)
			operation->tag = (uint32_t)number;
		else if (cpu)
			operation->cpu = (uint8_t)number;
		if (cpu && number >= reader->schedule->cpus)
			reader->schedule->cpus = (uint32_t)number + 1;
	}
	return code;
}

/* Reads an operation from its name, which is the word, to the word after it. */
static int read_operation(struct reader *reader)
{
	static const char *const names[] = {"calc", "send", "recv"};
	struct operation *operation = add_operation(reader);
	uint64_t peer = 0;
	int code;

	if (!operation)
		return -ENOMEM;
	while (operation->kind < 3 && strcmp(reader->word, names[operation->kind]) != 0)
		operation->kind++;
	if (operation->kind == 3)
		return fail(reader, NULL, "expected calc, send or recv, found '%.40s'", reader->word);
	if (operation->kind == OPERATION_CALC)
		return (code = need_number(reader, "calc", (uint64_t)amount_limit, &operation->amount)) < 0
			       ? code
			       : read_settings(reader, operation);
	code = need_bytes(reader, &operation->amount);
	if (code == 0)
		code = need_text(reader, operation->kind == OPERATION_SEND ? "to" : "from");
	if (code == 0)
		code = need_number(reader, "rank", reader->schedule->ranks - 1, &peer);
	operation->peer = (uint32_t)peer;
	return code < 0 ? code : read_settings(reader, operation);
}

/* Reads the label after "A requires"; `name` is A. */
static int read_requirement(struct reader *reader, const char *name, bool start)
{
	struct schedule *schedule = reader->schedule;
	uint32_t operation = find_label(reader, name), on;
	struct requirement *all = array_grow(schedule->requirements, schedule->requirement_count,
					     &schedule->requirement_capacity, sizeof *all);
	int code = all ? need_word(reader, "a label") : -ENOMEM;

	if (all)
		schedule->requirements = all;
	if (code < 0)
		return code;
	on = find_label(reader, reader->word);
	if (operation == UINT32_MAX || on == UINT32_MAX)
		return fail(reader, "requires", "label '%.40s' is not defined before this line in rank %u",
			    operation == UINT32_MAX ? name : reader->word, reader->rank);
	if (schedule->requirement_count >= REQUIREMENTS_MAXIMUM)
		return -ENOMEM;
	all[schedule->requirement_count++] = (struct requirement){
		.operation = operation,
		.next = schedule->operations[on].dependents & REQUIREMENTS_MAXIMUM,
		.start = start,
	};
	schedule->operations[on].dependents = (uint32_t)schedule->requirement_count;
	schedule->operations[on].started_needed |= start;
	schedule->operations[operation].missing++;
	return next_word(reader);
}

/* Reads what begins with a label, which is the word: an operation with this label, or a requirement. */
static int read_labelled(struct reader *reader)
{
	char name[LABEL_BYTES];
	int code;

	if (strlen(reader->word) >= sizeof name)
		return fail(reader, "label", "longer than %d bytes", LABEL_BYTES - 1);
	strcpy(name, reader->word);
	code = need_word(reader, "':', 'requires' or 'irequires'");
	if (code < 0)
		return code;
	if (strcmp(reader->word, "requires") == 0 || strcmp(reader->word, "irequires") == 0)
		return read_requirement(reader, name, reader->word[0] == 'i');
	if (strcmp(reader->word, ":") != 0)
		return fail(reader, NULL,
			    "expected ':', 'requires' or 'irequires' after the label '%.40s', found '%.40s'", name,
			    reader->word);
	code = need_word(reader, "calc, send or recv");
	if (code > 0)
		code = add_label(reader, name);
	return code < 0 ? code : read_operation(reader);
}

static bool is_operation(const char *word)
{
	return strcmp(word, "calc") == 0 || strcmp(word, "send") == 0 || strcmp(word, "recv") == 0;
}

/* Reads "rank N { ... }", whose first word was read, and the word after it. */
static int read_rank(struct reader *reader)
{
	uint64_t rank = 0;
	int code = need_number(reader, "rank", reader->schedule->ranks - 1, &rank);

	if (code == 0 && reader->seen[rank])
		return fail(reader, "rank", "rank %llu comes twice", (unsigned long long)rank);
	if (code == 0)
		code = need_text(reader, "{");
	if (code < 0)
		return code;
	reader->rank = (uint32_t)rank;
	reader->seen[rank] = true;
	reader->label_count = reader->names_bytes = 0;
	hash_table_clear(&reader->table);
	code = next_word(reader);
	while (code == 1 && strcmp(reader->word, "}") != 0)
		code = is_operation(reader->word) ? read_operation(reader) : read_labelled(reader);
	if (code == 0)
		return fail(reader, NULL, "expected '}' at the end of rank %u, found the end of the file",
			    reader->rank);
	return code < 0 ? code : next_word(reader);
}

static int read_file(struct reader *reader)
{
	struct schedule *schedule = reader->schedule;
	uint64_t ranks = 0;
	int code = need_text(reader, "num_ranks");

	if (code == 0)
		code = need_number(reader, "num_ranks", RANKS_MAXIMUM, &ranks);
	if (code == 0 && ranks == 0)
		return fail(reader, "num_ranks", "expected at least 1");
	if (code < 0)
		return code;
	schedule->ranks = (uint32_t)ranks;
	reader->seen = calloc(ranks, sizeof *reader->seen);
	if (!reader->seen)
		return -ENOMEM;
	code = next_word(reader);
	while (code == 1) {
		if (strcmp(reader->word, "rank") != 0)
			return fail(reader, NULL, "expected 'rank', found '%.40s'", reader->word);
		code = read_rank(reader);
	}
	for (uint32_t rank = 0; rank < ranks && code == 0; rank++)
		if (!reader->seen[rank])
			return fail(reader, "rank", "rank %u of num_ranks %u is missing", rank, schedule->ranks);
	return code;
}

int schedule_read(struct file_lines *lines, struct schedule *schedule)
{
	struct reader reader = {.lines = lines, .schedule = schedule};
	int code;

	reader.at = reader.word = reader.nothing;
	code = read_file(&reader);

	if (code == -ENOMEM)
		error_set(schedule->err, ENOMEM, "%s: out of memory", schedule->file);
	hash_table_free(&reader.table);
	free(reader.seen);
	free(reader.labels);
	free(reader.names);
	return code;
}
