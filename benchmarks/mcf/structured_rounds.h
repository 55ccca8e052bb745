/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of an operating cluster on an instance: tasks end, jobs arrive, the latencies of some jobs change; the network
 * is updated and solved, and the answer is read. Rows are computed from stored latencies (one byte per machine, in
 * steps of 10 us) in one pass per job: first the extremes of each rack, then the machines of those racks that have some
 * under the threshold.
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

/* Solves from scratch. Returns its CPU seconds, without the rows. */
double rounds_start(struct rounds *rounds, struct structured_result *result);

/* CPU seconds to compute the rows of costs, and in the solver. */
struct round_seconds {
	double rows, solver;
};

/* One round in which `turnover` units end and as many arrive; recost: share of the jobs whose latencies change. */
struct round_seconds rounds_next(struct rounds *rounds, int32_t turnover, double recost,
				 struct structured_result *result);

const struct structured *rounds_state(const struct rounds *rounds);
int64_t rounds_units(const struct rounds *rounds); /* of all present jobs */
int64_t rounds_moves(const struct rounds *rounds); /* units that changed column in the last round */

#endif
