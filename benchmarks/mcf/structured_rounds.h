/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of an operating cluster on an instance: tasks end, jobs arrive, latencies of some jobs move, the network is
 * updated, solved, and the answer read. Rows are computed from stored latencies (one byte a machine, 10 us steps) in
 * one pass per job: racks' extremes first, machines only where a rack has some worth an arc.
 */
#ifndef STRUCTURED_ROUNDS_H
#define STRUCTURED_ROUNDS_H

#include <base/rng.h>
#include <sched/mcf/structured.h>

#include "instance.h"

struct rounds;

/* Jobs from `first_spare` on arrive later. NULL when out of memory. The instance must outlive it. */
struct rounds *rounds_create(const struct instance *instance, int32_t first_spare, uint64_t seed);
void rounds_destroy(struct rounds *rounds);

/* Solves from scratch; processor seconds of it, rows apart. */
double rounds_start(struct rounds *rounds, struct structured_result *result);

/* CPU seconds: computing the rows of costs; everything in the solver. */
struct round_seconds {
	double rows, solver;
};

/* One round with `turnover` ends and as many arrivals; recost: share of the jobs whose latencies move. */
struct round_seconds rounds_next(struct rounds *rounds, int32_t turnover, double recost,
				 struct structured_result *result);

const struct structured *rounds_state(const struct rounds *rounds);
int64_t rounds_units(const struct rounds *rounds); /* of all jobs that are there */
int64_t rounds_moves(const struct rounds *rounds); /* units that changed column in the last round */

#endif
