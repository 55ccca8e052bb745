/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a series from the history of a mesh: the p99 of a window is the value of each of its seconds. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/array.h>
#include <base/json.h>

#include "files_priv.h"

static const double at_maximum = 1e11, us_minimum = 0.001, us_maximum = 1e9;

enum { GAP_S = 3600, SECONDS_MAXIMUM = 10000000 };

static int add_seconds(struct rtt_series *series, size_t *capacity, size_t seconds, float us, struct error *err)
{
	float *larger = array_reserve(series->us, series->count + seconds, capacity, sizeof *larger);

	if (!larger)
		return error_set(err, ENOMEM, "out of memory");
	series->us = larger;
	for (size_t s = 0; s < seconds; s++)
		larger[series->count++] = us;
	return 0;
}

/*
 * Appends this window's p99 to the series once for each second since the previous window. *at_s: time of the previous
 * window, NAN if this is the first.
 */
static int add_point(struct rtt_series *series, size_t *capacity, struct json_reader *reader, const json_t *point,
		     size_t number, double *at_s)
{
	char where[32];
	double at, us, seconds;

	snprintf(where, sizeof where, "points[%zu]", number);
	at = floor(json_need_number(reader, point, where, "at", 0, at_maximum));
	us = json_may_number(reader, point, where, "rtt_p99_us", us_minimum, us_maximum, NAN);
	if (reader->failed)
		return error_code(reader->err, EINVAL);
	if (isnan(us))
		return 0; /* no round trip in this window: its seconds get the value of the next window */
	seconds = isnan(*at_s) ? 1 : at - *at_s;
	*at_s = at;
	if (seconds < 0)
		return error_set(reader->err, EINVAL, "%s: %s.at: time goes backwards", reader->file, where);
	if (seconds > GAP_S || (double)series->count + seconds > SECONDS_MAXIMUM)
		return error_set(reader->err, EINVAL,
				 "%s: %s.at: %.0f s after the previous point; expected gaps of at most %d s, and at "
				 "most %d s in all",
				 reader->file, where, seconds, GAP_S, SECONDS_MAXIMUM);
	return add_seconds(series, capacity, (size_t)seconds, (float)us, reader->err);
}

int rtt_series_read_points(struct rtt_series *series, const char *name, const char *text, size_t bytes,
			   struct error *err)
{
	struct json_reader reader = {.file = name, .err = err};
	json_t *root = json_read_text(name, 0, text, bytes, err);
	const json_t *points, *point;
	double at_s = NAN;
	size_t i, capacity = 0;
	int code = 0;

	*series = (struct rtt_series){0};
	if (!root)
		return error_code(err, EINVAL);
	json_need_schema(&reader, root, "nomora.mesh_history/1");
	points = json_need_array(&reader, root, "", "points");
	if (reader.failed)
		code = error_code(err, EINVAL);
	json_array_foreach (points, i, point) {
		if (code == 0)
			code = add_point(series, &capacity, &reader, point, i, &at_s);
	}
	json_decref(root);
	return code;
}
