/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Charts for reports and papers: axes with round ticks (linear or logarithmic), lines, points with error bars, bands,
 * steps, CDFs, bars, marker lines and a legend. The same drawing gives PNG or SVG. The SVG keeps texts as text, and has
 * a title and a description for screen readers. A chart copies its input and is drawn by chart_save() or
 * chart_to_svg(). The palette is Okabe and Ito's, which colour-blind readers can distinguish; markers and dashes
 * distinguish series in print.
 *
 *   struct chart *chart = chart_create(&(struct chart_options){.title = "memcached", .x.label = "added RTT (µs)"});
 *   chart_add_band(chart, "95 % band", x, low, high, n, (struct chart_style){.colour = 1});
 *   chart_add_line(chart, "fit", x, y, n, (struct chart_style){.colour = 1});
 *   chart_save(chart, "memcached.svg", &err);
 *   chart_destroy(chart);
 *
 * The chart_add_*() return 0 or -ENOMEM; after a failure the chart is as before and may still be drawn. Points that are
 * not finite, or not above 0 on a logarithmic axis, are gaps. One thread per chart.
 */
#ifndef PLOT_CHART_H
#define PLOT_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>

struct chart;

enum chart_scale { CHART_LINEAR, CHART_LOG };

struct chart_axis {
	const char *label;
	enum chart_scale scale;
	bool has_minimum, has_maximum; /* false: that end of the axis is computed from the data */
	double minimum, maximum;
};

struct chart_options {
	const char *title;    /* NULL = none */
	const char *subtitle; /* smaller text below the title; NULL = none */
	int width, height;    /* pixels; 0 = 760 x 460 */
	struct chart_axis x, y;
	bool hide_legend;
};

enum chart_marker { CHART_MARKER_AUTO, CHART_CIRCLE, CHART_SQUARE, CHART_TRIANGLE, CHART_DIAMOND, CHART_CROSS };

/* How a series is drawn. A style that is all zero gives good defaults. */
struct chart_style {
	int colour; /* number of a colour in the palette, from 1; after the last colour, the first follows. CHART_GREY;
		       0 = a colour that no earlier series has */
	bool dashed;
	double width; /* width of lines, pixels; 0 = 2 */
	enum chart_marker marker;
};

enum { CHART_GREY = -1 };

/* Returns a chart, or NULL with errno ENOMEM. Copies the texts, which are UTF-8. */
struct chart *chart_create(const struct chart_options *options);
void chart_destroy(struct chart *chart); /* NULL is legal */

/* A label that is NULL keeps a series out of the legend. */
int chart_add_line(struct chart *chart, const char *label, const double *x, const double *y, size_t count,
		   struct chart_style style);
/* error[i] is half the length of the error bar of point i; error may be NULL. */
int chart_add_points(struct chart *chart, const char *label, const double *x, const double *y, const double *error,
		     size_t count, struct chart_style style);
int chart_add_band(struct chart *chart, const char *label, const double *x, const double *low, const double *high,
		   size_t count, struct chart_style style);
/* The line has the value y[i] from x[i] to x[i + 1]. */
int chart_add_step(struct chart *chart, const char *label, const double *x, const double *y, size_t count,
		   struct chart_style style);
/* Empirical distribution of values in any order, as a step line from 0 to 1. Leaves out values that are not finite. */
int chart_add_cdf(struct chart *chart, const char *label, const double *values, size_t count, struct chart_style style);

/* The x axis has names instead of numbers. Bar i of a series, or a point at x = i, is drawn above name i. */
int chart_set_categories(struct chart *chart, const char *const *names, size_t count);
/*
 * Adds a bar per value. The bars of several series are drawn side by side. error[i] is half the length of the error bar
 * of bar i; error may be NULL.
 */
int chart_add_bars(struct chart *chart, const char *label, const double *values, const double *error, size_t count,
		   struct chart_style style);

/* A line across the whole plot, with its label written beside it (NULL = none). */
int chart_add_vertical(struct chart *chart, const char *label, double x, struct chart_style style);
int chart_add_horizontal(struct chart *chart, const char *label, double y, struct chart_style style);
/* A shaded stretch of the x axis. */
int chart_add_span(struct chart *chart, const char *label, double x_low, double x_high, struct chart_style style);

/*
 * Draws the chart to an SVG or PNG file, by the ending of `path` (.svg or .png). The file is written whole or not at
 * all. Returns 0, or -errno with err set.
 */
int chart_save(const struct chart *chart, const char *path, struct error *err);
/*
 * Returns 0, or -EINVAL with err set if chart_save() would refuse the path. For programs that draw only at the end of
 * long work.
 */
int chart_check_name(const char *path, struct error *err);

/*
 * Returns SVG text to put into an HTML page, which the caller frees, or NULL with err set. The ids in the text begin
 * with `prefix` (letters and digits), which must differ among the charts of one page.
 */
char *chart_to_svg(const struct chart *chart, const char *prefix, struct error *err);

#endif
