/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <figures/figures.h>
#include <plot/chart.h>

/*
 * The functions below take the place of the chart's. They write the calls down: a line of text for each, and the values
 * of the points.
 */
static char drawn[4000];

static void note(const char *kind, const char *label, const double *x, const double *y, size_t count, int colour)
{
	size_t used = strlen(drawn);

	used += (size_t)snprintf(drawn + used, sizeof drawn - used, "%s %s %d:", kind, label ? label : "-", colour);
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(drawn + used, sizeof drawn - used, " %g,%g", x[i] + 0.0,
					 y ? y[i] : 0); /* no -0 */
	snprintf(drawn + used, sizeof drawn - used, "\n");
}

struct chart *chart_create(const struct chart_options *options)
{
	snprintf(drawn, sizeof drawn, "%s|%s|%s|%d|%g\n", options->title, options->x.label, options->y.label,
		 options->y.has_minimum, options->y.minimum);
	return (struct chart *)drawn;
}

void chart_destroy(struct chart *chart)
{
	(void)chart;
}

int chart_add_line(struct chart *chart, const char *label, const double *x, const double *y, size_t count,
		   struct chart_style style)
{
	(void)chart;
	note("line", label, x, y, count, style.colour);
	return 0;
}

int chart_add_points(struct chart *chart, const char *label, const double *x, const double *y, const double *error,
		     size_t count, struct chart_style style)
{
	cr_assert(chart && !error);
	note("points", label, x, y, count, style.colour);
	return 0;
}

int chart_add_vertical(struct chart *chart, const char *label, double x, struct chart_style style)
{
	(void)chart;
	note("vertical", label, &x, NULL, 1, style.colour == CHART_GREY ? 0 : 1);
	return 0;
}

int chart_save(const struct chart *chart, const char *path, struct error *err)
{
	(void)chart;
	return strstr(path, ".svg") ? 0 : error_set(err, EINVAL, "%s", path);
}

char *chart_to_svg(const struct chart *chart, const char *prefix, struct error *err)
{
	(void)chart;
	(void)err;
	return strdup(prefix);
}

/* Draws points that are `step_s` apart; the last is at 2027-01-15 08:00 UTC. The second has no answer. */
static const char *draw(size_t count, double step_s)
{
	struct latency_point points[5] = {0};
	struct latency_series series = {.items = points, .count = count};
	struct error err = {0};
	int64_t last = INT64_C(1800000000) * NS_PER_S;

	for (size_t i = 0; i < count; i++)
		points[i] =
			(struct latency_point){.at = {last - (int64_t)((double)(count - 1 - i) * step_s * 1e9)},
					       .rtt_p50_us = 10 + (double)i,
					       .rtt_p99_us = 20 + (double)i,
					       .rtt_max_us = 30 + (double)i,
					       .state = i == 1 ? LATENCY_STATE_UNREACHABLE : LATENCY_STATE_MEASURED};
	points[count].state = LATENCY_STATE_UNREACHABLE; /* beyond the series: not drawn */
	cr_assert_eq(figures_history_save(&series, "h1 to h2", "a.svg", &err), 0, "%s", err.text);
	return drawn;
}

Test(figures_history, a_line_for_each_figure_over_the_time_before_the_last_point)
{
	cr_assert_str_eq(draw(3, 30), "h1 to h2|seconds from 2027-01-15 08:00:00 UTC|round trip (µs)|1|0\n"
				      "vertical - 0: -30,0\n"
				      "line p50 1: -60,10 -30,11 0,12\n"
				      "line p99 2: -60,20 -30,21 0,22\n"
				      "line max 3: -60,30 -30,31 0,32\n");
}

Test(figures_history, a_single_point_is_drawn_as_one)
{
	cr_assert_str_eq(draw(1, 0), "h1 to h2|seconds from 2027-01-15 08:00:00 UTC|round trip (µs)|1|0\n"
				     "line p50 1: 0,10\npoints - 1: 0,10\n"
				     "line p99 2: 0,20\npoints - 2: 0,20\n"
				     "line max 3: 0,30\npoints - 3: 0,30\n");
}

/* The unit is the largest of which the series spans more than two. */
Test(figures_history, the_unit_follows_from_the_span)
{
	static const struct {
		double span_s, first;
		const char *unit;
	} cases[] = {
		{120, -120, "|seconds from"},  {150, -2.5, "|minutes from"}, {7200, -120, "|minutes from"},
		{9000, -2.5, "|hours from"},   {172800, -48, "|hours from"}, {216000, -2.5, "|days from"},
		{8640000, -100, "|days from"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char first[40];

		draw(2, cases[i].span_s);
		snprintf(first, sizeof first, "line p50 1: %g,10 0,11\n", cases[i].first);
		cr_expect(strstr(drawn, cases[i].unit) && strstr(drawn, first), "case %zu: %s", i, drawn);
	}
}

Test(figures_history, a_page_has_svg_and_a_series_without_points_no_picture)
{
	struct latency_point point = {.at = {NS_PER_S}};
	struct latency_series series = {.items = &point, .count = 1}, none = {0};
	struct error err = {0};
	char *svg = figures_history_svg(&series, "t", &err);

	cr_assert_str_eq(svg, "history");
	free(svg);
	cr_assert_null(figures_history_svg(&none, "t", &err));
	cr_assert_eq(err.code, ENODATA);
	cr_assert_str_eq(err.text, "there are no measurements to draw");
	cr_assert_eq(figures_history_save(&none, "t", "a.svg", &err), -ENODATA);
	cr_assert_eq(figures_history_save(&series, "t", "a.pdf", &err), -EINVAL);
}
