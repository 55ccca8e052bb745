/* SPDX-License-Identifier: BSD-3-Clause */
#include "series_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/file.h>
#include <base/number.h>

enum { ROWS_MAXIMUM = 10000000 };

static int refuse_count(size_t count, size_t columns, char separator, struct error_place place, struct error *err)
{
	const char *plural = number_s(count);

	if (columns == 1)
		return error_at(err, place, EINVAL, "found %zu field%s, expected one number", count, plural);
	return error_at(err, place, EINVAL, "found %zu field%s, expected two numbers with '%c' between them", count,
			plural, separator);
}

static int add_row(struct series *series, size_t columns, char separator, char *line, struct error_place place,
		   struct error *err)
{
	char *fields[3];
	size_t count = file_split(line, separator, fields, 3);
	double *values;

	if (count != columns)
		return refuse_count(count, columns, separator, place, err);
	if (series->rows == ROWS_MAXIMUM)
		return error_at(err, place, E2BIG, "expected at most %d rows", ROWS_MAXIMUM);
	values = array_reserve(series->values, (series->rows + 1) * columns, &series->capacity, sizeof *values);
	if (!values)
		return error_at(err, place, ENOMEM, "out of memory");
	series->values = values;
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
