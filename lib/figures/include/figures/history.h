/* SPDX-License-Identifier: BSD-3-Clause */
/* A pair's round trips in time as a chart. Read only; one thread per picture. */
#ifndef FIGURES_HISTORY_H
#define FIGURES_HISTORY_H

#include <base/error.h>
#include <model/latency_series.h>

/* Draws to `path`, .svg or .png, whole or not at all. 0 or -errno with err set, also if there are no points. */
int figures_history_save(const struct latency_series *series, const char *title, const char *path, struct error *err);
/* SVG text for a page, which the caller frees; NULL with err set. */
char *figures_history_svg(const struct latency_series *series, const char *title, struct error *err);

#endif
