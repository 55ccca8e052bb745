/* SPDX-License-Identifier: BSD-3-Clause */
#include <figures/figures.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <plot/chart.h>

enum { UNITS = 4 };

/* Units of the time axis. The axis uses the largest unit of which the series spans more than two. */
static const struct {
	const char *name;
	double seconds;
} units[UNITS] = {{"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", 86400}};

static void add_figures(struct chart *chart, const struct latency_series *series, double unit_s, double *x, double *y)
{
	static const char *const labels[] = {"p50", "p99", "max"};
	struct ns last = series->items[series->count - 1].at;

	for (size_t i = 0; i < series->count; i++)
		x[i] = -ns_to_s(ns_sub(last, series->items[i].at)) / unit_s;
	for (size_t i = 0; i < series->count; i++) /* drawn first, to be behind the lines */
		if (series->items[i].state == LATENCY_STATE_UNREACHABLE)
			chart_add_vertical(chart, NULL, x[i], (struct chart_style){.colour = CHART_GREY});
	for (int figure = 0; figure < 3; figure++) {
		for (size_t i = 0; i < series->count; i++)
			y[i] = figure == 0   ? series->items[i].rtt_p50_us
			       : figure == 1 ? series->items[i].rtt_p99_us
					     : series->items[i].rtt_max_us;
		chart_add_line(chart, labels[figure], x, y, series->count, (struct chart_style){.colour = figure + 1});
		if (series->count == 1)
			chart_add_points(chart, NULL, x, y, NULL, 1, (struct chart_style){.colour = figure + 1});
	}
}

static struct chart *draw(const struct latency_series *series, const char *title, struct error *err)
{
	struct chart_options options = {
		.title = title, .width = 860, .height = 320, .y = {.label = "round trip (µs)", .has_minimum = true}};
	double *x = calloc(series->count + 1, sizeof *x), *y = calloc(series->count + 1, sizeof *y), span;
	char label[64], when[32] = "";
	struct chart *chart = NULL;
	struct tm parts;
	time_t last;
	size_t unit = 0;

	if (!series->count || !x || !y) {
		error_set(err, series->count ? ENOMEM : ENODATA,
			  series->count ? "out of memory" : "there are no measurements to draw");
	} else {
		span = ns_to_s(ns_sub(series->items[series->count - 1].at, series->items[0].at));
		while (unit + 1 < UNITS && span > 2 * units[unit + 1].seconds)
			unit++;
		last = (time_t)(series->items[series->count - 1].at.v / NS_PER_S);
		strftime(when, sizeof when, "%F %T UTC", gmtime_r(&last, &parts));
		snprintf(label, sizeof label, "%s from %s", units[unit].name, when);
		options.x.label = label;
		chart = chart_create(&options);
		if (chart)
			add_figures(chart, series, units[unit].seconds, x, y);
		else
			error_set(err, ENOMEM, "out of memory");
	}
	free(x);
	free(y);
	return chart;
}

int figures_history_save(const struct latency_series *series, const char *title, const char *path, struct error *err)
{
	struct chart *chart = draw(series, title, err);
	int code = chart ? chart_save(chart, path, err) : error_code(err, ENOMEM);

	chart_destroy(chart);
	return code;
}

char *figures_history_svg(const struct latency_series *series, const char *title, struct error *err)
{
	struct chart *chart = draw(series, title, err);
	char *svg = chart ? chart_to_svg(chart, "history", err) : NULL;

	chart_destroy(chart);
	return svg;
}
