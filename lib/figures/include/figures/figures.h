/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of curves, round-trip matrices, histories and networks. */
#ifndef FIGURES_FIGURES_H
#define FIGURES_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <base/error.h>
#include <model/curve.h>
#include <model/latency_table.h>
#include <model/topology.h>
#include <plot/chart.h>

/*
 * Draws curves as a chart: measured levels with the deviation of one run, the fitted curve, its 95 % band, the
 * threshold with its interval, and the baseline at 1. A single curve is drawn with all of these; several curves have a
 * colour each. The line of a predicted curve is dashed, and its label says so. The curves are borrowed and not changed.
 * Different threads may draw different charts at the same time.
 */

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

/*
 * A latency matrix as a heat map or a table: hosts by rack, one statistic of each pair. The functions do not change the
 * matrix. Different threads may draw different pictures at the same time.
 */

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

/*
 * Draws a network of switches and hosts with the load of its links. Switches are drawn in rows by their distance from
 * the hosts (Fat-tree, leaf-spine), or on a circle if every switch has hosts (Jellyfish). The function does not change
 * the topology. Different threads may draw different pictures at the same time.
 */

/*
 * Draws to the file `path`, .svg or .png, which is written whole or not at all. Link l connects its ends a and b;
 * MBps[2 * l] is its load from a to b, and MBps[2 * l + 1] its load from b to a. Returns 0, or -errno with err set.
 */
int figures_topology_save(const struct topology *topology, const double *MBps, const char *title, const char *path,
			  struct error *err);

#endif
