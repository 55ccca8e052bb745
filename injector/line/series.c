/* SPDX-License-Identifier: BSD-3-Clause */
#include "mode_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/file.h>
#include <base/number.h>

enum { ROWS_MAXIMUM = 10000000, NETEM_ROWS_MAXIMUM = 16384 };

static int refuse_count(size_t count, size_t columns, char separator, struct error_place place, struct error *err)
{
	const char *plural = number_s(count);

	if (columns == 1)
		return error_at(err, place, EINVAL, "found %zu field%s, expected one number", count, plural);
	return error_at(err, place, EINVAL, "found %zu field%s, expected two numbers with '%c' between them", count,
			plural, separator);
}

static int reserve_row(struct series *series, size_t columns, size_t maximum, struct error_place place,
		       struct error *err)
{
	double *values;

	if (series->rows == maximum)
		return error_at(err, place, E2BIG, "expected at most %zu rows", maximum);
	values = array_reserve(series->values, (series->rows + 1) * columns, &series->capacity, sizeof *values);
	if (!values)
		return error_at(err, place, ENOMEM, "out of memory");
	series->values = values;
	return 0;
}

static int add_row(struct series *series, size_t columns, char separator, char *line, struct error_place place,
		   struct error *err)
{
	char *fields[3];
	size_t count = file_split(line, separator, fields, 3);
	int status;

	if (count != columns)
		return refuse_count(count, columns, separator, place, err);
	status = reserve_row(series, columns, ROWS_MAXIMUM, place, err);
	if (status)
		return status;
	for (size_t i = 0; i < columns; i++) {
		if (number_parse_double(fields[i], &series->values[series->rows * columns + i]) != 0)
			return error_at(err, place, EINVAL, "\"%.40s\" is not a number", fields[i]);
	}
	series->rows++;
	return 0;
}

static int finish(struct series *series, int status, const char *name, struct error *err)
{
	if (!status && series->rows == 0)
		status = error_set(err, EINVAL, "%s: holds no numbers", name);
	if (status) {
		free(series->values);
		*series = (struct series){0};
	}
	return status;
}

int series_read(const char *path, size_t columns, char separator, struct series *series, struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	char *line;
	int status;

	*series = (struct series){0};
	if (!lines)
		return error_code(err, ENOENT);
	while ((status = file_lines_next(lines, &line, err)) > 0) {
		line[strcspn(line, "#")] = '\0';
		line += strspn(line, " \t");
		if (*line == '\0')
			continue;
		status = add_row(series, columns, separator, line,
				 (struct error_place){.file = path, .line = file_lines_number(lines)}, err);
		if (status)
			break;
	}
	file_lines_close(lines);
	return finish(series, status, path, err);
}

int series_parse(const char *name, const char *text, size_t columns, char separator, struct series *series,
		 struct error *err)
{
	char *copy = strdup(text), *rest = copy, *row, word[64];
	struct error_place place = {.file = name, .field = word};
	int status = 0;

	*series = (struct series){0};
	if (!copy)
		return error_set(err, ENOMEM, "%s: out of memory", name);
	while (!status && (row = strsep(&rest, ","))) {
		snprintf(word, sizeof word, "\"%.*s\"", (int)sizeof word - 3, row);
		status = add_row(series, columns, separator, row, place, err);
	}
	free(copy);
	return finish(series, status, name, err);
}

static int add_word(struct series *series, const char *word, struct error_place place, struct error *err)
{
	int64_t value;
	int status;

	if (number_parse_i64(word, &value) != 0 || value < INT16_MIN || value > INT16_MAX)
		return error_at(err, place, EINVAL, "\"%.40s\": expected an integer of %d to %d", word, INT16_MIN,
				INT16_MAX);
	status = reserve_row(series, 1, NETEM_ROWS_MAXIMUM, place, err);
	if (!status)
		series->values[series->rows++] = (double)value;
	return status;
}

int series_parse_netem(struct file_lines *lines, struct series *series, struct error *err)
{
	char *line, *word;
	int status;

	*series = (struct series){0};
	while ((status = file_lines_next(lines, &line, err)) > 0) {
		struct error_place place = {.file = file_lines_name(lines), .line = file_lines_number(lines)};

		line[strcspn(line, "#")] = '\0';
		for (status = 0; !status && (word = strsep(&line, " \t"));)
			status = *word ? add_word(series, word, place, err) : 0;
		if (status)
			break;
	}
	return finish(series, status, file_lines_name(lines), err);
}

int series_read_netem(const char *path, struct series *series, struct error *err)
{
	struct file_lines *lines = file_lines_open(path, err);
	int status;

	if (!lines)
		return error_code(err, ENOENT);
	status = series_parse_netem(lines, series, err);
	file_lines_close(lines);
	return status;
}
