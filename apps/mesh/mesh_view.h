/* SPDX-License-Identifier: BSD-3-Clause */
/* A latency matrix put in order for looking at: hosts by rack and name, one statistic of each pair. */
#ifndef APPS_MESH_VIEW_H
#define APPS_MESH_VIEW_H

#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <model/cluster.h>
#include <model/latency_matrix.h>

#include "mesh_summary.h"

enum mesh_statistic { MESH_P50, MESH_P99, MESH_MAXIMUM, MESH_LOSS };
extern const char *const mesh_statistic_names[];

struct mesh_view {
	struct latency_matrix *matrix;
	struct cluster *cluster; /* NULL = not given: one rack "" */
	uint32_t count;
	uint32_t *hosts; /* matrix index of each place, in order */
	int64_t *racks;  /* of each place; -1 = the cluster does not know the host */
};

/* Reads both files (cluster_path and bar may be NULL). 0 or -errno with err set. */
int mesh_view_open(struct mesh_view *view, const char *matrix_path, const char *cluster_path, struct progress *bar,
		   struct error *err);
void mesh_view_close(struct mesh_view *view);

const char *mesh_view_name(const struct mesh_view *view, uint32_t place);
const char *mesh_view_rack(const struct mesh_view *view, uint32_t place);
/* NAN when the pair was not measured (or has no answer). */
double mesh_view_value(const struct mesh_view *view, uint32_t row, uint32_t column, enum mesh_statistic statistic);
double mesh_entry_value(const struct latency_entry *entry, enum mesh_statistic statistic); /* NAN: no answer */

/* mesh_draw.c. title NULL: by the statistic. */
int mesh_draw(const struct mesh_view *view, enum mesh_statistic statistic, const char *title, const char *path,
	      struct error *err);
void mesh_print_table(const struct mesh_view *view, enum mesh_statistic statistic, FILE *out);

/* mesh_json.c: nomora.mesh/1 to the file ("-" = stdout); 0 or -errno with err set. */
int mesh_write_json(const struct mesh_view *view, const char *path, struct error *err);

#endif
