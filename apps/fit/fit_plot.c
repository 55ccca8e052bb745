/* SPDX-License-Identifier: BSD-3-Clause */
/* A curve as a picture: what was measured, what was fitted, how sure that is. */
#include "fit_parts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <plot/chart.h>

/* The table as a line, with a gap where a threshold jumps. */
struct line {
	size_t count;
	double *x, *y, *low, *high; /* one allocation, at x */
};

static void add_point(struct line *line, double x, double y, double low, double high)
{
	line->x[line->count] = x;
	line->y[line->count] = y;
	line->low[line->count] = low;
	line->high[line->count++] = high;
}

/* A value just behind the threshold, from the two entries that follow it. */
static double extend_back(const double *values, size_t count, size_t first, double x)
{
	double here = CURVE_STEP_US * (double)first;

	if (first + 1 >= count)
		return values[first];
	return values[first] + (values[first + 1] - values[first]) * (x - here) / CURVE_STEP_US;
}

static int line_create(const struct curve *curve, struct line *line)
{
	size_t room = curve->table_count + 3;
	const double *p = curve->table, *low = curve->band_low ? curve->band_low : p;
	const double *high = curve->band_high ? curve->band_high : p;
	bool jump = curve->threshold.form == CURVE_FORM_JUMP;

	*line = (struct line){.x = malloc(4 * room * sizeof(double))};
	if (!line->x)
		return -ENOMEM;
	line->y = line->x + room;
	line->low = line->y + room;
	line->high = line->low + room;
	for (size_t i = 0; i < curve->table_count; i++) {
		double x = CURVE_STEP_US * (double)i, at = curve->threshold.at_us;

		if (jump && x >= at && i > 0) {
			add_point(line, at, p[i - 1], low[i - 1], high[i - 1]);
			add_point(line, at, NAN, low[i - 1], high[i - 1]);
			add_point(line, at, fmin(extend_back(p, curve->table_count, i, at), p[i - 1]), low[i - 1],
				  high[i - 1]);
		}
		jump = jump && !(x >= at && i > 0);
		add_point(line, fmin(x, curve->domain_high_us), p[i], low[i], high[i]);
	}
	return 0;
}

static int add_levels(struct chart *chart, const struct curve *curve, const char *label, struct chart_style style)
{
	double *x = malloc(3 * curve->level_count * sizeof *x), *y = x + curve->level_count;
	int rc;

	if (!x)
		return curve->level_count ? -ENOMEM : 0;
	for (size_t i = 0; i < curve->level_count; i++) {
		x[i] = curve->levels[i].x_us;
		y[i] = curve->levels[i].measured;
		y[curve->level_count + i] = curve->levels[i].deviation;
	}
	rc = curve->level_count
		     ? chart_add_points(chart, label, x, y, y + curve->level_count, curve->level_count, style)
		     : 0;
	free(x);
	return rc;
}

static int add_threshold(struct chart *chart, const struct curve *curve, bool alone, int colour)
{
	const struct curve_threshold *threshold = &curve->threshold;
	struct chart_style style = {.colour = alone ? CHART_GREY : colour, .dashed = true, .width = 1.2};
	char label[96];
	int rc = 0;

	if (threshold->form == CURVE_FORM_NONE)
		return 0;
	if (alone && threshold->has_interval && threshold->high_us > threshold->low_us)
		rc = chart_add_span(chart, "95 % interval of the threshold", threshold->low_us, threshold->high_us,
				    (struct chart_style){.colour = CHART_GREY});
	snprintf(label, sizeof label, "threshold %.4g µs", threshold->at_us);
	return rc ? rc : chart_add_vertical(chart, alone ? label : NULL, threshold->at_us, style);
}

static int add_curve(struct chart *chart, const struct curve *curve, bool alone, int colour)
{
	struct chart_style style = {.colour = colour}, points = {.colour = alone ? 2 : colour, .marker = CHART_CIRCLE};
	struct line line;
	int rc = line_create(curve, &line);

	if (rc != 0)
		return rc;
	if (curve->band_low && curve->band_high)
		rc = chart_add_band(chart, alone ? "95 % band" : NULL, line.x, line.low, line.high, line.count, style);
	if (rc == 0)
		rc = chart_add_line(chart, alone ? "curve" : curve->application, line.x, line.y, line.count, style);
	free(line.x);
	if (rc == 0)
		rc = add_levels(chart, curve, alone ? "measured, ± deviation of a run" : NULL, points);
	return rc ? rc : add_threshold(chart, curve, alone, colour);
}

/* "polynomial-3, threshold: jump (74 % likely), 46 delay levels" */
static void describe(const struct curve *curve, char *text, size_t bytes)
{
	const struct curve_threshold *threshold = &curve->threshold;
	double probability = threshold->probability[threshold->form];
	char form[64] = "", likely[32] = "";

	if (isfinite(probability) && probability < 0.995)
		snprintf(likely, sizeof likely, " (%.0f %% likely)", 100 * probability);
	if (threshold->form != CURVE_FORM_NONE)
		snprintf(form, sizeof form, ", threshold: %s%s", curve_form_name(threshold->form), likely);
	else if (*likely)
		snprintf(form, sizeof form, ", no threshold%s", likely);
	snprintf(text, bytes, "%s%s, %zu delay levels%s", curve->model, form, curve->level_count,
		 curve->level_count ? "" : " (not measured here)");
}

static struct chart *make_chart(const struct curve *const *curves, size_t count)
{
	char subtitle[256] = "";
	double lowest = 1, highest = 1;
	struct chart_options options = {
		.title = count == 1 ? curves[0]->application : "performance against added latency",
		.subtitle = subtitle,
		.x = {.label = "added round trip (µs)", .has_minimum = true},
		.y = {.label = "performance relative to the baseline", .has_minimum = true, .has_maximum = true},
	};

	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < curves[k]->level_count; i++) {
			const struct curve_level *level = &curves[k]->levels[i];

			lowest = fmin(lowest, level->measured - level->deviation);
			highest = fmax(highest, level->measured + level->deviation);
		}
	/* From 0, unless all that happens happens near 1. */
	options.y.minimum = lowest > 0.85 ? floor(lowest * 50) / 50 - 0.02 : 0;
	options.y.maximum = highest + 0.03;
	if (count == 1)
		describe(curves[0], subtitle, sizeof subtitle);
	else
		options.subtitle = NULL;
	return chart_create(&options);
}

int fit_plot(const struct curve *const *curves, size_t count, const char *path, struct error *err)
{
	struct chart *chart = make_chart(curves, count);
	int rc = chart ? 0 : -ENOMEM;

	if (rc == 0)
		rc = chart_add_horizontal(chart, count == 1 ? "baseline" : NULL, 1,
					  (struct chart_style){.colour = CHART_GREY, .dashed = true, .width = 1});
	for (size_t k = 0; rc == 0 && k < count; k++)
		rc = add_curve(chart, curves[k], count == 1, (int)k + 1);
	if (rc == 0)
		rc = chart_save(chart, path, err);
	else
		error_set(err, -rc, "out of memory");
	chart_destroy(chart);
	return rc;
}
