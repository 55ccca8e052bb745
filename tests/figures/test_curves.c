/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <figures/figures.h>

#include "chart_priv.h"

/* 1 up to a jump at 25 us, then 0.7, 0.6, 0.5; measured at 0, 20, 30 and 45 us, where it ends. */
static struct curve *make_curve(const char *name)
{
	static const double p[] = {1, 1, 1, 0.7, 0.6, 0.5}, x[] = {0, 20, 30, 45}, y[] = {1, 0.98, 0.7, 0.55};
	struct curve *curve = curve_from_table(name, p, 6, NULL);

	cr_assert(curve);
	curve->domain_high_us = 45;
	curve->threshold.form = CURVE_FORM_JUMP;
	curve->threshold.at_us = 25;
	curve->threshold.has_interval = true;
	curve->threshold.low_us = 20;
	curve->threshold.high_us = 30;
	curve->levels = calloc(4, sizeof *curve->levels);
	curve->band_low = calloc(6, sizeof *curve->band_low);
	curve->band_high = calloc(6, sizeof *curve->band_high);
	for (size_t i = 0; i < 6; i++) {
		curve->band_low[i] = p[i] - 0.1;
		curve->band_high[i] = p[i] + 0.1;
	}
	curve->level_count = 4;
	cr_assert_eq(curve_prepare(curve, NULL), 0);
	for (size_t i = 0; i < 4; i++)
		curve->levels[i] = (struct curve_level){.x_us = x[i], .measured = y[i], .deviation = 0.02};
	return curve;
}

static const struct series *find(const struct chart *chart, enum series_kind kind, size_t skip)
{
	for (size_t i = 0; i < chart->series_count; i++)
		if (chart->series[i].kind == kind && skip-- == 0)
			return &chart->series[i];
	return NULL;
}

Test(figures_curves, a_jump_breaks_the_line_and_continues_at_the_extrapolated_value)
{
	const struct curve *curve = make_curve("memcached");
	struct chart *chart = figures_curves_chart(&(struct figures_curves){.curves = &curve, .count = 1}, NULL);
	const struct series *line = find(chart, SERIES_LINE, 0);
	size_t gap = 0;

	cr_assert(line);
	while (gap < line->count && !isnan(line->y[gap]))
		gap++;
	cr_assert_lt(gap, line->count - 1, "the line has no gap");
	cr_assert_float_eq(line->x[gap - 1], 25, 1e-12);
	cr_assert_float_eq(line->y[gap - 1], 1, 1e-12);
	cr_assert_float_eq(line->x[gap + 1], 25, 1e-12);
	cr_assert_float_eq(line->y[gap + 1], 0.75, 1e-12, "0.7 at 30 and 0.6 at 40 extend to 0.75 at 25");
	cr_assert_float_eq(line->x[line->count - 1], 45, 1e-12, "the line ends with the domain");
	for (size_t i = 1; i < line->count; i++)
		cr_assert_geq(line->x[i], line->x[i - 1]);
	chart_destroy(chart);
	curve_destroy((struct curve *)curve);
}

Test(figures_curves, one_curve_has_its_points_band_threshold_and_baseline)
{
	const struct curve *curve = make_curve("memcached");
	struct chart *chart = figures_curves_chart(&(struct figures_curves){.curves = &curve, .count = 1}, NULL);
	const struct series *points = find(chart, SERIES_POINTS, 0), *band = find(chart, SERIES_BAND, 0);

	cr_assert_str_eq(chart->title, "memcached");
	cr_assert(points && points->count == 4);
	cr_assert_float_eq(points->x[1], 20, 0);
	cr_assert_float_eq(points->y[1], 0.98, 0);
	cr_assert_float_eq(points->error[1], 0.02, 0);
	cr_assert(band);
	for (size_t i = 0; i < band->count; i++)
		cr_assert_float_eq(band->high[i] - band->y[i], 0.2, 1e-12);
	cr_assert_float_eq(find(chart, SERIES_VERTICAL, 0)->x[0], 25, 0);
	cr_assert_float_eq(find(chart, SERIES_HORIZONTAL, 0)->y[0], 1, 0);
	cr_assert_float_eq(find(chart, SERIES_SPAN, 0)->x[0], 20, 0);
	cr_assert_float_eq(find(chart, SERIES_SPAN, 0)->y[0], 30, 0);
	chart_destroy(chart);
	curve_destroy((struct curve *)curve);
}

Test(figures_curves, several_curves_differ_in_colour_and_carry_their_names)
{
	const struct curve *curves[] = {make_curve("memcached"), make_curve("redis")};
	struct chart *chart = figures_curves_chart(&(struct figures_curves){.curves = curves, .count = 2}, NULL);
	const struct series *first = find(chart, SERIES_LINE, 0), *second = find(chart, SERIES_LINE, 1);

	cr_assert_str_eq(first->label, "memcached");
	cr_assert_str_eq(second->label, "redis");
	cr_assert_neq(first->style.colour, second->style.colour);
	cr_assert_eq(find(chart, SERIES_POINTS, 1)->style.colour, second->style.colour);
	cr_assert_null(find(chart, SERIES_SPAN, 0), "intervals of several curves would hide one another");
	chart_destroy(chart);
	curve_destroy((struct curve *)curves[0]);
	curve_destroy((struct curve *)curves[1]);
}

Test(figures_curves, a_predicted_curve_beside_a_measured_one_says_so)
{
	struct curve *measured = make_curve("ring"), *predicted = make_curve("ring");
	const struct curve *curves[] = {measured, predicted};
	struct chart *chart;

	predicted->predicted = true;
	predicted->band_confidence = 0.75;
	chart = figures_curves_chart(&(struct figures_curves){.curves = curves, .count = 2}, NULL);
	cr_assert_str_eq(find(chart, SERIES_LINE, 0)->label, "ring");
	cr_assert_str_eq(find(chart, SERIES_LINE, 1)->label, "ring, predicted");
	cr_assert(!find(chart, SERIES_LINE, 0)->style.dashed && find(chart, SERIES_LINE, 1)->style.dashed);
	chart_destroy(chart);
	chart = figures_curves_chart(&(struct figures_curves){.curves = &curves[1], .count = 1}, NULL);
	cr_assert_str_eq(find(chart, SERIES_BAND, 0)->label, "75 % band");
	chart_destroy(chart);
	curve_destroy(measured);
	curve_destroy(predicted);
}

Test(figures_curves, a_table_without_levels_or_band_is_drawn)
{
	const double p[] = {1, 0.5};
	struct curve *curve = curve_from_table("plain", p, 2, NULL);
	const struct curve *one = curve;
	struct chart *chart;

	chart = figures_curves_chart(&(struct figures_curves){.curves = &one, .count = 1}, NULL);
	cr_assert(chart);
	cr_assert_null(find(chart, SERIES_POINTS, 0));
	cr_assert_null(find(chart, SERIES_BAND, 0));
	chart_destroy(chart);
	curve_destroy(curve);
}

Test(figures_curves, candidates_of_one_sweep_share_its_points_and_carry_labels)
{
	const struct curve *curves[] = {make_curve("memcached"), make_curve("memcached")};
	const char *const labels[] = {"hill", "exponential"};
	struct figures_curves figure = {.curves = curves, .count = 2, .labels = labels, .one_sweep = true};
	struct chart *chart = figures_curves_chart(&figure, NULL);

	cr_assert_str_eq(chart->title, "memcached");
	cr_assert_str_eq(find(chart, SERIES_LINE, 0)->label, "hill");
	cr_assert_str_eq(find(chart, SERIES_LINE, 1)->label, "exponential");
	cr_assert(find(chart, SERIES_POINTS, 0));
	cr_assert_null(find(chart, SERIES_POINTS, 1), "the points are drawn once");
	chart_destroy(chart);
	curve_destroy((struct curve *)curves[0]);
	curve_destroy((struct curve *)curves[1]);
}

Test(figures_curves, a_logarithmic_axis_starts_at_the_smallest_level_and_keeps_the_jump)
{
	const struct curve *curve = make_curve("memcached");
	struct figures_curves figure = {.curves = &curve, .count = 1, .log_x = true};
	struct chart *chart = figures_curves_chart(&figure, NULL);
	const struct series *line = find(chart, SERIES_LINE, 0);
	size_t gaps = 0;

	cr_assert_eq(chart->options.x.scale, CHART_LOG);
	cr_assert_float_eq(chart->options.x.minimum, 10, 1e-12, "no level between 0 and a step: starts at the step");
	for (size_t i = 0; i < line->count; i++) {
		gaps += isnan(line->y[i]);
		cr_assert(isnan(line->y[i]) || fabs(line->y[i] - curve_interpolate(curve, line->x[i])) < 1e-9 ||
				  line->x[i] == 25,
			  "%g at %g us", line->y[i], line->x[i]);
	}
	cr_assert_eq(gaps, 1);
	chart_destroy(chart);
	curve_destroy((struct curve *)curve);
}

/* A 4 % effect must not look like a collapse. */
Test(figures_curves, the_y_axis_starts_at_0_unless_asked)
{
	const double p[] = {1, 0.99, 0.98};
	const struct curve *curve = curve_from_table("mosquitto", p, 3, NULL);
	struct figures_curves figure = {.curves = &curve, .count = 1};
	struct chart *whole = figures_curves_chart(&figure, NULL), *zoomed;

	figure.zoom_y = true;
	zoomed = figures_curves_chart(&figure, NULL);
	cr_assert_eq(whole->options.y.minimum, 0);
	cr_assert_gt(zoomed->options.y.minimum, 0.9);
	cr_assert_lt(zoomed->options.y.minimum, 0.98);
	chart_destroy(whole);
	chart_destroy(zoomed);
	curve_destroy((struct curve *)curve);
}

Test(figures_curves, a_file_that_is_no_picture_is_refused_and_nothing_is_left)
{
	const struct curve *curve = make_curve("memcached");
	struct error err = {0};

	cr_assert_lt(figures_curves_save(&(struct figures_curves){.curves = &curve, .count = 1},
					 "/tmp/nomora-test-figure.pdf", &err),
		     0);
	cr_assert(strstr(err.text, ".svg or .png"), "%s", err.text);
	cr_assert_neq(access("/tmp/nomora-test-figure.pdf", F_OK), 0);
	curve_destroy((struct curve *)curve);
}
