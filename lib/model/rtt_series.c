/* SPDX-License-Identifier: BSD-3-Clause */
#include <model/rtt_series.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/array.h>
#include <base/number.h>

#include "files_priv.h"

static const char *const prefixes[RTT_SERIES_KINDS] = {"rack", "pod", "across"};
static const double us_minimum = 0.001, us_maximum = 1e9;

enum { HISTORY_BYTES = 256 << 20 };

static int compare_floats(const void *left, const void *right)
{
	float a = *(const float *)left, b = *(const float *)right;

	return a < b ? -1 : a > b;
}

static int set_median(struct rtt_series *series)
{
	float *sorted = malloc(series->count * sizeof *sorted);

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, series->us, series->count * sizeof *sorted);
	qsort(sorted, series->count, sizeof *sorted, compare_floats);
	series->median_us = sorted[series->count / 2];
	free(sorted);
	return 0;
}

/* Completes the series if `code` is 0, else empties it. Returns 0 or -errno. */
static int finish(struct rtt_series *series, const char *name, int code, struct error *err)
{
	if (code == 0 && series->count < RTT_SERIES_SECONDS)
		code = error_set(err, EINVAL, "%s: %zu values; expected at least %d, one a second", name, series->count,
				 RTT_SERIES_SECONDS);
	if (code == 0 && set_median(series) != 0)
		code = error_set(err, ENOMEM, "out of memory");
	if (code < 0) {
		free(series->us);
		*series = (struct rtt_series){0};
	}
	return code;
}

int rtt_series_parse(struct rtt_series *series, struct file_lines *lines, struct error *err)
{
	size_t capacity = 0;
	char *line;
	int more;

	*series = (struct rtt_series){0};
	while ((more = file_lines_next(lines, &line, err)) > 0) {
		float *larger;
		double value;

		line[strcspn(line, "\r")] = '\0';
		if (line[0] == '#')
			continue;
		if (number_parse_double(line, &value) != 0 || value < us_minimum || value > us_maximum) {
			more = error_at(
				err, (struct error_place){file_lines_name(lines), file_lines_number(lines), NULL},
				EINVAL, "'%.40s': expected microseconds, at least 0.001, for each second without a gap",
				line);
			break;
		}
		larger = array_grow(series->us, series->count, &capacity, sizeof *larger);
		if (!larger) {
			more = error_set(err, ENOMEM, "out of memory");
			break;
		}
		series->us = larger;
		larger[series->count++] = (float)value;
	}
	return finish(series, file_lines_name(lines), more, err);
}

int rtt_series_parse_history(struct rtt_series *series, const char *name, const char *text, size_t bytes,
			     struct error *err)
{
	int code = rtt_series_read_points(series, name, text, bytes, err);

	return finish(series, name, code, err);
}

static bool is_history(const char *path)
{
	const char *ending = strrchr(path, '.');

	return ending && strcmp(ending, ".json") == 0;
}

static int read_history(struct rtt_series *series, const char *path, struct error *err)
{
	size_t bytes;
	char *text = file_read_all(path, HISTORY_BYTES, &bytes, err);
	int code = text ? rtt_series_parse_history(series, path, text, bytes, err) : error_code(err, ENOENT);

	free(text);
	return code;
}

static int read_file(struct rtt_series *series, const char *path, struct error *err)
{
	struct file_lines *lines;
	int code;

	if (is_history(path))
		return read_history(series, path, err);
	lines = file_lines_open(path, err);
	code = lines ? rtt_series_parse(series, lines, err) : error_code(err, ENOENT);
	file_lines_close(lines);
	return code;
}

static int add_file(struct rtt_series_set *set, int kind, const char *path, struct error *err)
{
	struct rtt_series series;
	int code;

	if (rtt_series_is_matrix(path))
		return rtt_series_add_matrix(set, kind, path, err);
	code = read_file(&series, path, err);
	if (code != 0)
		return code;
	if (rtt_series_add(set, kind, &series) == 0)
		return 0;
	free(series.us);
	return error_set(err, ENOMEM, "out of memory");
}

/* Reads the files in the order of their names. */
static int read_folder(struct rtt_series_set *set, const char *folder, struct error *err)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort), code = 0;

	if (count < 0)
		return error_set(err, errno, "%s: %s", folder, strerror(errno));
	for (int e = 0; e < count; e++) {
		char path[PATH_MAX];

		snprintf(path, sizeof path, "%s/%s", folder, entries[e]->d_name);
		for (int kind = 0; kind < RTT_SERIES_KINDS && code == 0; kind++) {
			if (strncmp(entries[e]->d_name, prefixes[kind], strlen(prefixes[kind])) == 0)
				code = add_file(set, kind, path, err);
		}
		free(entries[e]);
	}
	free(entries);
	if (code == 0 && set->counts[0] + set->counts[1] + set->counts[2] == 0)
		code = error_set(err, ENOENT, "%s: expected files rack*, pod* or across* with one value per second",
				 folder);
	return code;
}

static int read_for_all(struct rtt_series_set *set, const char *path, struct error *err)
{
	int code = 0;

	if (rtt_series_is_matrix(path))
		return rtt_series_add_matrix(set, -1, path, err);
	set->relative = true;
	for (int kind = 0; kind < RTT_SERIES_KINDS && code == 0; kind++)
		code = add_file(set, kind, path, err);
	return code;
}

struct rtt_series_set *rtt_series_read(const char *path, struct error *err)
{
	struct rtt_series_set *set = calloc(1, sizeof *set);
	struct stat status;
	int code;

	if (!set) {
		error_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	code = stat(path, &status) != 0  ? error_set(err, errno, "%s: %s", path, strerror(errno))
	       : S_ISDIR(status.st_mode) ? read_folder(set, path, err)
					 : read_for_all(set, path, err);
	if (code == 0)
		return set;
	rtt_series_destroy(set);
	return NULL;
}

void rtt_series_destroy(struct rtt_series_set *set)
{
	if (!set)
		return;
	for (int kind = 0; kind < RTT_SERIES_KINDS; kind++) {
		for (size_t i = 0; i < set->counts[kind]; i++)
			free(set->items[kind][i].us);
		free(set->items[kind]);
	}
	free(set);
}
