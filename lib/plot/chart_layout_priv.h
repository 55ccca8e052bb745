/* SPDX-License-Identifier: BSD-3-Clause */
/* Positions of the parts of a chart, shared by its frame (chart_draw.c) and its series (chart_series.c). */
#ifndef PLOT_CHART_LAYOUT_PRIV_H
#define PLOT_CHART_LAYOUT_PRIV_H

#include "axis_priv.h"
#include "chart_priv.h"
#include "text_priv.h"

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
