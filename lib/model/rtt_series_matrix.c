/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes levels from a latency matrix, which has no value for each second, but shows how much pairs of hosts differ. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <model/latency_live.h>

#include "files_priv.h"

static const double us_minimum = 0.001;

struct values {
	float *items;
	size_t count, capacity;
};

bool rtt_series_is_matrix(const char *path)
{
	struct file_lines *lines = latency_live_is(path) ? NULL : file_lines_open(path, NULL);
	bool is_matrix = !lines && latency_live_is(path);
	char *line;

	while (lines && file_lines_next(lines, &line, NULL) > 0) {
		if (line[0] == '#' || line[0] == '\0')
			continue;
		is_matrix = strncmp(line, "src,dst,", strlen("src,dst,")) == 0;
		break;
	}
	file_lines_close(lines);
	return is_matrix;
}

static int compare_floats(const void *left, const void *right)
{
	float a = *(const float *)left, b = *(const float *)right;

	return a < b ? -1 : a > b;
}

/*
 * Returns the distance of the pair: 0 (rack), 1 (pod) or 2 (across); or RTT_SERIES_KINDS if a host's rack is not known.
 */
static int kind_of(const struct latency_matrix *matrix, bool live, const struct latency_entry *entry)
{
	uint32_t a = live ? latency_live_rack_of(matrix, entry->source) : LATENCY_NO_RACK;
	uint32_t b = live ? latency_live_rack_of(matrix, entry->destination) : LATENCY_NO_RACK;

	if (a == LATENCY_NO_RACK || b == LATENCY_NO_RACK)
		return RTT_SERIES_KINDS;
	if (a == b)
		return 0;
	return strcmp(latency_live_pod_name(matrix, a), latency_live_pod_name(matrix, b)) == 0 ? 1 : 2;
}

/* Collects the p99 of the measured pairs by distance; the last element of values[] is for pairs of unknown distance. */
static int collect(const struct latency_matrix *matrix, bool live, struct values values[RTT_SERIES_KINDS + 1])
{
	for (size_t i = 0; i < latency_matrix_count(matrix); i++) {
		struct latency_entry entry;
		struct values *list;
		float *larger;

		if (!latency_matrix_load(matrix, i, &entry) || entry.state != LATENCY_STATE_MEASURED ||
		    entry.source == entry.destination || !(entry.rtt_p99_us >= us_minimum))
			continue;
		list = &values[kind_of(matrix, live, &entry)];
		larger = array_grow(list->items, list->count, &list->capacity, sizeof *larger);
		if (!larger)
			return -ENOMEM;
		list->items = larger;
		larger[list->count++] = (float)entry.rtt_p99_us;
	}
	return 0;
}

int rtt_series_add(struct rtt_series_set *set, int kind, const struct rtt_series *series)
{
	struct rtt_series *items =
		array_grow(set->items[kind], set->counts[kind], &set->capacities[kind], sizeof *items);

	if (!items)
		return -ENOMEM;
	set->items[kind] = items;
	items[set->counts[kind]++] = *series;
	return 0;
}

/*
 * Sorts the values and adds each as a level; if there are more than RTT_SERIES_LEVELS, adds only that number of
 * quantiles of the values.
 */
static int add_levels(struct rtt_series_set *set, int kind, struct values *values)
{
	size_t levels = values->count < RTT_SERIES_LEVELS ? values->count : RTT_SERIES_LEVELS;

	if (values->count == 0)
		return 0;
	qsort(values->items, values->count, sizeof *values->items, compare_floats);
	for (size_t level = 0; level < levels; level++) {
		struct rtt_series series = {malloc(sizeof *series.us), 1, values->items[values->count / 2]};

		if (!series.us || rtt_series_add(set, kind, &series) != 0) {
			free(series.us);
			return -ENOMEM;
		}
		series.us[0] = values->items[(2 * level + 1) * values->count / (2 * levels)];
	}
	return 0;
}

static int add_all(struct rtt_series_set *set, int kind, const struct latency_matrix *matrix, bool live,
		   const char *path, struct error *err)
{
	struct values values[RTT_SERIES_KINDS + 1] = {0};
	int code = collect(matrix, live, values);
	bool known = values[0].count + values[1].count + values[2].count > 0;

	if (code == 0 && !known && values[RTT_SERIES_KINDS].count == 0)
		code = error_set(err, EINVAL, "%s: no pair was measured", path);
	set->relative |= code == 0 && kind < 0 && !known;
	for (int k = 0; k < RTT_SERIES_KINDS && code == 0; k++) {
		if (kind < 0 || kind == k)
			code = add_levels(set, k, &values[known ? k : RTT_SERIES_KINDS]);
	}
	for (int k = 0; k <= RTT_SERIES_KINDS; k++)
		free(values[k].items);
	return code == -ENOMEM ? error_set(err, ENOMEM, "out of memory") : code;
}

int rtt_series_add_matrix(struct rtt_series_set *set, int kind, const char *path, struct error *err)
{
	bool live = kind < 0 && latency_live_is(path);
	struct latency_matrix *matrix = live ? latency_live_map(path, err) : latency_matrix_read(path, NULL, err);
	int code = matrix ? add_all(set, kind, matrix, live, path, err) : error_code(err, EIO);

	latency_matrix_destroy(matrix);
	return code;
}
