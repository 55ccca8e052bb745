/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include <plot/chart.h>

#include "chart_priv.h"

static const struct text_style title_style = {.size = 16, .bold = true, .grey = 0.1};
static const struct text_style subtitle_style = {.size = 12, .grey = 0.35};
static const struct text_style label_style = {.size = 10, .grey = 0.15, .place = TEXT_CENTRE};
static const struct text_style scale_style = {.size = 11, .grey = 0.2};

enum { MARGIN = 30, HEADER = 62, BAR = 96, BAR_WIDTH = 16, BAR_STEPS = 100 };
#define NARROW 0.8 /* line width of an idle direction, pixels; NARROW + WIDER at full load */
#define WIDER 3.2
#define HOST_RADIUS 4.0

struct place {
	double x, y;
};

static struct place place_of(const struct drawing *drawing, const struct network_picture_node *node)
{
	return (struct place){MARGIN + node->x * (drawing->width - 2 * MARGIN - BAR),
			      HEADER + node->y * (drawing->height - HEADER - MARGIN)};
}

/* Dark colours are high loads, as light lines on white look idle. */
static struct rgb load_colour(double value)
{
	return palette_viridis(0.92 * (1 - fmin(fmax(value, 0), 1)));
}

/*
 * Draws one direction of a link as a line that is shifted to the right, seen in this direction, so that the two
 * directions are side by side.
 */
static void draw_direction(cairo_t *cr, struct place from, struct place to, double value)
{
	double length = hypot(to.x - from.x, to.y - from.y), width = NARROW + WIDER * value;
	double aside = length > 0 ? (width / 2 + 0.4) / length : 0;
	double x = -(to.y - from.y) * aside, y = (to.x - from.x) * aside;

	if (value > 0)
		set_rgb(cr, load_colour(value), 1);
	else
		cairo_set_source_rgb(cr, 0.84, 0.84, 0.84);
	cairo_set_line_width(cr, width);
	cairo_move_to(cr, from.x + x, from.y + y);
	cairo_line_to(cr, to.x + x, to.y + y);
	cairo_stroke(cr);
}

static void draw_link(cairo_t *cr, const struct drawing *drawing, const struct network_picture_link *link)
{
	const struct network_picture *picture = drawing->subject;
	struct place a = place_of(drawing, &picture->nodes[link->a]), b = place_of(drawing, &picture->nodes[link->b]);
	const double dashes[] = {5, 4};

	if (!link->down) {
		draw_direction(cr, a, b, link->forwards);
		draw_direction(cr, b, a, link->backwards);
		return;
	}
	cairo_set_source_rgb(cr, 0.8, 0.1, 0.1);
	cairo_set_line_width(cr, 1.5);
	cairo_set_dash(cr, dashes, 2, 0);
	cairo_move_to(cr, a.x, a.y);
	cairo_line_to(cr, b.x, b.y);
	cairo_stroke(cr);
	cairo_set_dash(cr, NULL, 0, 0);
}

static void draw_box(cairo_t *cr, struct place at, const char *label)
{
	double width = label ? text_width(cr, label, label_style) + 10 : 14, height = 18;

	cairo_rectangle(cr, at.x - width / 2, at.y - height / 2, width, height);
	cairo_set_source_rgb(cr, 0.95, 0.96, 0.98);
	cairo_fill_preserve(cr);
	cairo_set_source_rgb(cr, 0.35, 0.4, 0.5);
	cairo_set_line_width(cr, 1);
	cairo_stroke(cr);
	if (label)
		text_draw(cr, label, at.x, at.y, label_style);
}

static void draw_node(cairo_t *cr, const struct drawing *drawing, const struct network_picture_node *node)
{
	struct place at = place_of(drawing, node);

	if (node->box) {
		draw_box(cr, at, node->label);
		return;
	}
	cairo_arc(cr, at.x, at.y, HOST_RADIUS, 0, 2 * M_PI);
	cairo_set_source_rgb(cr, 0.2, 0.2, 0.2);
	cairo_fill(cr);
	if (node->label)
		text_draw(cr, node->label, at.x, at.y + 13, label_style);
}

static void draw_bar(cairo_t *cr, const struct drawing *drawing, const char *unit)
{
	double x = drawing->width - BAR + 10, top = HEADER, height = drawing->height - HEADER - MARGIN;
	struct text_style turned = scale_style;

	for (int i = 0; i < BAR_STEPS; i++) {
		set_rgb(cr, load_colour((i + 0.5) / BAR_STEPS), 1);
		cairo_rectangle(cr, x, top + height * (BAR_STEPS - 1 - i) / BAR_STEPS, BAR_WIDTH,
				height / BAR_STEPS + 0.5);
		cairo_fill(cr);
	}
	text_draw(cr, "100 %", x + BAR_WIDTH + 6, top, scale_style);
	text_draw(cr, "50 %", x + BAR_WIDTH + 6, top + height / 2, scale_style);
	text_draw(cr, "0", x + BAR_WIDTH + 6, top + height, scale_style);
	turned.angle = -M_PI / 2;
	turned.place = TEXT_CENTRE;
	if (unit)
		text_draw(cr, unit, x + BAR_WIDTH + 52, top + height / 2, turned);
}

/* Draws the links in the order of their load, so that busy links are on top, as are links that are down. */
static void draw_links(cairo_t *cr, const struct drawing *drawing)
{
	const struct network_picture *picture = drawing->subject;
	enum { LAYERS = 10 };

	for (int layer = 0; layer < LAYERS; layer++)
		for (size_t l = 0; l < picture->link_count; l++) {
			const struct network_picture_link *link = &picture->links[l];
			int at = (int)(fmin(fmax(link->forwards, link->backwards), 1) * (LAYERS - 1));

			if ((link->down ? LAYERS - 1 : at) == layer)
				draw_link(cr, drawing, link);
		}
}

static void draw(cairo_t *cr, const struct drawing *drawing)
{
	const struct network_picture *picture = drawing->subject;

	if (picture->title)
		text_draw(cr, picture->title, MARGIN, 18, title_style);
	if (picture->subtitle)
		text_draw(cr, picture->subtitle, MARGIN, 38, subtitle_style);
	draw_links(cr, drawing);
	for (size_t n = 0; n < picture->node_count; n++)
		draw_node(cr, drawing, &picture->nodes[n]);
	draw_bar(cr, drawing, picture->unit);
}

int network_picture_save(const struct network_picture *picture, const char *path, struct error *err)
{
	struct drawing drawing = {.draw = draw,
				  .subject = picture,
				  .width = picture->width,
				  .height = picture->height,
				  .title = picture->title,
				  .description = picture->subtitle};

	return drawing_save(&drawing, path, err);
}
