/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Curves as a chart: measured levels with the deviation of one run, the fitted curve, its 95 % band, the threshold with
 * its interval, and the baseline at 1. One curve is drawn with all of these; of several, each has its own colour.
 * The curves stay the caller's and are read only; one thread per chart.
 */
#ifndef FIGURES_CURVES_H
#define FIGURES_CURVES_H

#include <stddef.h>

#include <base/error.h>
#include <model/curve.h>
#include <plot/chart.h>

/* The chart, for chart_save() or chart_to_svg(); free with chart_destroy(). NULL with err set (out of memory). */
struct chart *figures_curves_chart(const struct curve *const *curves, size_t count, struct error *err);

/* Draws the chart to `path`, .svg or .png, whole or not at all. 0 or -errno with err set. */
int figures_curves_save(const struct curve *const *curves, size_t count, const char *path, struct error *err);

#endif
