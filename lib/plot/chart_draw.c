/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chart_priv.h"

static const struct text_style title_style = {.size = 16, .bold = true, .grey = 0.1};
static const struct text_style subtitle_style = {.size = 12, .grey = 0.35};
static const struct text_style label_style = {.size = 13, .grey = 0.15, .place = TEXT_CENTRE};
static const struct text_style tick_style = {.size = 12, .grey = 0.25};

static void widen(struct axis *axis, double value)
{
	if (!axis_accepts(axis, value))
		return;
	axis->minimum = fmin(axis->minimum, value);
	axis->maximum = fmax(axis->maximum, value);
}

static void widen_by_series(const struct series *series, struct axis *x, struct axis *y)
{
	for (size_t i = 0; i < series->count; i++) {
		double error = series->error && isfinite(series->error[i]) ? series->error[i] : 0;

		if (series->kind == SERIES_HORIZONTAL) {
			widen(y, series->y[i]);
			continue;
		}
		widen(x, series->x[i]);
		if (series->kind == SERIES_SPAN)
			widen(x, series->y[i]);
		if (series->kind == SERIES_VERTICAL || series->kind == SERIES_SPAN)
			continue;
		widen(y, series->y[i] - error);
		widen(y, series->y[i] + error);
		if (series->high)
			widen(y, series->high[i]);
		if (series->kind == SERIES_BARS)
			widen(y, 0);
	}
}

/*
 * Sets the axis's range from `asked` (the caller's settings) and from the range of the data. Keeps the ends that the
 * caller set; adds a margin, the share `air` of the range, to ends taken from the data.
 */
static void settle_range(struct axis *axis, const struct chart_axis *asked, double air)
{
	bool from_data_low = !asked->has_minimum, from_data_high = !asked->has_maximum;
	double low, high;

	if (axis->minimum > axis->maximum) {
		axis->minimum = axis->logarithmic ? 1 : 0;
		axis->maximum = axis->logarithmic ? 10 : 1;
	}
	low = axis->logarithmic ? log10(axis->minimum) : axis->minimum;
	high = axis->logarithmic ? log10(axis->maximum) : axis->maximum;
	if (high - low < 1e-12 * fmax(1, fabs(high)))
		low -= 0.5, high += 0.5;
	air *= high - low;
	/* A linear axis begins at 0 if the data begin there, or if the margin would reach below 0. */
	if (from_data_low && (low != 0 || axis->logarithmic))
		low -= low > 0 && low - air < 0 && !axis->logarithmic ? low : air;
	if (from_data_high)
		high += air;
	axis->minimum = axis->logarithmic ? pow(10, low) : low;
	axis->maximum = axis->logarithmic ? pow(10, high) : high;
	if (asked->has_minimum && axis_accepts(axis, asked->minimum))
		axis->minimum = asked->minimum;
	if (asked->has_maximum && axis_accepts(axis, asked->maximum))
		axis->maximum = asked->maximum;
	if (!(axis->maximum > axis->minimum))
		axis->maximum = axis->logarithmic ? axis->minimum * 10 : axis->minimum + 1;
}

static void find_ranges(struct layout *layout)
{
	const struct chart *chart = layout->chart;
	struct axis *x = &layout->x, *y = &layout->y;

	*x = (struct axis){
		.logarithmic = chart->options.x.scale == CHART_LOG, .minimum = INFINITY, .maximum = -INFINITY};
	*y = (struct axis){
		.logarithmic = chart->options.y.scale == CHART_LOG, .minimum = INFINITY, .maximum = -INFINITY};
	for (size_t i = 0; i < chart->series_count; i++)
		widen_by_series(&chart->series[i], x, y);
	settle_range(x, &chart->options.x, 0.02);
	settle_range(y, &chart->options.y, 0.05);
	if (chart->category_count) {
		x->logarithmic = false;
		x->minimum = -0.6;
		x->maximum = (double)chart->category_count - 0.4;
	}
}

static bool in_legend(const struct series *series)
{
	return series->label && series->kind != SERIES_VERTICAL && series->kind != SERIES_HORIZONTAL;
}

static double entry_width(cairo_t *cr, const struct series *series)
{
	return LEGEND_SAMPLE + 6 + text_width(cr, series->label, legend_style) + LEGEND_GAP;
}

/* Returns the number of rows that the legend needs; with `draw`, draws its entries from y on. */
static int legend_rows(const struct layout *layout, double y,
		       void (*draw)(const struct layout *layout, const struct series *series, double x, double y))
{
	const struct chart *chart = layout->chart;
	double x = layout->left;
	int rows = 0;

	if (chart->options.hide_legend)
		return 0;
	for (size_t i = 0; i < chart->series_count; i++) {
		const struct series *series = &chart->series[i];
		double width;

		if (!in_legend(series))
			continue;
		width = entry_width(layout->cr, series);
		if (rows == 0) {
			rows = 1;
		} else if (x + width - LEGEND_GAP > layout->right) {
			rows++;
			x = layout->left;
		}
		if (draw)
			draw(layout, series, x, y + (rows - 1) * LEGEND_ROW);
		x += width;
	}
	return rows;
}

static double widest_tick(const struct layout *layout)
{
	double widest = 0;
	char text[32];

	for (size_t i = 0; i < layout->y.tick_count; i++) {
		if (!layout->y.ticks[i].labelled)
			continue;
		text_number(layout->y.ticks[i].value, layout->y.step, text, sizeof text);
		widest = fmax(widest, text_width(layout->cr, text, tick_style));
	}
	return widest;
}

static bool categories_need_two_lines(const struct layout *layout);

static void place_plot(struct layout *layout)
{
	const struct chart *chart = layout->chart;

	layout->right = chart->options.width - EDGE - 6;
	layout->left = EDGE + (chart->y_label ? 24 : 0) + 30;
	layout->bottom = chart->options.height - EDGE - 16 - (chart->x_label ? 26 : 0);
	layout->top = EDGE + (chart->title ? 24 : 0) + (chart->subtitle ? 20 : 0);
	layout->y.from = layout->bottom;
	layout->y.to = layout->top;
	axis_place_ticks(&layout->y, 48);
	layout->left = EDGE + (chart->y_label ? 24 : 0) + widest_tick(layout) + 10;
	layout->bottom -= categories_need_two_lines(layout) ? 14 : 0;
	layout->y.from = layout->bottom;
	layout->top += legend_rows(layout, 0, NULL) * LEGEND_ROW + 8;
	layout->y.to = layout->top;
	axis_place_ticks(&layout->y, 44);
	layout->x.from = layout->left;
	layout->x.to = layout->right;
	axis_place_ticks(&layout->x, 76);
}

static void draw_y_axis(const struct layout *layout)
{
	cairo_t *cr = layout->cr;
	char text[32];

	for (size_t i = 0; i < layout->y.tick_count; i++) {
		const struct tick *tick = &layout->y.ticks[i];
		double y = axis_pixel(&layout->y, tick->value);
		struct text_style style = tick_style;

		cairo_set_source_rgb(cr, 0.9, 0.9, 0.9);
		if (tick->labelled) {
			cairo_set_line_width(cr, 1);
			layout_stroke_line(cr, layout->left, round(y) + 0.5, layout->right, round(y) + 0.5);
			text_number(tick->value, layout->y.step, text, sizeof text);
			style.place = TEXT_RIGHT;
			text_draw(cr, text, layout->left - 7, y, style);
		} else {
			cairo_set_source_rgb(cr, 0.6, 0.6, 0.6);
			layout_stroke_line(cr, layout->left - 3, round(y) + 0.5, layout->left, round(y) + 0.5);
		}
	}
}

/*
 * Returns the blank that is nearest to the middle of a name, where a long name is broken into two lines; NULL if there
 * is none.
 */
static const char *find_break(const char *name)
{
	const char *best = NULL, *middle = name + strlen(name) / 2;

	for (const char *c = strchr(name, ' '); c; c = strchr(c + 1, ' '))
		if (!best || labs(c - middle) < labs(best - middle))
			best = c;
	return best;
}

static void draw_category(const struct layout *layout, const char *name, double x, bool broken)
{
	struct text_style style = tick_style;
	const char *blank = broken ? find_break(name) : NULL;
	char first[128];

	style.place = TEXT_CENTRE;
	if (!blank || blank - name >= (ptrdiff_t)sizeof first) {
		text_draw(layout->cr, name, x, layout->bottom + 14, style);
		return;
	}
	snprintf(first, sizeof first, "%.*s", (int)(blank - name), name);
	text_draw(layout->cr, first, x, layout->bottom + 14, style);
	text_draw(layout->cr, blank + 1, x, layout->bottom + 29, style);
}

static double widest_category(const struct layout *layout, bool broken)
{
	const struct chart *chart = layout->chart;
	double widest = 0;

	for (size_t i = 0; i < chart->category_count; i++) {
		const char *blank = broken ? find_break(chart->categories[i]) : NULL;
		double width = text_width(layout->cr, chart->categories[i], tick_style);

		if (blank) {
			double tail = text_width(layout->cr, blank, tick_style);

			width = fmax(tail, width - tail);
		}
		widest = fmax(widest, width);
	}
	return widest;
}

static bool categories_need_two_lines(const struct layout *layout)
{
	const struct chart *chart = layout->chart;

	return chart->category_count > 0 &&
	       widest_category(layout, false) + 10 > (layout->right - layout->left) / (double)chart->category_count;
}

/* If names do not fit side by side, they are broken into two lines; if that is not enough, only every n-th is drawn. */
static void draw_categories(const struct layout *layout)
{
	const struct chart *chart = layout->chart;
	double room = axis_pixel(&layout->x, 1) - axis_pixel(&layout->x, 0);
	bool broken = categories_need_two_lines(layout);
	size_t every = (size_t)fmax(1, ceil((widest_category(layout, broken) + 8) / room));

	for (size_t i = 0; i < chart->category_count; i += every)
		draw_category(layout, chart->categories[i], axis_pixel(&layout->x, (double)i), broken);
}

static void draw_x_axis(const struct layout *layout)
{
	cairo_t *cr = layout->cr;
	char text[32];

	if (layout->chart->category_count) {
		draw_categories(layout);
		return;
	}
	for (size_t i = 0; i < layout->x.tick_count; i++) {
		const struct tick *tick = &layout->x.ticks[i];
		double x = round(axis_pixel(&layout->x, tick->value)) + 0.5;
		struct text_style style = tick_style;

		cairo_set_line_width(cr, 1);
		cairo_set_source_rgb(cr, 0.93, 0.93, 0.93);
		if (tick->labelled)
			layout_stroke_line(cr, x, layout->top, x, layout->bottom);
		cairo_set_source_rgb(cr, 0.4, 0.4, 0.4);
		layout_stroke_line(cr, x, layout->bottom, x, layout->bottom + (tick->labelled ? 5 : 3));
		if (!tick->labelled)
			continue;
		text_number(tick->value, layout->x.step, text, sizeof text);
		style.place = TEXT_CENTRE;
		text_draw(cr, text, x, layout->bottom + 15, style);
	}
}

static void draw_frame(const struct layout *layout)
{
	const struct chart *chart = layout->chart;
	cairo_t *cr = layout->cr;
	double y = EDGE + 8;
	struct text_style turned = label_style;

	if (chart->title) {
		text_draw(cr, chart->title, layout->left, y, title_style);
		y += 22;
	}
	if (chart->subtitle)
		text_draw(cr, chart->subtitle, layout->left, y, subtitle_style);
	draw_y_axis(layout);
	draw_x_axis(layout);
	cairo_set_source_rgb(cr, 0.3, 0.3, 0.3);
	cairo_set_line_width(cr, 1);
	layout_stroke_line(cr, layout->left, round(layout->bottom) + 0.5, layout->right, round(layout->bottom) + 0.5);
	layout_stroke_line(cr, round(layout->left) + 0.5, layout->top, round(layout->left) + 0.5, layout->bottom);
	if (chart->x_label)
		text_draw(cr, chart->x_label, (layout->left + layout->right) / 2, chart->options.height - EDGE - 4,
			  label_style);
	turned.angle = -M_PI / 2;
	if (chart->y_label)
		text_draw(cr, chart->y_label, EDGE + 6, (layout->top + layout->bottom) / 2, turned);
}

void chart_draw(cairo_t *cr, const struct drawing *drawing)
{
	struct layout layout = {.chart = drawing->subject, .cr = cr};
	const struct chart *chart = layout.chart;

	find_ranges(&layout);
	place_plot(&layout);
	draw_frame(&layout);
	cairo_save(cr);
	/* A margin of two pixels, so that points and lines on the edge are drawn whole. */
	cairo_rectangle(cr, layout.left - 2, layout.top - 2, layout.right - layout.left + 4,
			layout.bottom - layout.top + 4);
	cairo_clip(cr);
	for (int kind = 0; kind < SERIES_KIND_COUNT; kind++)
		for (size_t i = 0; i < chart->series_count; i++)
			if (chart->series[i].kind == (enum series_kind)kind)
				layout_draw_series(&layout, &chart->series[i]);
	cairo_restore(cr);
	legend_rows(&layout, EDGE + (chart->title ? 22 : 0) + (chart->subtitle ? 20 : 0) + 8, layout_draw_legend_entry);
}
