/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's reader of the mesh, the matrix of measured round trips between the machines. A window is the set of
 * measurements of one publication of this matrix: a new CSV file, or an update of the live matrix in shared memory; a
 * row is the measurement of one pair. Private.
 */
#ifndef SCHED_SCHEDD_MESH_H
#define SCHED_SCHEDD_MESH_H

#include <sched/live/live.h>

struct mesh;

/* Returns NULL if out of memory. `path`, of the CSV file or the live matrix, is borrowed. */
struct mesh *mesh_create(const char *path, enum latency_statistic statistic);
void mesh_destroy(struct mesh *mesh); /* NULL is legal */

/*
 * Looks for a new window if it is time, and reads at most SLICE rows of a window. Returns the time at which to call it
 * again, on the clock of now_s.
 */
double mesh_work(struct mesh *mesh, struct live *live, double now_s);
/* Reads all measurements again. Call it after the live state was replaced. */
void mesh_read_again(struct mesh *mesh);

struct mesh_totals {
	uint64_t reads, errors;
	struct live_matrix_outcome last;
	double age_s; /* seconds since a window with a usable row was read; -1: none yet */
};
struct mesh_totals mesh_totals(const struct mesh *mesh);

#endif
