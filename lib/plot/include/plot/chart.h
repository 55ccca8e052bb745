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
#include <stdint.h>

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

/*
 * Draws a matrix in colours (viridis: even in lightness, safe for colour-blind readers and in grey) with row and column
 * labels, separators between groups such as racks, a colour bar, and hatched cells for missing values (grey cells in
 * large matrices). heatmap_save() keeps nothing of its arguments; different threads may draw different pictures at the
 * same time.
 */

struct heatmap {
	const char *title, *subtitle; /* NULL = none */
	const char *unit;             /* text along the colour bar: "RTT p50 (µs)" */
	size_t rows, columns;
	const double *values;             /* rows * columns, row by row; NAN = missing */
	const char *const *row_labels;    /* NULL = none; if they do not fit, only every n-th is drawn */
	const char *const *column_labels; /* NULL = none */
	const size_t *row_groups;         /* first row of each group after the first, ascending; NULL = none */
	size_t row_group_count;
	const size_t *column_groups;
	size_t column_group_count;
	const char *row_title, *column_title; /* NULL = none */
	bool logarithmic;  /* a cell's colour follows the logarithm of its value; values <= 0 then count as missing */
	bool print_values; /* print the values into the cells if they fit */
	double minimum, maximum; /* values with the first and the last colour; both 0 = the smallest and the largest of
				    the values */
	int width, height;       /* pixels; 0 = computed from the number of rows and columns */
};

/*
 * Draws the heat map to an SVG or PNG file, by the ending of `path` (.svg or .png). The file is written whole or not at
 * all. Returns 0, or -errno with err set.
 */
int heatmap_save(const struct heatmap *heatmap, const char *path, struct error *err);

/*
 * Draws a network: boxes (switches) and dots (hosts) at the caller's coordinates, and for each link two lines side by
 * side, one per direction, whose colour and width show a value from 0 to 1. A colour bar shows the values in per cent.
 * network_picture_save() keeps nothing of its arguments; different threads may draw different pictures at the same
 * time.
 */

struct network_picture_node {
	double x, y;       /* position as a share of the picture's width and height, 0..1, from the top left */
	const char *label; /* NULL: none */
	bool box;
};

struct network_picture_link {
	uint32_t a, b;              /* nodes */
	double forwards, backwards; /* values of the directions from a to b and from b to a, 0..1; 0: not in use */
	bool down;                  /* dashed */
};

struct network_picture {
	const char *title, *subtitle; /* NULL = none */
	const char *unit;             /* text along the colour bar */
	const struct network_picture_node *nodes;
	const struct network_picture_link *links;
	size_t node_count, link_count;
	int width, height; /* pixels */
};

/*
 * Draws the picture to an SVG or PNG file, by the ending of `path` (.svg or .png). The file is written whole or not at
 * all. Returns 0, or -errno with err set.
 */
int network_picture_save(const struct network_picture *picture, const char *path, struct error *err);

#endif
