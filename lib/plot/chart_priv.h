/* SPDX-License-Identifier: BSD-3-Clause */
/* A chart's content, as chart.c keeps and chart_draw.c draws it. */
#ifndef PLOT_CHART_PRIV_H
#define PLOT_CHART_PRIV_H

#include <plot/chart.h>

#include "surface_priv.h"

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

#endif
