/* SPDX-License-Identifier: BSD-3-Clause */
/* How each kind of series is drawn, in the plot and in the legend. */
#include <math.h>

#include "chart_priv.h"

void layout_stroke_line(cairo_t *cr, double x0, double y0, double x1, double y1)
{
	cairo_move_to(cr, x0, y0);
	cairo_line_to(cr, x1, y1);
	cairo_stroke(cr);
}

static bool point_of(const struct layout *layout, const struct series *series, size_t i, double *x, double *y)
{
	if (!axis_accepts(&layout->x, series->x[i]) || !axis_accepts(&layout->y, series->y[i]))
		return false;
	*x = axis_pixel(&layout->x, series->x[i]);
	*y = axis_pixel(&layout->y, series->y[i]);
	return true;
}

static void set_line(cairo_t *cr, struct chart_style style)
{
	const double dashes[] = {6, 4};

	set_rgb(cr, palette_colour(style.colour), 1);
	cairo_set_line_width(cr, style.width);
	cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
	cairo_set_dash(cr, dashes, style.dashed ? 2 : 0, 0);
}

static void draw_line(const struct layout *layout, const struct series *series)
{
	bool inside = false;
	double x, y, last_y = 0;

	set_line(layout->cr, series->style);
	for (size_t i = 0; i < series->count; i++) {
		if (!point_of(layout, series, i, &x, &y)) {
			inside = false;
			continue;
		}
		if (!inside)
			cairo_move_to(layout->cr, x, y);
		else if (series->kind == SERIES_STEP)
			cairo_line_to(layout->cr, x, last_y);
		cairo_line_to(layout->cr, x, y);
		inside = true;
		last_y = y;
	}
	cairo_stroke(layout->cr);
	cairo_set_dash(layout->cr, NULL, 0, 0);
}

/* Fills a part of a band that has no gaps: the points from..to-1. */
static void fill_stretch(const struct layout *layout, const struct series *series, size_t from, size_t to)
{
	cairo_t *cr = layout->cr;

	for (size_t i = from; i < to; i++)
		cairo_line_to(cr, axis_pixel(&layout->x, series->x[i]), axis_pixel(&layout->y, series->high[i]));
	for (size_t i = to; i-- > from;)
		cairo_line_to(cr, axis_pixel(&layout->x, series->x[i]), axis_pixel(&layout->y, series->y[i]));
	cairo_close_path(cr);
	set_rgb(cr, palette_colour(series->style.colour), 0.2);
	cairo_fill(cr);
}

static void draw_band(const struct layout *layout, const struct series *series)
{
	size_t from = 0;

	for (size_t i = 0; i <= series->count; i++) {
		if (i < series->count && axis_accepts(&layout->x, series->x[i]) &&
		    axis_accepts(&layout->y, series->y[i]) && axis_accepts(&layout->y, series->high[i]))
			continue;
		if (i > from)
			fill_stretch(layout, series, from, i);
		from = i + 1;
	}
}

static void draw_marker(cairo_t *cr, enum chart_marker marker, double x, double y, double size)
{
	switch (marker) {
	case CHART_SQUARE:
		cairo_rectangle(cr, x - size * 0.9, y - size * 0.9, size * 1.8, size * 1.8);
		break;
	case CHART_TRIANGLE:
		cairo_move_to(cr, x, y - size * 1.2);
		cairo_line_to(cr, x + size * 1.1, y + size * 0.8);
		cairo_line_to(cr, x - size * 1.1, y + size * 0.8);
		cairo_close_path(cr);
		break;
	case CHART_DIAMOND:
		cairo_move_to(cr, x, y - size * 1.3);
		cairo_line_to(cr, x + size * 1.2, y);
		cairo_line_to(cr, x, y + size * 1.3);
		cairo_line_to(cr, x - size * 1.2, y);
		cairo_close_path(cr);
		break;
	case CHART_CROSS:
		cairo_set_line_width(cr, 1.8);
		layout_stroke_line(cr, x - size, y - size, x + size, y + size);
		layout_stroke_line(cr, x - size, y + size, x + size, y - size);
		return;
	default:
		cairo_new_sub_path(cr);
		cairo_arc(cr, x, y, size, 0, 2 * M_PI);
	}
	cairo_fill(cr);
}

static void draw_error_bar(const struct layout *layout, double x, double value, double error)
{
	double low = value - error, high = value + error;

	if (!(error > 0) || !isfinite(error) || !axis_accepts(&layout->y, high))
		return;
	low = axis_accepts(&layout->y, low) ? axis_pixel(&layout->y, low) : layout->bottom;
	high = axis_pixel(&layout->y, high);
	cairo_set_line_width(layout->cr, 1.1);
	layout_stroke_line(layout->cr, x, low, x, high);
	layout_stroke_line(layout->cr, x - 3, low, x + 3, low);
	layout_stroke_line(layout->cr, x - 3, high, x + 3, high);
}

static void draw_points(const struct layout *layout, const struct series *series)
{
	double size = series->count > 300 ? 1.8 : series->count > 80 ? 2.6 : 3.6, x, y;
	double opacity = series->count > 300 ? 0.55 : 1;

	set_rgb(layout->cr, palette_colour(series->style.colour), opacity);
	for (size_t i = 0; i < series->count; i++) {
		if (!point_of(layout, series, i, &x, &y))
			continue;
		if (series->error)
			draw_error_bar(layout, x, series->y[i], series->error[i]);
		draw_marker(layout->cr, series->style.marker, x, y, size);
	}
}

static void draw_bars(const struct layout *layout, const struct series *series)
{
	double slot = 0.8 / layout->chart->bars_used;
	double floor_y = layout->y.logarithmic ? layout->bottom : axis_pixel(&layout->y, fmax(layout->y.minimum, 0));

	for (size_t i = 0; i < series->count; i++) {
		double centre = (double)i - 0.4 + slot * (series->bar + 0.5);
		double from = axis_pixel(&layout->x, centre - slot * 0.46);
		double to = axis_pixel(&layout->x, centre + slot * 0.46), y;

		if (!axis_accepts(&layout->y, series->y[i]))
			continue;
		y = axis_pixel(&layout->y, series->y[i]);
		set_rgb(layout->cr, palette_colour(series->style.colour), 0.9);
		cairo_rectangle(layout->cr, from, fmin(y, floor_y), to - from, fabs(floor_y - y));
		cairo_fill(layout->cr);
		cairo_set_source_rgb(layout->cr, 0.15, 0.15, 0.15);
		if (series->error)
			draw_error_bar(layout, (from + to) / 2, series->y[i], series->error[i]);
	}
}

static void draw_marks(const struct layout *layout, const struct series *series)
{
	struct text_style style = legend_style;
	cairo_t *cr = layout->cr;
	double at, x;

	set_line(cr, series->style);
	if (series->kind == SERIES_HORIZONTAL) {
		at = axis_pixel(&layout->y, series->y[0]);
		layout_stroke_line(cr, layout->left, at, layout->right, at);
	} else {
		at = axis_pixel(&layout->x, series->x[0]);
		layout_stroke_line(cr, at, layout->top, at, layout->bottom);
	}
	cairo_set_dash(cr, NULL, 0, 0);
	if (!series->label)
		return;
	style.grey = 0.3;
	if (series->kind == SERIES_HORIZONTAL) {
		style.place = TEXT_RIGHT;
		text_draw(cr, series->label, layout->right - 4, at - 9, style);
		return;
	}
	x = at + 5;
	if (x + text_width(cr, series->label, style) > layout->right) {
		style.place = TEXT_RIGHT;
		x = at - 5;
	}
	text_draw(cr, series->label, x, layout->bottom - 12, style);
}

static void draw_span(const struct layout *layout, const struct series *series)
{
	double from = axis_pixel(&layout->x, series->x[0]), to = axis_pixel(&layout->x, series->y[0]);

	set_rgb(layout->cr, palette_colour(series->style.colour), 0.12);
	cairo_rectangle(layout->cr, from, layout->top, to - from, layout->bottom - layout->top);
	cairo_fill(layout->cr);
}

void layout_draw_series(const struct layout *layout, const struct series *series)
{
	switch (series->kind) {
	case SERIES_SPAN:
		draw_span(layout, series);
		break;
	case SERIES_BAND:
		draw_band(layout, series);
		break;
	case SERIES_BARS:
		draw_bars(layout, series);
		break;
	case SERIES_VERTICAL:
	case SERIES_HORIZONTAL:
		draw_marks(layout, series);
		break;
	case SERIES_LINE:
	case SERIES_STEP:
		draw_line(layout, series);
		break;
	case SERIES_POINTS:
		draw_points(layout, series);
		break;
	case SERIES_KIND_COUNT:
		break;
	}
}

void layout_draw_legend_entry(const struct layout *layout, const struct series *series, double x, double y)
{
	cairo_t *cr = layout->cr;
	double middle = x + LEGEND_SAMPLE / 2.0;

	set_line(cr, series->style);
	if (series->kind == SERIES_BAND || series->kind == SERIES_SPAN || series->kind == SERIES_BARS) {
		set_rgb(cr, palette_colour(series->style.colour), series->kind == SERIES_BARS ? 0.9 : 0.2);
		cairo_rectangle(cr, x + 2, y - 5.5, LEGEND_SAMPLE - 4, 11);
		cairo_fill(cr);
	} else if (series->kind == SERIES_POINTS) {
		cairo_set_dash(cr, NULL, 0, 0);
		if (series->error) {
			cairo_set_line_width(cr, 1.1);
			layout_stroke_line(cr, middle, y - 7, middle, y + 7);
		}
		draw_marker(cr, series->style.marker, middle, y, 3.6);
	} else {
		layout_stroke_line(cr, x + 1, y, x + LEGEND_SAMPLE - 1, y);
	}
	cairo_set_dash(cr, NULL, 0, 0);
	text_draw(cr, series->label, x + LEGEND_SAMPLE + 6, y, legend_style);
}
