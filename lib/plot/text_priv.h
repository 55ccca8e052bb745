/* SPDX-License-Identifier: BSD-3-Clause */
/* Text and colours that charts and heat maps share. */
#ifndef PLOT_TEXT_PRIV_H
#define PLOT_TEXT_PRIV_H

#include <stdbool.h>

#include <stdio.h>

#include <cairo.h>

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

#endif
