/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A latency matrix as a heat map or a table: hosts by rack, one statistic of each pair. The functions do not change the
 * matrix. Different threads may draw different pictures at the same time.
 */
#ifndef FIGURES_MESH_H
#define FIGURES_MESH_H

#include <stdio.h>

#include <base/error.h>
#include <model/latency_series.h>
#include <model/latency_table.h>

/* Returns the name of the statistic with its unit, such as "RTT p50 (µs)". */
const char *figures_mesh_unit(enum latency_statistic statistic);

/*
 * Draws to the file `path`, .svg or .png, which is written whole or not at all. title NULL: a title that says what is
 * shown, round trips or loss. Returns 0, or -errno with err set.
 */
int figures_mesh_save(const struct latency_table *order, enum latency_statistic statistic, const char *title,
		      const char *path, struct error *err);

/*
 * Prints the matrix as a table of hosts by hosts, or only the worst pairs if there are more than 24 hosts; then a
 * summary of the pairs within racks and one of the pairs between racks. Returns 0, or -ENOMEM with err set.
 */
int figures_mesh_print(const struct latency_table *order, enum latency_statistic statistic, FILE *out,
		       struct error *err);

/*
 * Draws the round trips of a pair of hosts over time as a chart. The functions do not change the series. Different
 * threads may draw different pictures at the same time.
 */

/*
 * Draws to the file `path`, .svg or .png, which is written whole or not at all. Returns 0, or -errno with err set; a
 * series without points is an error.
 */
int figures_history_save(const struct latency_series *series, const char *title, const char *path, struct error *err);
/* Returns SVG text for an HTML page, which the caller frees, or NULL with err set. */
char *figures_history_svg(const struct latency_series *series, const char *title, struct error *err);

#endif
