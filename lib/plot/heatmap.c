/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <plot/chart.h>

#include "chart_priv.h"

static const struct text_style title_style = {.size = 16, .bold = true, .grey = 0.1};
static const struct text_style subtitle_style = {.size = 12, .grey = 0.35};
static const struct text_style label_style = {.size = 11, .grey = 0.2};
static const struct text_style axis_style = {.size = 13, .grey = 0.15, .place = TEXT_CENTRE};

enum { BAR_WIDTH = 16, BAR_GAP = 22, BAR_LABELS = 82, LABEL_MAXIMUM = 160 };

/*
 * More than CELLS_VECTOR cells are drawn as one image. A cell has 2 x 2 pixels of the image, or 1 pixel if there are
 * more than CELLS_FINE cells.
 */
enum { CELLS_VECTOR = 10000, CELLS_FINE = 1000000 };
#define MISSING_GREY 0.88

struct map_layout {
	const struct heatmap *map;
	cairo_t *cr;
	double left, top, right, bottom; /* edges of the area of the cells, pixels */
	double cell_width, cell_height;
	bool slanted;      /* column labels are drawn vertically, as they would not fit side by side */
	struct axis scale; /* the colour bar */
};

static bool is_missing(const struct heatmap *map, double value)
{
	return !isfinite(value) || (map->logarithmic && value <= 0);
}

static void find_scale(struct map_layout *layout)
{
	const struct heatmap *map = layout->map;
	struct axis *scale = &layout->scale;

	*scale = (struct axis){.logarithmic = map->logarithmic, .minimum = INFINITY, .maximum = -INFINITY};
	for (size_t i = 0; i < map->rows * map->columns; i++) {
		if (is_missing(map, map->values[i]))
			continue;
		scale->minimum = fmin(scale->minimum, map->values[i]);
		scale->maximum = fmax(scale->maximum, map->values[i]);
	}
	if (map->maximum > map->minimum && (!map->logarithmic || map->minimum > 0)) {
		scale->minimum = map->minimum;
		scale->maximum = map->maximum;
	}
	if (scale->minimum > scale->maximum)
		scale->minimum = 1, scale->maximum = 2;
	if (scale->minimum == scale->maximum)
		scale->maximum = scale->minimum + fmax(fabs(scale->minimum) * 0.1, 1e-9);
}

static double widest_label(cairo_t *cr, const char *const *labels, size_t count)
{
	double widest = 0;

	for (size_t i = 0; labels && i < count; i++)
		widest = fmax(widest, text_width(cr, labels[i], label_style));
	return fmin(widest, LABEL_MAXIMUM);
}

static void place_cells(struct map_layout *layout, int width, int height)
{
	const struct heatmap *map = layout->map;
	double column_label = widest_label(layout->cr, map->column_labels, map->columns);

	layout->left = EDGE + (map->row_title ? 22 : 0) + widest_label(layout->cr, map->row_labels, map->rows) + 8;
	layout->right = width - EDGE - BAR_LABELS - BAR_WIDTH - BAR_GAP;
	layout->cell_width = (layout->right - layout->left) / (double)map->columns;
	layout->slanted = column_label + 8 > layout->cell_width;
	layout->top = EDGE + (map->title ? 24 : 0) + (map->subtitle ? 20 : 0) + 4;
	layout->bottom = height - EDGE - (map->column_title ? 24 : 0) -
			 (map->column_labels ? (layout->slanted ? column_label + 8 : 20) : 0);
	layout->cell_height = (layout->bottom - layout->top) / (double)map->rows;
	layout->scale.from = layout->bottom;
	layout->scale.to = layout->top;
	axis_place_ticks(&layout->scale, 44);
}

static double scale_part(const struct map_layout *layout, double value)
{
	return (axis_pixel(&layout->scale, value) - layout->scale.from) / (layout->scale.to - layout->scale.from);
}

static uint32_t cell_pixel(const struct map_layout *layout, double value)
{
	struct rgb colour = {MISSING_GREY, MISSING_GREY, MISSING_GREY};

	if (!is_missing(layout->map, value))
		colour = palette_viridis(scale_part(layout, value));
	return (uint32_t)lround(colour.r * 255) << 16 | (uint32_t)lround(colour.g * 255) << 8 |
	       (uint32_t)lround(colour.b * 255);
}

static void draw_missing(const struct map_layout *layout, double x, double y)
{
	cairo_t *cr = layout->cr;

	cairo_save(cr);
	cairo_rectangle(cr, x, y, layout->cell_width, layout->cell_height);
	cairo_clip(cr);
	cairo_set_source_rgb(cr, 0.94, 0.94, 0.94);
	cairo_paint(cr);
	cairo_set_source_rgb(cr, 0.78, 0.78, 0.78);
	cairo_set_line_width(cr, 0.8);
	for (double at = -layout->cell_height; at < layout->cell_width; at += 5) {
		cairo_move_to(cr, x + at, y + layout->cell_height);
		cairo_line_to(cr, x + at + layout->cell_height, y);
	}
	cairo_stroke(cr);
	cairo_restore(cr);
}

static void print_value(const struct map_layout *layout, double value, struct rgb colour, double x, double y)
{
	struct text_style style = label_style;
	char text[32];

	snprintf(text, sizeof text, fabs(value) >= 100 ? "%.0f" : fabs(value) >= 10 ? "%.1f" : "%.2f", value);
	style.size = fmin(11, layout->cell_height * 0.6);
	style.place = TEXT_CENTRE;
	style.grey = 0.299 * colour.r + 0.587 * colour.g + 0.114 * colour.b > 0.5 ? 0 : 1;
	if (style.size >= 6 && text_width(layout->cr, text, style) < layout->cell_width - 3)
		text_draw(layout->cr, text, x + layout->cell_width / 2, y + layout->cell_height / 2, style);
}

/*
 * Draws many cells as one image with `fine` x `fine` pixels per cell: with a rectangle for each cell, the file would
 * have hundreds of megabytes.
 */
static void draw_raster(const struct map_layout *layout, size_t fine)
{
	const struct heatmap *map = layout->map;
	size_t width = map->columns * fine, height = map->rows * fine;
	cairo_surface_t *picture = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
	unsigned char *data = cairo_image_surface_get_data(picture);
	size_t stride = (size_t)cairo_image_surface_get_stride(picture);

	/* If memory was short, data is NULL, and the later drawing of the surface reports the error. */
	for (size_t y = 0; data && y < height; y++) {
		uint32_t *line = (uint32_t *)(void *)(data + y * stride);

		if (y % fine) {
			memcpy(line, data + (y - 1) * stride, stride);
			continue;
		}
		for (size_t x = 0; x < width; x++)
			line[x] = x % fine ? line[x - 1]
					   : cell_pixel(layout, map->values[y / fine * map->columns + x / fine]);
	}
	cairo_surface_mark_dirty(picture);
	cairo_save(layout->cr);
	cairo_translate(layout->cr, layout->left, layout->top);
	cairo_scale(layout->cr, layout->cell_width / (double)fine, layout->cell_height / (double)fine);
	cairo_set_source_surface(layout->cr, picture, 0, 0);
	cairo_pattern_set_filter(cairo_get_source(layout->cr), CAIRO_FILTER_NEAREST);
	cairo_rectangle(layout->cr, 0, 0, (double)width, (double)height);
	cairo_fill(layout->cr);
	cairo_restore(layout->cr);
	cairo_surface_destroy(picture);
}

static void draw_cells(const struct map_layout *layout)
{
	const struct heatmap *map = layout->map;

	cairo_save(layout->cr);
	cairo_rectangle(layout->cr, layout->left, layout->top, layout->right - layout->left,
			layout->bottom - layout->top);
	cairo_clip(layout->cr);
	for (size_t row = 0; row < map->rows; row++) {
		for (size_t column = 0; column < map->columns; column++) {
			double value = map->values[row * map->columns + column];
			double x = layout->left + (double)column * layout->cell_width;
			double y = layout->top + (double)row * layout->cell_height;
			struct rgb colour;

			if (is_missing(map, value)) {
				draw_missing(layout, x, y);
				continue;
			}
			colour = palette_viridis(scale_part(layout, value));
			set_rgb(layout->cr, colour, 1);
			/* Cells overlap a little: antialiased edges would show as a white grid. */
			cairo_rectangle(layout->cr, x, y, layout->cell_width + 0.4, layout->cell_height + 0.4);
			cairo_fill(layout->cr);
			if (map->print_values)
				print_value(layout, value, colour, x, y);
		}
	}
	cairo_restore(layout->cr);
}

static void draw_separators(const struct map_layout *layout)
{
	const struct heatmap *map = layout->map;
	cairo_t *cr = layout->cr;

	cairo_set_source_rgb(cr, 1, 1, 1);
	cairo_set_line_width(cr, 2.5);
	for (size_t i = 0; map->row_groups && i < map->row_group_count; i++) {
		double y = layout->top + (double)map->row_groups[i] * layout->cell_height;

		cairo_move_to(cr, layout->left, y);
		cairo_line_to(cr, layout->right, y);
	}
	for (size_t i = 0; map->column_groups && i < map->column_group_count; i++) {
		double x = layout->left + (double)map->column_groups[i] * layout->cell_width;

		cairo_move_to(cr, x, layout->top);
		cairo_line_to(cr, x, layout->bottom);
	}
	cairo_stroke(cr);
}

static void draw_labels(const struct map_layout *layout)
{
	const struct heatmap *map = layout->map;
	size_t row_step = (size_t)fmax(1, ceil(13 / layout->cell_height));
	size_t column_step = (size_t)fmax(1, layout->slanted ? ceil(13 / layout->cell_width) : 1);
	struct text_style style = label_style;

	style.place = TEXT_RIGHT;
	for (size_t i = 0; map->row_labels && i < map->rows; i += row_step)
		text_draw(layout->cr, map->row_labels[i], layout->left - 6,
			  layout->top + ((double)i + 0.5) * layout->cell_height, style);
	style.place = layout->slanted ? TEXT_RIGHT : TEXT_CENTRE;
	style.angle = layout->slanted ? -M_PI / 2 : 0;
	for (size_t i = 0; map->column_labels && i < map->columns; i += column_step)
		text_draw(layout->cr, map->column_labels[i], layout->left + ((double)i + 0.5) * layout->cell_width,
			  layout->bottom + (layout->slanted ? 6 : 12), style);
}

static void draw_colour_bar(const struct map_layout *layout)
{
	cairo_t *cr = layout->cr;
	double x = layout->right + BAR_GAP, height = layout->bottom - layout->top;
	struct text_style turned = axis_style;
	char text[32];

	for (int i = 0; i < 128; i++) {
		set_rgb(cr, palette_viridis((i + 0.5) / 128), 1);
		cairo_rectangle(cr, x, layout->bottom - height * (i + 1) / 128, BAR_WIDTH, height / 128 + 0.5);
		cairo_fill(cr);
	}
	cairo_set_source_rgb(cr, 0.3, 0.3, 0.3);
	cairo_set_line_width(cr, 1);
	for (size_t i = 0; i < layout->scale.tick_count; i++) {
		const struct tick *tick = &layout->scale.ticks[i];
		double y = axis_pixel(&layout->scale, tick->value);

		if (!tick->labelled)
			continue;
		cairo_set_source_rgb(cr, 0.3, 0.3, 0.3);
		cairo_move_to(cr, x + BAR_WIDTH, y);
		cairo_line_to(cr, x + BAR_WIDTH + 4, y);
		cairo_stroke(cr);
		text_number(tick->value, layout->scale.step, text, sizeof text);
		text_draw(cr, text, x + BAR_WIDTH + 7, y, label_style);
	}
	turned.angle = -M_PI / 2;
	if (layout->map->unit)
		text_draw(cr, layout->map->unit, x + BAR_WIDTH + BAR_LABELS - 10, (layout->top + layout->bottom) / 2,
			  turned);
}

static void draw_heatmap(cairo_t *cr, const struct drawing *drawing)
{
	const struct heatmap *map = drawing->subject;
	struct map_layout layout = {.map = map, .cr = cr};
	struct text_style turned = axis_style;
	double y = EDGE + 8;

	find_scale(&layout);
	place_cells(&layout, drawing->width, drawing->height);
	if (map->title) {
		text_draw(cr, map->title, layout.left, y, title_style);
		y += 22;
	}
	if (map->subtitle)
		text_draw(cr, map->subtitle, layout.left, y, subtitle_style);
	if (map->rows * map->columns > CELLS_VECTOR)
		draw_raster(&layout, map->rows * map->columns > CELLS_FINE ? 1 : 2);
	else
		draw_cells(&layout);
	draw_separators(&layout);
	draw_labels(&layout);
	draw_colour_bar(&layout);
	turned.angle = -M_PI / 2;
	if (map->row_title)
		text_draw(cr, map->row_title, EDGE + 4, (layout.top + layout.bottom) / 2, turned);
	if (map->column_title)
		text_draw(cr, map->column_title, (layout.left + layout.right) / 2, drawing->height - EDGE - 4,
			  axis_style);
}

/*
 * If the caller sets no size, chooses one for cells of 2 to 44 pixels per side: the larger the matrix, the smaller its
 * cells. A drawing has at most 8000 pixels per side.
 */
static struct drawing drawing_of(const struct heatmap *map)
{
	double cell = fmin(44, fmax(2, 700.0 / (double)(map->rows > map->columns ? map->rows : map->columns)));
	int width = map->width, height = map->height;

	if (width <= 0)
		width = (int)fmax(420, cell * (double)map->columns + 240);
	if (height <= 0)
		height = (int)fmax(260, cell * (double)map->rows + 150);
	return (struct drawing){.draw = draw_heatmap,
				.subject = map,
				.width = width < 8000 ? width : 8000,
				.height = height < 8000 ? height : 8000,
				.title = map->title,
				.description = map->unit};
}

int heatmap_save(const struct heatmap *heatmap, const char *path, struct error *err)
{
	struct drawing drawing = drawing_of(heatmap);

	return drawing_save(&drawing, path, err);
}
