/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads sweep.csv and its plain form of two to four columns. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <base/array.h>
#include <base/file.h>
#include <base/name.h>
#include <base/number.h>
#include <model/sweep.h>

#include "files_priv.h"

enum column {
	COLUMN_DELAY,
	COLUMN_DIRECTION,
	COLUMN_RUN,
	COLUMN_METRIC,
	COLUMN_UNIT,
	COLUMN_BETTER,
	COLUMN_VALUE,
	COLUMN_STARTED_AT,
	COLUMN_DISTURBED,
	COLUMN_BASELINE,
	COLUMN_COUNT,
	COLUMNS_NEEDED = COLUMN_STARTED_AT,
	FIELDS_MAXIMUM = 64,
	PLAIN_FIELDS_MAXIMUM = 4,
};

static const char *const column_names[COLUMN_COUNT] = {"delay_us",  "direction",      "run",   "metric",
						       "unit",      "better",         "value", "started_at",
						       "disturbed", "baseline_rtt_us"};
static const char *const plain_names[PLAIN_FIELDS_MAXIMUM] = {"latency_us", "performance", "deviation", "runs"};

#define BASELINE_MINIMUM_US 1e-3
#define BASELINE_MAXIMUM_US 1e7

/* A file being read. */
struct parser {
	struct sweep *sweep;
	size_t capacity;
	int columns[COLUMN_COUNT]; /* index of the field that has the column, -1 = the file lacks the column */
	size_t field_count;        /* number of fields in the header */
	char separator;            /* 0 = blanks */
	struct error_place place;
	struct error *err;
};

__attribute__((format(printf, 3, 4))) static int fail(struct parser *parser, const char *field, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	parser->place.field = field;
	return error_at(parser->err, parser->place, EINVAL, "%s", text);
}

static size_t split_blanks(char *line, char **fields, size_t capacity)
{
	size_t count = 0;
	char *rest = line, *word;

	while ((word = strsep(&rest, " \t")))
		if (*word) {
			if (count < capacity)
				fields[count] = word;
			count++;
		}
	return count;
}

static size_t split(const struct parser *parser, char *line, char **fields)
{
	if (!parser->separator)
		return split_blanks(line, fields, FIELDS_MAXIMUM);
	return file_split(line, parser->separator, fields, FIELDS_MAXIMUM);
}

static char find_separator(const char *line)
{
	for (const char *c = ",;\t"; *c; c++)
		if (strchr(line, *c))
			return *c;
	return '\0';
}

static bool is_number(const char *text)
{
	double value;
	const char *digits = text + strspn(text, "+-");

	return number_parse_double(text, &value) != -EINVAL || strcasecmp(digits, "nan") == 0 ||
	       strcasecmp(digits, "inf") == 0 || strcasecmp(digits, "infinity") == 0;
}

/* Finds each column in the header; ignores unknown columns. */
static int read_header(struct parser *parser, char **fields, size_t count)
{
	for (size_t column = 0; column < COLUMN_COUNT; column++) {
		parser->columns[column] = -1;
		for (size_t i = 0; i < count; i++)
			if (strcmp(fields[i], column_names[column]) == 0)
				parser->columns[column] = (int)i;
		if (column < COLUMNS_NEEDED && parser->columns[column] < 0)
			return fail(parser, column_names[column],
				    "the header has no such column; expected " SWEEP_COLUMNS
				    "[,started_at][,disturbed][,baseline_rtt_us]");
	}
	parser->field_count = count;
	return 0;
}

static int parse_number(struct parser *parser, const char *field, const char *text, double minimum, double maximum,
			double *value)
{
	if (number_parse_double(text, value) != 0)
		return fail(parser, field, "'%s' is not a finite number", text);
	if (*value < minimum || *value > maximum)
		return fail(parser, field, "%s is not within %g..%g", text, minimum, maximum);
	return 0;
}

static int parse_count(struct parser *parser, const char *field, const char *text, int64_t minimum, int64_t *value)
{
	if (number_parse_i64(text, value) != 0)
		return fail(parser, field, "'%s' is not a whole number", text);
	if (*value < minimum)
		return fail(parser, field, "%s: expected at least %lld", text, (long long)minimum);
	return 0;
}

static int copy_name(struct parser *parser, const char *field, const char *text, char *into, size_t bytes)
{
	if (!text[0])
		return fail(parser, field, "is empty");
	if (strlen(text) >= bytes)
		return fail(parser, field, "'%.20s...' is too long", text);
	if (!name_is_printable(text, ""))
		return fail(parser, field, "expected text without control characters");
	if (!name_is_utf8(text))
		return fail(parser, field, "expected UTF-8");
	memcpy(into, text, strlen(text) + 1);
	return 0;
}

/*
 * Finds the row's metric, or adds it if it is new; *index is its number. Its unit and `better` must not change within a
 * file.
 */
static int intern_metric(struct parser *parser, char **fields, size_t *index)
{
	struct sweep *sweep = parser->sweep;
	struct sweep_metric metric = {0};
	const char *better = fields[parser->columns[COLUMN_BETTER]];
	int rc = copy_name(parser, "metric", fields[parser->columns[COLUMN_METRIC]], metric.name, SWEEP_NAME_BYTES);

	if (rc == 0)
		rc = copy_name(parser, "unit", fields[parser->columns[COLUMN_UNIT]], metric.unit, SWEEP_NAME_BYTES);
	if (rc != 0)
		return rc;
	if (sweep_parse_better(better) < 0)
		return fail(parser, "better", "'%s': expected higher or lower", better);
	metric.better = (enum sweep_better)sweep_parse_better(better);
	for (size_t i = 0; i < sweep->metric_count; i++) {
		const struct sweep_metric *known = &sweep->metrics[i];

		if (strcmp(known->name, metric.name) != 0)
			continue;
		if (strcmp(known->unit, metric.unit) != 0)
			return fail(parser, "unit", "differs from the earlier rows of this metric, which say '%s'",
				    known->unit);
		if (known->better != metric.better)
			return fail(parser, "better", "differs from the earlier rows of this metric, which say '%s'",
				    sweep_better_name(known->better));
		*index = i;
		return 0;
	}
	if (sweep->metric_count == SWEEP_METRICS_MAXIMUM)
		return fail(parser, "metric", "'%s': more than %d metrics in one sweep", metric.name,
			    SWEEP_METRICS_MAXIMUM);
	*index = sweep->metric_count;
	sweep->metrics[sweep->metric_count++] = metric;
	return 0;
}

/* Returns the text of an optional column, or "" if the file does not have the column. */
static const char *optional(const struct parser *parser, char **fields, enum column column)
{
	return parser->columns[column] >= 0 ? fields[parser->columns[column]] : "";
}

static int parse_optional(struct parser *parser, char **fields, struct sweep_row *row)
{
	const char *started_at = optional(parser, fields, COLUMN_STARTED_AT);
	const char *disturbed = optional(parser, fields, COLUMN_DISTURBED);
	const char *baseline = optional(parser, fields, COLUMN_BASELINE);
	int rc = 0;

	if (started_at[0])
		rc = copy_name(parser, "started_at", started_at, row->started_at, SWEEP_STAMP_BYTES);
	if (rc == 0 && disturbed[0] && strcmp(disturbed, "0") != 0 && strcmp(disturbed, "1") != 0)
		rc = fail(parser, "disturbed", "'%s': expected 0 or 1", disturbed);
	row->disturbed = strcmp(disturbed, "1") == 0;
	row->baseline_rtt_us = NAN;
	if (rc == 0 && baseline[0])
		rc = parse_number(parser, "baseline_rtt_us", baseline, BASELINE_MINIMUM_US, BASELINE_MAXIMUM_US,
				  &row->baseline_rtt_us);
	return rc;
}

static int parse_full_row(struct parser *parser, char **fields, size_t count, struct sweep_row *row)
{
	const int *columns = parser->columns;
	const char *direction;
	int rc;

	if (count != parser->field_count)
		return fail(parser, count < parser->field_count ? column_names[COLUMN_VALUE] : NULL,
			    "the row has %s fields than the header", count < parser->field_count ? "fewer" : "more");
	rc = parse_number(parser, "delay_us", fields[columns[COLUMN_DELAY]], 0, SWEEP_DELAY_MAXIMUM_US, &row->delay_us);
	if (rc != 0)
		return rc;
	direction = fields[columns[COLUMN_DIRECTION]];
	if (sweep_parse_direction(direction) < 0)
		return fail(parser, "direction", "'%s': expected both, ab or ba", direction);
	row->direction = (enum sweep_direction)sweep_parse_direction(direction);
	rc = parse_count(parser, "run", fields[columns[COLUMN_RUN]], 0, &row->run);
	if (rc == 0)
		rc = intern_metric(parser, fields, &row->metric);
	if (rc == 0)
		rc = parse_number(parser, "value", fields[columns[COLUMN_VALUE]], -1e300, 1e300, &row->value);
	if (rc == 0)
		rc = parse_optional(parser, fields, row);
	row->runs = 1;
	return rc;
}

static int parse_plain_row(struct parser *parser, char **fields, size_t count, struct sweep_row *row)
{
	int rc;

	if (count < 2 || count > PLAIN_FIELDS_MAXIMUM)
		return fail(parser, NULL,
			    "%zu columns: expected latency_us, performance[, deviation[, runs]], or a full sweep's "
			    "header " SWEEP_COLUMNS,
			    count);
	rc = parse_number(parser, plain_names[0], fields[0], 0, 2 * SWEEP_DELAY_MAXIMUM_US, &row->delay_us);
	if (rc == 0)
		rc = parse_number(parser, plain_names[1], fields[1], -1e300, 1e300, &row->value);
	if (rc == 0 && count > 2)
		rc = parse_number(parser, plain_names[2], fields[2], 0, 1e300, &row->deviation);
	row->runs = 1;
	row->baseline_rtt_us = NAN;
	if (rc == 0 && count > 3)
		rc = parse_count(parser, plain_names[3], fields[3], 1, &row->runs);
	return rc;
}

static int add_row(struct parser *parser, const struct sweep_row *row)
{
	struct sweep *sweep = parser->sweep;
	struct sweep_row *rows;

	if (sweep->count == SWEEP_ROWS_MAXIMUM)
		return fail(parser, NULL,
			    "more than %d rows: a sweep has some tens of rows per delay; "
			    "aggregate them first",
			    SWEEP_ROWS_MAXIMUM);
	rows = array_grow(sweep->rows, sweep->count, &parser->capacity, sizeof *rows);
	if (!rows)
		return error_set(parser->err, ENOMEM, "out of memory");
	sweep->rows = rows;
	sweep->rows[sweep->count++] = *row;
	return 0;
}

static bool begins_with_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	return strncasecmp(text, word, length) == 0 && !isalnum((unsigned char)text[length]);
}

/*
 * Repeated runs often stand in columns side by side: the second run must not pass for the deviation of the first. A
 * file without a header is believed.
 */
static int check_plain_header(struct parser *parser, char **fields, size_t count)
{
	static const char *const deviations[] = {"deviation", "dev",   "sd",  "std", "stddev",      "sigma",
						 "stderr",    "error", "err", "se",  "uncertainty", NULL};
	static const char *const counts[] = {"runs", "n", "count", "repetitions", "samples", NULL};
	const char *const *const expected[PLAIN_FIELDS_MAXIMUM] = {NULL, NULL, deviations, counts};

	for (size_t column = 2; column < count; column++) {
		const char *const *word = expected[column];

		while (*word && !begins_with_word(fields[column], *word))
			word++;
		if (!*word)
			return fail(parser, NULL,
				    "column %zu is '%s': expected '%s'. For several runs, write a line per run: round "
				    "trip, "
				    "performance",
				    column + 1, fields[column], plain_names[column]);
	}
	return 0;
}

/*
 * The first line decides the form: with more than four columns it is the full form, and this line must be the header.
 */
static int parse_first_line(struct parser *parser, char *line, char **fields, size_t *count, bool *is_header)
{
	parser->separator = find_separator(line);
	*count = split(parser, line, fields);
	*is_header = true;
	if (*count > FIELDS_MAXIMUM)
		return fail(parser, NULL, "more than %d columns", FIELDS_MAXIMUM);
	if (*count > PLAIN_FIELDS_MAXIMUM)
		return read_header(parser, fields, *count);
	parser->sweep->plain = true;
	parser->sweep->metric_count = 1;
	snprintf(parser->sweep->metrics[0].name, SWEEP_NAME_BYTES, "performance");
	snprintf(parser->sweep->metrics[0].unit, SWEEP_NAME_BYTES, "1");
	for (size_t i = 0; i < *count; i++)
		if (is_number(fields[i]))
			*is_header = false;
	if (*is_header && *count < 2)
		return fail(parser, NULL, "'%s': expected the header of a sweep or 2 to 4 columns of numbers", line);
	return *is_header ? check_plain_header(parser, fields, *count) : 0;
}

static int parse_lines(struct parser *parser, struct file_lines *lines)
{
	bool first = true;
	char *line, *fields[FIELDS_MAXIMUM];
	int rc;

	while ((rc = file_lines_next(lines, &line, parser->err)) > 0) {
		struct sweep_row row = {.line = file_lines_number(lines)};
		bool is_header = false;
		size_t count = 0;

		parser->place.line = row.line;
		if (line[0] == '#' || !line[strspn(line, " \t")])
			continue;
		if (first)
			rc = parse_first_line(parser, line, fields, &count, &is_header);
		else
			count = split(parser, line, fields);
		first = false;
		if (rc < 0)
			return rc;
		if (is_header)
			continue;
		rc = parser->sweep->plain ? parse_plain_row(parser, fields, count, &row)
					  : parse_full_row(parser, fields, count, &row);
		if (rc == 0)
			rc = add_row(parser, &row);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int compare_rows(const void *left, const void *right)
{
	const struct sweep_row *a = *(const struct sweep_row *const *)left;
	const struct sweep_row *b = *(const struct sweep_row *const *)right;

	if (a->metric != b->metric)
		return a->metric < b->metric ? -1 : 1;
	if (a->delay_us != b->delay_us)
		return a->delay_us < b->delay_us ? -1 : 1;
	if (a->direction != b->direction)
		return a->direction < b->direction ? -1 : 1;
	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

/* Refuses duplicate runs, which would count twice: the user must decide which of them is valid. */
static int refuse_duplicates(struct parser *parser)
{
	const struct sweep *sweep = parser->sweep;
	const struct sweep_row **sorted;
	int rc = 0;

	if (sweep->plain || sweep->count < 2)
		return 0;
	sorted = malloc(sweep->count * sizeof *sorted);
	if (!sorted)
		return error_set(parser->err, ENOMEM, "out of memory");
	for (size_t i = 0; i < sweep->count; i++)
		sorted[i] = &sweep->rows[i];
	qsort(sorted, sweep->count, sizeof *sorted, compare_rows);
	for (size_t i = 1; rc == 0 && i < sweep->count; i++) {
		const struct sweep_row *a = sorted[i - 1], *b = sorted[i];

		if (a->metric != b->metric || a->delay_us != b->delay_us || a->direction != b->direction ||
		    a->run != b->run)
			continue;
		parser->place.line = b->line;
		parser->place.field = "run";
		rc = error_at(
			parser->err, parser->place, EINVAL,
			"run %lld of '%s' at this delay was given on line %ld already; give each run its own number",
			(long long)b->run, sweep->metrics[b->metric].name, a->line);
	}
	free(sorted);
	return rc;
}

static struct sweep *read_all(struct file_lines *lines, struct error *err)
{
	struct error scratch = {0};
	struct parser parser = {.err = err ? err : &scratch};
	struct sweep *sweep = calloc(1, sizeof *sweep);
	int rc;

	if (!sweep || !(sweep->file = strdup(file_lines_name(lines)))) {
		error_set(err, ENOMEM, "out of memory");
		goto fail;
	}
	parser.sweep = sweep;
	parser.place.file = sweep->file;
	rc = parse_lines(&parser, lines);
	if (rc == 0 && sweep->count == 0) {
		parser.place.field = NULL;
		rc = error_at(err, parser.place, EINVAL,
			      "there are no measurements in it; expected rows " SWEEP_COLUMNS);
	}
	if (rc == 0)
		rc = refuse_duplicates(&parser);
	if (rc != 0)
		goto fail;
	return sweep;

fail:
	sweep_destroy(sweep);
	return NULL;
}

struct sweep *sweep_read(struct file_lines *lines, struct error *err)
{
	struct sweep *sweep = lines ? read_all(lines, err) : NULL;

	file_lines_close(lines);
	return sweep;
}
