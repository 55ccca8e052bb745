/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of a drawing: one drawing function gives a PNG file, an SVG file or SVG text. */
#ifndef PLOT_SURFACE_PRIV_H
#define PLOT_SURFACE_PRIV_H

#include <cairo.h>

#include <base/error.h>

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

#endif
