/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Curves as a chart: measured levels with the deviation of one run, the fitted curve, its 95 % band, the threshold with
 * its interval, and the baseline at 1. A single curve is drawn with all of these; several curves have a colour each.
 * The curves are borrowed and only read; one thread per chart.
 */
#ifndef FIGURES_CURVES_H
#define FIGURES_CURVES_H

#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>
#include <model/curve.h>
#include <plot/chart.h>

struct figures_curves {
	const struct curve *const *curves;
	size_t count;              /* at least 1 */
	const char *const *labels; /* of the legend; NULL = the curves' applications */
	bool one_sweep;            /* the curves were fitted to the same levels: drawn once */
	bool log_x;                /* logarithmic x axis; 0 is not on it */
	bool zoom_y;               /* y axis around the data, not from 0 */
};

/* The chart, for chart_save() or chart_to_svg(); free with chart_destroy(). NULL with err set (out of memory). */
struct chart *figures_curves_chart(const struct figures_curves *figure, struct error *err);

/* Draws the chart to `path`, .svg or .png, whole or not at all. 0 or -errno with err set. */
int figures_curves_save(const struct figures_curves *figure, const char *path, struct error *err);

#endif
