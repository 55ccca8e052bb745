/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws curves as a chart: measured levels with the deviation of one run, the fitted curve, its 95 % band, the
 * threshold with its interval, and the baseline at 1. A single curve is drawn with all of these; several curves have a
 * colour each. The line of a predicted curve is dashed, and its label says so. The curves are borrowed and not changed.
 * Different threads may draw different charts at the same time.
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
	const char *const *labels; /* names of the curves in the legend; NULL = the names of their applications */
	bool one_sweep;            /* the curves were fitted to the same levels, which are then drawn only once */
	bool log_x;                /* logarithmic x axis; 0 is not on it */
	bool zoom_y;               /* y axis around the data, not from 0 */
};

/*
 * Returns the chart, for chart_save() or chart_to_svg(), or NULL with err set if out of memory. Free it with
 * chart_destroy().
 */
struct chart *figures_curves_chart(const struct figures_curves *figure, struct error *err);

/*
 * Draws the chart to the file `path`, .svg or .png, which is written whole or not at all. Returns 0, or -errno with err
 * set.
 */
int figures_curves_save(const struct figures_curves *figure, const char *path, struct error *err);

#endif
