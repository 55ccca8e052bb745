/* SPDX-License-Identifier: BSD-3-Clause */
/* What the drawings share: surfaces, text, axes, and the layout of charts. */
#ifndef PLOT_CHART_PRIV_H
#define PLOT_CHART_PRIV_H

#include <cairo.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <base/error.h>
#include <plot/chart.h>

/* The output of a drawing: one drawing function gives a PNG file, an SVG file or SVG text. */

/* Something that can be drawn, width x height pixels in size. */
struct drawing {
	void (*draw)(cairo_t *cr, const struct drawing *drawing);
	const void *subject;
	int width, height;
	const char *title;       /* title element of the SVG, for screen readers; NULL = none */
	const char *description; /* description element of the SVG, for screen readers; NULL = none */
};

int drawing_save(const struct drawing *drawing, const char *path, struct error *err);
char *drawing_to_svg(const struct drawing *drawing, const char *prefix, struct error *err);

/* Text and colours that charts and heat maps share. */

struct rgb {
	double r, g, b;
};

enum text_place { TEXT_LEFT, TEXT_CENTRE, TEXT_RIGHT };

struct text_style {
	double size;
	bool bold;
	double grey; /* 0 = black */
	enum text_place place;
	double angle; /* radians, clockwise, about the anchor */
};

/* Draws the text. The anchor (x, y) is its left end, centre or right end, at half the height of its digits. */
void text_draw(cairo_t *cr, const char *text, double x, double y, struct text_style style);
double text_width(cairo_t *cr, const char *text, struct text_style style);

/*
 * Writes a tick's value in a short form, with as many decimals as the distance between ticks, `step`, needs: "0.25",
 * "1500", "20k", "3M". If step is 0, with the decimals that the value itself needs, as on a logarithmic axis.
 */
void text_number(double value, double step, char *text, size_t bytes);

/*
 * With a sink, text_draw() does not draw a text on the surface but prints it to the sink as an SVG <text> element,
 * which can be searched, copied and read aloud.
 */
void text_sink_attach(cairo_surface_t *surface, FILE *sink);

void set_rgb(cairo_t *cr, struct rgb colour, double opacity);
struct rgb palette_colour(int colour);
/* Returns the colour of the viridis palette at `at`, 0..1. */
struct rgb palette_viridis(double at);

/* One axis: its range, its ticks, and the conversion of a value to a pixel. Pure. */

enum { AXIS_TICKS_MAXIMUM = 64 };

struct tick {
	double value;
	bool labelled; /* the tick has a label; minor ticks have none */
};

struct axis {
	bool logarithmic;
	double minimum, maximum;
	double from, to; /* positions of the minimum and of the maximum, pixels */
	double step;     /* distance between labelled ticks, in values; 0 = logarithmic */
	size_t tick_count;
	struct tick ticks[AXIS_TICKS_MAXIMUM];
};

/* Places ticks on an axis whose range is set, about one label every `spacing` pixels. */
void axis_place_ticks(struct axis *axis, double spacing);

/* Returns true if the value is finite and, on a logarithmic axis, above 0. */
bool axis_accepts(const struct axis *axis, double value);
double axis_pixel(const struct axis *axis, double value);

/* A chart's content, as chart.c keeps and chart_draw.c draws it. */

enum series_kind {
	SERIES_SPAN,
	SERIES_BAND,
	SERIES_BARS,
	SERIES_VERTICAL,
	SERIES_HORIZONTAL,
	SERIES_LINE,
	SERIES_STEP,
	SERIES_POINTS,
	SERIES_KIND_COUNT, /* the order above is the order of drawing: points come on top */
};

/*
 * A series of data. Its arrays have `count` values each, in one allocation that starts at x. Arrays that its kind does
 * not use are NULL.
 */
struct series {
	enum series_kind kind;
	char *label;
	struct chart_style style; /* with the colour and marker chosen */
	size_t count;
	double *x, *y; /* band: y is the lower edge */
	double *high;  /* band: the upper edge */
	double *error; /* points, bars: half length of the error bar */
	int bar;       /* bars: index of the series among the series of bars, 0..bars_used - 1 of the chart */
};

struct chart {
	char *title, *subtitle, *x_label, *y_label;
	struct chart_options options; /* the texts in it point to title, subtitle, x_label and y_label */
	size_t series_count, series_capacity;
	struct series *series;
	size_t category_count;
	char **categories;
	int colours_used, bars_used;
};

void chart_draw(cairo_t *cr, const struct drawing *drawing);

/* Positions of the parts of a chart, shared by its frame (chart_draw.c) and its series (chart_series.c). */

enum { LEGEND_ROW = 20, LEGEND_SAMPLE = 26, LEGEND_GAP = 18, EDGE = 14 };

static const struct text_style legend_style = {.size = 12, .grey = 0.15};

/* The chart's layout, computed before drawing. */
struct layout {
	const struct chart *chart;
	cairo_t *cr;
	struct axis x, y;
	double left, right, top, bottom; /* edges of the plot area, pixels */
};

void layout_stroke_line(cairo_t *cr, double x0, double y0, double x1, double y1);

void layout_draw_series(const struct layout *layout, const struct series *series);
/* Draws a legend entry, which is a sample of the series and its label: (x, y) is its left end, at half its height. */
void layout_draw_legend_entry(const struct layout *layout, const struct series *series, double x, double y);

#endif
