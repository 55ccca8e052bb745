/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>

#include <base/name.h>
#include <plot/chart.h>

#include "chart_priv.h"

static void select_font(cairo_t *cr, struct text_style style)
{
	cairo_select_font_face(cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
			       style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
	cairo_set_font_size(cr, style.size);
}

double text_width(cairo_t *cr, const char *text, struct text_style style)
{
	cairo_text_extents_t extents;

	select_font(cr, style);
	cairo_text_extents(cr, text, &extents);
	return extents.x_advance;
}

static const cairo_user_data_key_t sink_key;

void text_sink_attach(cairo_surface_t *surface, FILE *sink)
{
	cairo_surface_set_user_data(surface, &sink_key, sink, NULL);
}

static void print_text(FILE *sink, cairo_t *cr, const char *text, double x, double y, struct text_style style)
{
	static const char *const anchors[] = {"start", "middle", "end"};
	int grey = (int)lround(255 * style.grey);

	cairo_user_to_device(cr, &x, &y);
	fprintf(sink,
		"<text transform=\"translate(%.1f,%.1f) rotate(%.0f)\" y=\"%.1f\" font-size=\"%g\" "
		"text-anchor=\"%s\"%s "
		"fill=\"#%02x%02x%02x\">",
		x, y, style.angle * 180 / M_PI, style.size * 0.36, style.size, anchors[style.place],
		style.bold ? " font-weight=\"bold\"" : "", grey, grey, grey);
	xml_print(sink, text);
	fputs("</text>\n", sink);
}

void text_draw(cairo_t *cr, const char *text, double x, double y, struct text_style style)
{
	double width = text_width(cr, text, style);
	FILE *sink = cairo_surface_get_user_data(cairo_get_target(cr), &sink_key);

	if (sink) {
		print_text(sink, cr, text, x, y, style);
		return;
	}

	cairo_save(cr);
	cairo_set_source_rgb(cr, style.grey, style.grey, style.grey);
	cairo_translate(cr, x, y);
	cairo_rotate(cr, style.angle);
	/*
	 * A digit is about 0.72 of the font's size tall, so this puts the middle of the digits, not their baseline, on
	 * the anchor.
	 */
	cairo_move_to(cr, -width * 0.5 * style.place, style.size * 0.36);
	cairo_show_text(cr, text);
	cairo_restore(cr);
}

void text_number(double value, double step, char *text, size_t bytes)
{
	double largest, divisor = 1;
	const char *suffix = "";
	int decimals;

	if (!(step > 0))
		step = fabs(value);
	largest = fmax(fabs(value), step);
	if (largest >= 1e15 || (step > 0 && step < 1e-5)) {
		snprintf(text, bytes, "%.3g", value);
		return;
	}
	if (largest >= 1e9 && step >= 1e8)
		divisor = 1e9, suffix = "G";
	else if (largest >= 1e6 && step >= 1e5)
		divisor = 1e6, suffix = "M";
	else if (largest >= 1e4 && step >= 1e3)
		divisor = 1e3, suffix = "k";
	if (fabs(value) < step * 1e-9)
		value = 0;
	decimals = step > 0 ? (int)ceil(-log10(step / divisor) - 1e-9) : 0;
	/* Steps of 2.5, 25, ... need one decimal more than their magnitude says. */
	if (step > 0 && fabs(step / divisor * pow(10, decimals) - round(step / divisor * pow(10, decimals))) > 1e-6)
		decimals++;
	if (value == 0)
		suffix = "";
	snprintf(text, bytes, "%.*f%s", decimals > 0 ? decimals : 0, value / divisor, suffix);
}

void set_rgb(cairo_t *cr, struct rgb colour, double opacity)
{
	cairo_set_source_rgba(cr, colour.r, colour.g, colour.b, opacity);
}

struct rgb palette_colour(int colour)
{
	/* Okabe & Ito 2008, without the yellow, which is lost on white. */
	static const struct rgb okabe_ito[] = {
		{0.000, 0.447, 0.698}, {0.835, 0.369, 0.000}, {0.000, 0.620, 0.451}, {0.800, 0.475, 0.655},
		{0.902, 0.624, 0.000}, {0.337, 0.706, 0.914}, {0.150, 0.150, 0.150},
	};

	if (colour < 1)
		return (struct rgb){0.45, 0.45, 0.45};
	return okabe_ito[(size_t)(colour - 1) % (sizeof okabe_ito / sizeof *okabe_ito)];
}

struct rgb palette_viridis(double at)
{
	static const struct rgb anchors[] = {
		{0.267, 0.005, 0.329}, {0.283, 0.141, 0.458}, {0.254, 0.265, 0.530}, {0.207, 0.372, 0.553},
		{0.164, 0.471, 0.558}, {0.128, 0.567, 0.551}, {0.135, 0.659, 0.518}, {0.267, 0.749, 0.441},
		{0.478, 0.821, 0.318}, {0.741, 0.873, 0.150}, {0.993, 0.906, 0.144},
	};
	const int last = (int)(sizeof anchors / sizeof *anchors) - 1;
	double position = fmin(fmax(at, 0), 1) * last, part;
	int index = (int)position < last ? (int)position : last - 1;
	const struct rgb *a = &anchors[index], *b = a + 1;

	part = position - index;
	return (struct rgb){a->r + part * (b->r - a->r), a->g + part * (b->g - a->g), a->b + part * (b->b - a->b)};
}
