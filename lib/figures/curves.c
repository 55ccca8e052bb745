/* SPDX-License-Identifier: BSD-3-Clause */
#include <figures/figures.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A curve and its band as a polyline, with a gap at a threshold of the form jump. */
struct polyline {
	size_t count;
	double *x, *y, *low, *high; /* count values each, in one allocation that starts at x */
};

static void add_point(struct polyline *line, double x, double y, double low, double high)
{
	line->x[line->count] = x;
	line->y[line->count] = y;
	line->low[line->count] = low;
	line->high[line->count++] = high;
}

/* Number of points on a logarithmic axis, where the table's 10 us steps are too coarse at the left end. */
enum { LOG_POINTS = 256 };

static bool has_jump(const struct curve *curve)
{
	return curve->threshold.form == CURVE_FORM_JUMP && curve->threshold.at_us > 0 &&
	       curve->threshold.at_us <= curve->last_us;
}

/* Returns the index of the table's first entry at or after the jump. */
static size_t entry_after_jump(const struct curve *curve)
{
	return (size_t)ceil(curve->threshold.at_us / CURVE_STEP_US);
}

/*
 * Returns the value just after the jump. The table has no entry there, so this extrapolates the two entries after the
 * jump.
 */
static double value_after_jump(const struct curve *curve, const double *values)
{
	size_t after = entry_after_jump(curve);
	double back = (CURVE_STEP_US * (double)after - curve->threshold.at_us) / CURVE_STEP_US;

	if (after + 1 >= curve->table_count)
		return values[after];
	return fmin(values[after] + (values[after] - values[after + 1]) * back, values[after - 1]);
}

/*
 * Returns the value at x_us, linearly interpolated in `values`, which is the curve's table or an edge of its band.
 * Between the two entries that the jump separates, the value is that of the first entry up to the jump. After the jump,
 * it is interpolated between value_after_jump() and the second entry.
 */
static double value_at(const struct curve *curve, const double *values, double x_us)
{
	size_t i = (size_t)(x_us / CURVE_STEP_US), after = has_jump(curve) ? entry_after_jump(curve) : 0;
	double left_us = CURVE_STEP_US * (double)i, right_us, from;

	if (x_us >= curve->last_us || i + 1 >= curve->table_count)
		return values[curve->table_count - 1];
	from = values[i];
	right_us = fmin(left_us + CURVE_STEP_US, curve->last_us);
	if (after == i + 1) {
		if (x_us <= curve->threshold.at_us)
			return from;
		from = value_after_jump(curve, values);
		left_us = curve->threshold.at_us;
	}
	return from + (values[i + 1] - from) * (x_us - left_us) / (right_us - left_us);
}

static void add_curve_point(struct polyline *line, const struct curve *curve, double x_us)
{
	const double *low = curve->band_low ? curve->band_low : curve->table;
	const double *high = curve->band_high ? curve->band_high : curve->table;

	add_point(line, x_us, value_at(curve, curve->table, x_us), value_at(curve, low, x_us),
		  value_at(curve, high, x_us));
}

static void add_jump(struct polyline *line, const struct curve *curve)
{
	double at = curve->threshold.at_us;
	size_t last;

	add_curve_point(line, curve, at);
	last = line->count - 1;
	add_point(line, at, NAN, line->low[last], line->high[last]);
	add_point(line, at, value_after_jump(curve, curve->table), line->low[last], line->high[last]);
}

static int polyline_create(const struct curve *curve, double log_start_us, struct polyline *line)
{
	size_t points = log_start_us > 0 ? LOG_POINTS : curve->table_count, capacity = points + 3;
	double ratio = log_start_us > 0 ? log(fmax(curve->last_us / log_start_us, 1)) / (LOG_POINTS - 1) : 0;
	bool jump_ahead = has_jump(curve);

	*line = (struct polyline){.x = malloc(4 * capacity * sizeof(double))};
	if (!line->x)
		return -ENOMEM;
	line->y = line->x + capacity;
	line->low = line->y + capacity;
	line->high = line->low + capacity;
	for (size_t i = 0; i < points; i++) {
		double x = log_start_us > 0 ? log_start_us * exp(ratio * (double)i)
					    : fmin(CURVE_STEP_US * (double)i, curve->last_us);

		if (jump_ahead && x >= curve->threshold.at_us) {
			add_jump(line, curve);
			jump_ahead = false;
		}
		if (!(has_jump(curve) && x == curve->threshold.at_us))
			add_curve_point(line, curve, x);
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

static int add_curve(struct chart *chart, const struct figures_curves *figure, size_t index, double log_start_us)
{
	const struct curve *curve = figure->curves[index];
	const char *name = figure->labels ? figure->labels[index] : curve->application;
	bool alone = figure->count == 1, own_levels = alone || figure->one_sweep;
	int colour = (int)index + 1;
	struct chart_style style = {.colour = colour, .dashed = curve->predicted};
	struct chart_style points = {.colour = colour, .marker = CHART_CIRCLE};
	char label[256], band[40];
	struct polyline line;
	int rc = polyline_create(curve, log_start_us, &line);

	if (rc != 0)
		return rc;
	snprintf(label, sizeof label, "%s%s", alone ? "curve" : name, curve->predicted ? ", predicted" : "");
	snprintf(band, sizeof band, "%.3g %% band", 100 * curve->band_confidence);
	if (own_levels)
		points.colour = alone ? 2 : CHART_GREY;
	if (curve->band_low && curve->band_high)
		rc = chart_add_band(chart, alone ? band : NULL, line.x, line.low, line.high, line.count, style);
	if (rc == 0)
		rc = chart_add_line(chart, label, line.x, line.y, line.count, style);
	free(line.x);
	if (rc == 0 && (!figure->one_sweep || index == 0))
		rc = add_levels(chart, curve, own_levels ? "measured, ± deviation of a run" : NULL, points);
	return rc ? rc : add_threshold(chart, curve, alone, colour);
}

/* Writes the subtitle: "polynomial-3, threshold: jump (74 % likely), 46 delay levels". */
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

/*
 * Returns the start of a logarithmic axis, us: the smallest level above 0, but not more than the table's first step,
 * nor less than 0.01.
 */
static double log_start(const struct figures_curves *figure)
{
	double start = CURVE_STEP_US;

	for (size_t k = 0; k < figure->count; k++)
		for (size_t i = 0; i < figure->curves[k]->level_count; i++)
			if (figure->curves[k]->levels[i].x_us > 0)
				start = fmin(start, figure->curves[k]->levels[i].x_us);
	return fmax(start, 0.01);
}

/*
 * Finds the range of the y values: it includes the baseline (1), each level plus and minus its deviation, and the
 * smallest value of each table.
 */
static void find_range(const struct figures_curves *figure, double *lowest, double *highest)
{
	*lowest = *highest = 1;
	for (size_t k = 0; k < figure->count; k++) {
		const struct curve *curve = figure->curves[k];

		for (size_t i = 0; i < curve->level_count; i++) {
			*lowest = fmin(*lowest, curve->levels[i].measured - curve->levels[i].deviation);
			*highest = fmax(*highest, curve->levels[i].measured + curve->levels[i].deviation);
		}
		for (size_t i = 0; i < curve->table_count; i++)
			*lowest = fmin(*lowest, curve->table[i]);
	}
}

static struct chart *make_chart(const struct figures_curves *figure)
{
	bool alone = figure->count == 1;
	char subtitle[256] = "";
	double lowest, highest;
	struct chart_options options = {
		.title = alone || figure->one_sweep ? figure->curves[0]->application
						    : "performance against added latency",
		.subtitle = alone ? subtitle : NULL,
		.x = {.label = "added round trip (µs)", .has_minimum = true},
		.y = {.label = "performance relative to the baseline", .has_minimum = true, .has_maximum = true},
	};

	find_range(figure, &lowest, &highest);
	options.y.minimum = figure->zoom_y ? floor(lowest * 50) / 50 - 0.02 : 0;
	options.y.maximum = highest + 0.03;
	if (figure->log_x) {
		options.x.label = "added round trip (µs, logarithmic; 0 is not shown)";
		options.x.scale = CHART_LOG;
		options.x.minimum = log_start(figure);
	}
	if (alone)
		describe(figure->curves[0], subtitle, sizeof subtitle);
	return chart_create(&options);
}

struct chart *figures_curves_chart(const struct figures_curves *figure, struct error *err)
{
	struct chart_style baseline = {.colour = CHART_GREY, .dashed = true, .width = 1};
	struct chart *chart = make_chart(figure);
	const char *label = figure->count == 1 ? "baseline" : NULL;
	int rc = chart ? chart_add_horizontal(chart, label, 1, baseline) : -ENOMEM;

	for (size_t k = 0; rc == 0 && k < figure->count; k++)
		rc = add_curve(chart, figure, k, figure->log_x ? log_start(figure) : 0);
	if (rc == 0)
		return chart;
	error_set(err, -rc, "out of memory");
	chart_destroy(chart);
	return NULL;
}

int figures_curves_save(const struct figures_curves *figure, const char *path, struct error *err)
{
	struct chart *chart = figures_curves_chart(figure, err);
	int rc = chart ? chart_save(chart, path, err) : -ENOMEM;

	chart_destroy(chart);
	return rc;
}
