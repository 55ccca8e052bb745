/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/quantile.h>

#include "chart_priv.h"

enum { DEFAULT_WIDTH = 760, DEFAULT_HEIGHT = 460 };

static int copy_text(char **into, const char *text)
{
	*into = text ? strdup(text) : NULL;
	return text && !*into ? -ENOMEM : 0;
}

struct chart *chart_create(const struct chart_options *options)
{
	struct chart *chart = calloc(1, sizeof *chart);

	if (!chart || copy_text(&chart->title, options->title) || copy_text(&chart->subtitle, options->subtitle) ||
	    copy_text(&chart->x_label, options->x.label) || copy_text(&chart->y_label, options->y.label)) {
		chart_destroy(chart);
		errno = ENOMEM;
		return NULL;
	}
	chart->options = *options;
	if (chart->options.width <= 0)
		chart->options.width = DEFAULT_WIDTH;
	if (chart->options.height <= 0)
		chart->options.height = DEFAULT_HEIGHT;
	return chart;
}

static void free_categories(struct chart *chart)
{
	for (size_t i = 0; i < chart->category_count; i++)
		free(chart->categories[i]);
	free(chart->categories);
	chart->categories = NULL;
	chart->category_count = 0;
}

void chart_destroy(struct chart *chart)
{
	if (!chart)
		return;
	for (size_t i = 0; i < chart->series_count; i++) {
		free(chart->series[i].label);
		free(chart->series[i].x);
	}
	free(chart->series);
	free_categories(chart);
	free(chart->title);
	free(chart->subtitle);
	free(chart->x_label);
	free(chart->y_label);
	free(chart);
}

/* Adds a series with memory for its columns to the chart. Returns it, or NULL. */
static struct series *add_series(struct chart *chart, enum series_kind kind, const char *label, size_t count,
				 size_t columns, struct chart_style style)
{
	struct series series = {.kind = kind, .style = style, .count = count};
	struct series *grown = array_grow(chart->series, chart->series_count, &chart->series_capacity, sizeof *grown);

	if (!grown)
		return NULL;
	chart->series = grown;
	series.x = malloc((count * columns + 1) * sizeof *series.x);
	if (!series.x || copy_text(&series.label, label) != 0) {
		free(series.x);
		return NULL;
	}
	if (style.colour == 0)
		series.style.colour = ++chart->colours_used;
	else if (style.colour > chart->colours_used)
		chart->colours_used = style.colour;
	if (style.marker == CHART_MARKER_AUTO)
		series.style.marker = (enum chart_marker)(CHART_CIRCLE + (abs(series.style.colour) - 1) % 5);
	if (!(style.width > 0))
		series.style.width = 2;
	grown[chart->series_count] = series;
	return &grown[chart->series_count++];
}

/* Copies `values` into column `column` of the series' memory. Returns the column. */
static double *fill(struct series *series, size_t column, const double *values)
{
	double *into = series->x + column * series->count;

	if (series->count)
		memcpy(into, values, series->count * sizeof *values);
	return into;
}

static int add_xy(struct chart *chart, enum series_kind kind, const char *label, const double *x, const double *y,
		  const double *third, size_t count, struct chart_style style)
{
	struct series *series = add_series(chart, kind, label, count, 3, style);

	if (!series)
		return -ENOMEM;
	fill(series, 0, x);
	series->y = fill(series, 1, y);
	if (third && kind == SERIES_BAND)
		series->high = fill(series, 2, third);
	else if (third)
		series->error = fill(series, 2, third);
	return 0;
}

int chart_add_line(struct chart *chart, const char *label, const double *x, const double *y, size_t count,
		   struct chart_style style)
{
	return add_xy(chart, SERIES_LINE, label, x, y, NULL, count, style);
}

int chart_add_points(struct chart *chart, const char *label, const double *x, const double *y, const double *error,
		     size_t count, struct chart_style style)
{
	return add_xy(chart, SERIES_POINTS, label, x, y, error, count, style);
}

int chart_add_band(struct chart *chart, const char *label, const double *x, const double *low, const double *high,
		   size_t count, struct chart_style style)
{
	return add_xy(chart, SERIES_BAND, label, x, low, high, count, style);
}

int chart_add_cdf(struct chart *chart, const char *label, const double *values, size_t count, struct chart_style style)
{
	double *sorted = malloc((2 * count + 2) * sizeof *sorted), *y;
	size_t kept = 0;
	int rc;

	if (!sorted)
		return -ENOMEM;
	y = sorted + count + 1;
	for (size_t i = 0; i < count; i++)
		if (isfinite(values[i]))
			sorted[1 + kept++] = values[i];
	quantile_sort(sorted + 1, kept);
	sorted[0] = kept ? sorted[1] : 0;
	for (size_t i = 0; i <= kept; i++)
		y[i] = kept ? (double)i / (double)kept : 0;
	rc = add_xy(chart, SERIES_STEP, label, sorted, y, NULL, kept ? kept + 1 : 0, style);
	free(sorted);
	return rc;
}

int chart_set_categories(struct chart *chart, const char *const *names, size_t count)
{
	char **copies = calloc(count ? count : 1, sizeof *copies);

	if (!copies)
		return -ENOMEM;
	free_categories(chart);
	chart->categories = copies;
	for (size_t i = 0; i < count; i++) {
		if (copy_text(&copies[i], names[i]) != 0) {
			free_categories(chart);
			return -ENOMEM;
		}
		chart->category_count++;
	}
	return 0;
}

int chart_add_bars(struct chart *chart, const char *label, const double *values, const double *error, size_t count,
		   struct chart_style style)
{
	struct series *series = add_series(chart, SERIES_BARS, label, count, 3, style);

	if (!series)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		series->x[i] = (double)i;
	series->y = fill(series, 1, values);
	if (error)
		series->error = fill(series, 2, error);
	series->bar = chart->bars_used++;
	return 0;
}

int chart_add_vertical(struct chart *chart, const char *label, double x, struct chart_style style)
{
	return add_xy(chart, SERIES_VERTICAL, label, &x, &x, NULL, 1, style);
}

int chart_add_horizontal(struct chart *chart, const char *label, double y, struct chart_style style)
{
	return add_xy(chart, SERIES_HORIZONTAL, label, &y, &y, NULL, 1, style);
}

int chart_add_span(struct chart *chart, const char *label, double x_low, double x_high, struct chart_style style)
{
	return add_xy(chart, SERIES_SPAN, label, &x_low, &x_high, NULL, 1, style);
}

/*
 * Writes a description for readers who cannot see the chart, with the subtitle, the axes and the labels of the series:
 * "46 delay levels. performance by added round trip (µs). memcached. redis."
 */
static void describe(const struct chart *chart, char *text, size_t bytes)
{
	size_t used = (size_t)snprintf(text, bytes, "%s%s%s by %s.", chart->subtitle ? chart->subtitle : "",
				       chart->subtitle ? ". " : "", chart->y_label ? chart->y_label : "y",
				       chart->x_label ? chart->x_label : "x");

	for (size_t i = 0; i < chart->series_count && used < bytes; i++)
		if (chart->series[i].label)
			used += (size_t)snprintf(text + used, bytes - used, " %s.", chart->series[i].label);
}

int chart_save(const struct chart *chart, const char *path, struct error *err)
{
	char text[1024];
	struct drawing drawing = {chart_draw, chart, chart->options.width, chart->options.height, chart->title, text};

	describe(chart, text, sizeof text);
	return drawing_save(&drawing, path, err);
}

char *chart_to_svg(const struct chart *chart, const char *prefix, struct error *err)
{
	char text[1024];
	struct drawing drawing = {chart_draw, chart, chart->options.width, chart->options.height, chart->title, text};

	describe(chart, text, sizeof text);
	return drawing_to_svg(&drawing, prefix, err);
}
