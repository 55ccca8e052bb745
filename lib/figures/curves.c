/* SPDX-License-Identifier: BSD-3-Clause */
#include <figures/curves.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The curve as a polyline, with a gap where the threshold jumps. */
struct polyline {
	size_t count;
	double *x, *y, *low, *high; /* one allocation, at x */
};

static void add_point(struct polyline *line, double x, double y, double low, double high)
{
	line->x[line->count] = x;
	line->y[line->count] = y;
	line->low[line->count] = low;
	line->high[line->count++] = high;
}

/* The table holds nothing between a jump and the first entry after it: extends the two entries after the jump. */
static double extrapolate_back(const double *values, size_t count, size_t first, double x)
{
	double here = CURVE_STEP_US * (double)first;

	if (first + 1 >= count)
		return values[first];
	return values[first] + (values[first + 1] - values[first]) * (x - here) / CURVE_STEP_US;
}

static int polyline_create(const struct curve *curve, struct polyline *line)
{
	size_t capacity = curve->table_count + 3;
	const double *p = curve->table, *low = curve->band_low ? curve->band_low : p;
	const double *high = curve->band_high ? curve->band_high : p;
	bool jump_ahead = curve->threshold.form == CURVE_FORM_JUMP;

	*line = (struct polyline){.x = malloc(4 * capacity * sizeof(double))};
	if (!line->x)
		return -ENOMEM;
	line->y = line->x + capacity;
	line->low = line->y + capacity;
	line->high = line->low + capacity;
	for (size_t i = 0; i < curve->table_count; i++) {
		double x = CURVE_STEP_US * (double)i, at = curve->threshold.at_us;

		if (jump_ahead && x >= at && i > 0) {
			add_point(line, at, p[i - 1], low[i - 1], high[i - 1]);
			add_point(line, at, NAN, low[i - 1], high[i - 1]);
			add_point(line, at, fmin(extrapolate_back(p, curve->table_count, i, at), p[i - 1]), low[i - 1],
				  high[i - 1]);
			jump_ahead = false;
		}
		add_point(line, fmin(x, curve->domain_high_us), p[i], low[i], high[i]);
	}
	return 0;
}

static int add_levels(struct chart *chart, const struct curve *curve, const char *label, struct chart_style style)
{
	size_t count = curve->level_count;
	double *x, *measured, *deviation;
	int rc;

	if (count == 0)
		return 0;
	x = malloc(3 * count * sizeof *x);
	if (!x)
		return -ENOMEM;
	measured = x + count;
	deviation = measured + count;
	for (size_t i = 0; i < count; i++) {
		x[i] = curve->levels[i].x_us;
		measured[i] = curve->levels[i].measured;
		deviation[i] = curve->levels[i].deviation;
	}
	rc = chart_add_points(chart, label, x, measured, deviation, count, style);
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
	struct polyline line;
	int rc = polyline_create(curve, &line);

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
		.subtitle = count == 1 ? subtitle : NULL,
		.x = {.label = "added round trip (µs)", .has_minimum = true},
		.y = {.label = "performance relative to the baseline", .has_minimum = true, .has_maximum = true},
	};

	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < curves[k]->level_count; i++) {
			const struct curve_level *level = &curves[k]->levels[i];

			lowest = fmin(lowest, level->measured - level->deviation);
			highest = fmax(highest, level->measured + level->deviation);
		}
	/* From 0, unless every level is near 1. */
	options.y.minimum = lowest > 0.85 ? floor(lowest * 50) / 50 - 0.02 : 0;
	options.y.maximum = highest + 0.03;
	if (count == 1)
		describe(curves[0], subtitle, sizeof subtitle);
	return chart_create(&options);
}

struct chart *figures_curves_chart(const struct curve *const *curves, size_t count, struct error *err)
{
	struct chart_style baseline = {.colour = CHART_GREY, .dashed = true, .width = 1};
	struct chart *chart = make_chart(curves, count);
	int rc = chart ? chart_add_horizontal(chart, count == 1 ? "baseline" : NULL, 1, baseline) : -ENOMEM;

	for (size_t k = 0; rc == 0 && k < count; k++)
		rc = add_curve(chart, curves[k], count == 1, (int)k + 1);
	if (rc == 0)
		return chart;
	error_set(err, -rc, "out of memory");
	chart_destroy(chart);
	return NULL;
}

int figures_curves_save(const struct curve *const *curves, size_t count, const char *path, struct error *err)
{
	struct chart *chart = figures_curves_chart(curves, count, err);
	int rc = chart ? chart_save(chart, path, err) : -ENOMEM;

	chart_destroy(chart);
	return rc;
}
