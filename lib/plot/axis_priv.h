/* SPDX-License-Identifier: BSD-3-Clause */
/* One axis: its range, its ticks, and the conversion of a value to a pixel. Pure. */
#ifndef PLOT_AXIS_PRIV_H
#define PLOT_AXIS_PRIV_H

#include <stdbool.h>
#include <stddef.h>

enum { AXIS_TICKS_MAXIMUM = 64 };

struct tick {
	double value;
	bool labelled; /* the tick has a label; minor ticks have none */
};

struct axis {
	bool logarithmic;
	double minimum, maximum;
	double from, to; /* positions of the minimum and of the maximum, pixels */
	double step;     /* distance between labelled ticks, in values; 0 = logarithmic */
	size_t tick_count;
	struct tick ticks[AXIS_TICKS_MAXIMUM];
};

/* Places ticks on an axis whose range is set, about one label every `spacing` pixels. */
void axis_place_ticks(struct axis *axis, double spacing);

/* Returns true if the value is finite and, on a logarithmic axis, above 0. */
bool axis_accepts(const struct axis *axis, double value);
double axis_pixel(const struct axis *axis, double value);

#endif
