/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws the round trips of a pair of hosts over time as a chart. The functions do not change the series. Different
 * threads may draw different pictures at the same time.
 */
#ifndef FIGURES_HISTORY_H
#define FIGURES_HISTORY_H

#include <base/error.h>
#include <model/latency_series.h>

/*
 * Draws to the file `path`, .svg or .png, which is written whole or not at all. Returns 0, or -errno with err set; a
 * series without points is an error.
 */
int figures_history_save(const struct latency_series *series, const char *title, const char *path, struct error *err);
/* Returns SVG text for an HTML page, which the caller frees, or NULL with err set. */
char *figures_history_svg(const struct latency_series *series, const char *title, struct error *err);

#endif
