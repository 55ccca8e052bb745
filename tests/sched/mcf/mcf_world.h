/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small networks for the solvers' tests: a network that is built step by step, and random ones with all difficult
 * cases.
 */
#ifndef TESTS_MCF_WORLD_H
#define TESTS_MCF_WORLD_H

#include <stdint.h>

#include <base/rng.h>
#include <sched/mcf/mcf.h>

enum { WORLD_NODES = 64, WORLD_ARCS = 512 };

struct world {
	struct mcf_problem problem; /* points into the arrays; set by world_problem() */
	int32_t tail[WORLD_ARCS], head[WORLD_ARCS], lower[WORLD_ARCS], capacity[WORLD_ARCS];
	int64_t cost[WORLD_ARCS], supply[WORLD_NODES];
	int32_t node_count, arc_count;
};

void world_reset(struct world *world, int32_t node_count);
void world_arc(struct world *world, int32_t tail, int32_t head, int32_t capacity, int64_t cost);
/* Adds a supply of `units` at one node and the same demand at the other. */
void world_send(struct world *world, int32_t from, int32_t to, int64_t units);
const struct mcf_problem *world_problem(struct world *world);

/*
 * Random networks; the case's number determines the kind: no nodes or few, no path, zero capacity, negative cost with
 * negative cycles, parallel arcs, loops, equal costs, lower bounds, tasks and machines (also oversubscribed), huge
 * costs.
 */
void world_random(struct world *world, struct rng *rng, int32_t number);

/* Tries all flows of a network with few arcs. Returns the minimum cost, or INT64_MAX if none is feasible. */
int64_t world_brute_force(const struct mcf_problem *problem);

/* Number of combinations that world_brute_force() would try. */
double world_brute_effort(const struct mcf_problem *problem);

#endif
