/* SPDX-License-Identifier: BSD-3-Clause */
#include <fitting/expression/expression.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <base/array.h>
#include <base/file.h>
#include <base/number.h>

struct reader {
	struct expression_table *table;
	struct file_lines *lines;
	struct error *err;
	char separator; /* 0 before the first line; ' ' = any blanks */
	size_t capacity;
};

static int fail(const struct reader *reader, const char *field, const char *what)
{
	struct error_place place = {file_lines_name(reader->lines), file_lines_number(reader->lines), field};

	return error_at(reader->err, place, EINVAL, "%s", what);
}

static char find_separator(const char *line)
{
	return strchr(line, ',') ? ',' : (strchr(line, ';') ? ';' : (strchr(line, '\t') ? '\t' : ' '));
}

/* Splits the line in place. Fields beyond `capacity` are counted but not stored. */
static size_t split(char *line, char separator, char **fields, size_t capacity)
{
	size_t count = 0;

	if (separator != ' ')
		return file_split(line, separator, fields, capacity);
	for (char *rest, *field = strtok_r(line, " \t", &rest); field; field = strtok_r(NULL, " \t", &rest)) {
		if (count < capacity)
			fields[count] = field;
		count++;
	}
	return count;
}

/*
 * Reads a finite decimal number, which must be the whole text. Unlike strtold(), refuses inf, nan and hexadecimal
 * numbers.
 */
static bool read_number(const char *text, long double *value)
{
	char *end;

	if (!*text || strspn(text, "+-.0123456789eE") != strlen(text))
		return false;
	*value = strtold(text, &end);
	return !*end && end != text && isfinite(*value);
}

/*
 * Returns true if at least one field is a number. take_first() then takes the first line as data, not as a header: its
 * other fields may be placeholders for missing numbers (NA, -).
 */
static bool any_number(char **fields, size_t count)
{
	long double value;

	for (size_t k = 0; k < count; k++)
		if (read_number(fields[k], &value))
			return true;
	return false;
}

/* Turns a word of the header into a name for formulas: letters, digits and '_'. */
static int take_name(const struct reader *reader, size_t column, const char *text)
{
	struct expression_table *table = reader->table;
	char *name = table->column[column].name;
	size_t length = strlen(text);

	if (length >= TABLE_NAME_BYTES)
		return fail(reader, text, "the name of a column is longer than 31 letters");
	for (size_t k = 0; k < length; k++)
		name[k] = (char)(isalnum((unsigned char)text[k]) ? text[k] : '_');
	name[length] = '\0';
	if (length == 0 || isdigit((unsigned char)name[0]))
		return fail(reader, text, "expected the name of a column, beginning with a letter");
	for (size_t k = 0; k < column; k++)
		if (strcmp(table->column[k].name, name) == 0)
			return fail(reader, name, "two columns have this name");
	return 0;
}

static void default_names(struct expression_table *table)
{
	strcpy(table->column[0].name, "y");
	if (table->columns == 2)
		strcpy(table->column[1].name, "x");
	for (size_t k = 1; table->columns > 2 && k < table->columns; k++)
		snprintf(table->column[k].name, TABLE_NAME_BYTES, "x%zu", k);
}

static int grow(struct reader *reader)
{
	struct expression_table *table = reader->table;
	size_t capacity = reader->capacity;
	void *grown = array_grow(table->values, table->rows, &capacity, table->columns * sizeof *table->values);

	if (grown)
		table->values = grown;
	if (grown && (grown = array_grow(table->lines, table->rows, &reader->capacity, sizeof *table->lines)))
		table->lines = grown;
	return grown ? 0 : error_set(reader->err, ENOMEM, "not enough memory for %zu rows", table->rows + 1);
}

static int take_row(struct reader *reader, char **fields)
{
	struct expression_table *table = reader->table;
	int code = table->rows == reader->capacity ? grow(reader) : 0;
	long line = file_lines_number(reader->lines);

	if (code)
		return code;
	if (table->rows == TABLE_ROWS_MAXIMUM)
		return fail(reader, NULL, "more than ten million rows");
	for (size_t k = 0; k < table->columns; k++) {
		long double *value = &table->values[table->rows * table->columns + k];

		if (read_number(fields[k], value))
			continue;
		*value = NAN;
		if (table->column[k].bad_line)
			continue;
		table->column[k].bad_line = line;
		snprintf(table->column[k].bad_text, TABLE_NAME_BYTES, "%.*s", TABLE_NAME_BYTES - 1, fields[k]);
	}
	table->lines[table->rows++] = line;
	return 0;
}

static int take_first(struct reader *reader, char **fields, size_t count)
{
	struct expression_table *table = reader->table;
	int code = 0;

	if (count > TABLE_COLUMNS_MAXIMUM)
		return fail(reader, NULL, "more than 64 columns");
	table->columns = count;
	if (any_number(fields, count)) {
		default_names(table);
		return take_row(reader, fields);
	}
	for (size_t k = 0; k < count && code == 0; k++)
		code = take_name(reader, k, fields[k]);
	return code;
}

static int take_line(struct reader *reader, char *line)
{
	char *fields[TABLE_COLUMNS_MAXIMUM + 1];
	size_t count;

	while (isspace((unsigned char)*line))
		line++;
	if (!*line || *line == '#')
		return 0;
	if (!reader->separator)
		reader->separator = find_separator(line);
	count = split(line, reader->separator, fields, TABLE_COLUMNS_MAXIMUM + 1);
	if (reader->table->columns == 0)
		return take_first(reader, fields, count);
	if (count != reader->table->columns) {
		struct error_place place = {file_lines_name(reader->lines), file_lines_number(reader->lines), NULL};

		return error_at(reader->err, place, EINVAL, "expected %zu fields as in the first line, found %zu",
				reader->table->columns, count);
	}
	return take_row(reader, fields);
}

static int read_lines(struct file_lines *lines, struct expression_table *table, struct error *err)
{
	struct reader reader = {.table = table, .lines = lines, .err = err};
	char *line;
	int code;

	table->file = strdup(file_lines_name(lines));
	if (!table->file) {
		file_lines_close(lines);
		return error_set(err, ENOMEM, "not enough memory");
	}
	while ((code = file_lines_next(lines, &line, err)) == 1) {
		code = take_line(&reader, line);
		if (code)
			break;
	}
	if (code == 0 && table->rows == 0)
		code = fail(&reader, NULL, table->columns ? "there are no rows below the header" : "the file is empty");
	if (code)
		expression_table_free(table);
	file_lines_close(lines);
	return code;
}

int expression_table_read(struct file_lines *lines, struct expression_table *table, struct error *err)
{
	*table = (struct expression_table){0};
	return lines ? read_lines(lines, table, err) : error_code(err, ENOENT);
}

void expression_table_free(struct expression_table *table)
{
	free(table->file);
	free(table->values);
	free(table->lines);
	*table = (struct expression_table){0};
}

int expression_table_find_column(const struct expression_table *table, const char *name)
{
	int64_t number;

	for (size_t k = 0; k < table->columns; k++)
		if (strcmp(table->column[k].name, name) == 0)
			return (int)k;
	for (size_t k = 0; k < table->columns; k++)
		if (strcasecmp(table->column[k].name, name) == 0)
			return (int)k;
	if (number_parse_i64(name, &number) == 0 && number >= 1 && number <= (int64_t)table->columns)
		return (int)number - 1;
	return -ENOENT;
}

int expression_table_check_column(const struct expression_table *table, size_t column, struct error *err)
{
	const struct table_column *about = &table->column[column];
	struct error_place place = {table->file, about->bad_line, about->name};

	if (!about->bad_line)
		return 0;
	return error_at(err, place, EINVAL, "expected a number, found '%s'", about->bad_text);
}
