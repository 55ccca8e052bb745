/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's reader of the mesh: see mesh.c. Private. */
#ifndef SCHED_SCHEDD_MESH_H
#define SCHED_SCHEDD_MESH_H

#include <sched/live/live.h>

struct mesh;

/* NULL: out of memory. The path is borrowed. */
struct mesh *mesh_create(const char *path, enum latency_statistic statistic);
void mesh_destroy(struct mesh *mesh); /* NULL is legal */

/* Does at most one slice of the work. Returns the time of the next call. */
double mesh_work(struct mesh *mesh, struct live *live, double now_s);
/* Reads all measurements again. Call it after the live state was replaced. */
void mesh_read_again(struct mesh *mesh);

struct mesh_totals {
	uint64_t reads, errors;
	struct live_matrix_outcome last;
	double age_s; /* since a window with a usable row was read; -1: none yet */
};
struct mesh_totals mesh_totals(const struct mesh *mesh);

#endif
