/* SPDX-License-Identifier: BSD-3-Clause */
/* One axis: its range, its ticks, and the conversion of a value to a pixel. Pure. */
#ifndef PLOT_AXIS_PRIV_H
#define PLOT_AXIS_PRIV_H

#include <stdbool.h>
#include <stddef.h>

enum { AXIS_TICKS_MAXIMUM = 64 };

struct tick {
	double value;
	bool labelled; /* minor ticks are not */
};

struct axis {
	bool logarithmic;
	double minimum, maximum;
	double from, to; /* pixels of minimum and maximum */
	double step;     /* between labelled ticks; 0 = logarithmic */
	size_t tick_count;
	struct tick ticks[AXIS_TICKS_MAXIMUM];
};

/* Fills the ticks for a range that is set, about one every `spacing` pixels. */
void axis_place_ticks(struct axis *axis, double spacing);

/* True if the value can be drawn. */
bool axis_accepts(const struct axis *axis, double value);
double axis_pixel(const struct axis *axis, double value);

#endif
