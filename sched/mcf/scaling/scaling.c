/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost scaling: set-up, phases and the answer; the phase itself is in refine.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scaling_priv.h"

/*
 * A global update has RANKS_PER_NODE ranks per node, but at most BUCKETS_MOST. In the first phase the most expensive
 * arc is SCALING_ALPHA epsilons long, plus one for rounding, and a path may contain every node. With fewer ranks, nodes
 * with a long path to a deficit would get no update.
 */
enum { RANKS_PER_NODE = SCALING_ALPHA + 2, BUCKETS_MOST = 1 << 23 };
/*
 * Prices are refined below this epsilon, in units of cost. Measured: the flow is mostly optimal once epsilon is under
 * 0.5, and seldom while it is over 2.
 */
enum { REFINE_FROM = 2 };
/* A limit that no reduced cost exceeds: no arc is fixed. */
#define LIMIT_NONE INT64_MAX

static bool allocate(struct scaling *scaling)
{
	size_t nodes = (size_t)scaling->node_count + 2, arcs = (size_t)scaling->problem->arc_count + 1;

	scaling->bucket_count = scaling->node_count < BUCKETS_MOST / RANKS_PER_NODE
					? (scaling->node_count + 1) * RANKS_PER_NODE
					: BUCKETS_MOST;
	scaling->first = calloc(nodes, sizeof *scaling->first);
	scaling->arcs = malloc(2 * arcs * sizeof *scaling->arcs);
	scaling->reverse = malloc(2 * arcs * sizeof *scaling->reverse);
	scaling->origin = malloc(2 * arcs * sizeof *scaling->origin);
	scaling->whole = malloc(2 * arcs * sizeof *scaling->whole);
	scaling->end = malloc(nodes * sizeof *scaling->end);
	scaling->price = calloc(nodes, sizeof *scaling->price);
	scaling->trial_price = malloc(nodes * sizeof *scaling->trial_price);
	scaling->parent = malloc(nodes * sizeof *scaling->parent);
	scaling->parent_tail = malloc(nodes * sizeof *scaling->parent_tail);
	scaling->excess = malloc(nodes * sizeof *scaling->excess);
	scaling->next = malloc(nodes * sizeof *scaling->next);
	scaling->queue = malloc(nodes * sizeof *scaling->queue);
	scaling->queued = malloc(nodes * sizeof *scaling->queued);
	scaling->rank = malloc(nodes * sizeof *scaling->rank);
	scaling->bucket_next = malloc(nodes * sizeof *scaling->bucket_next);
	scaling->bucket_before = malloc(nodes * sizeof *scaling->bucket_before);
	scaling->bucket = malloc((size_t)scaling->bucket_count * sizeof *scaling->bucket);
	scaling->buckets_used = scaling->bucket_count;
	return scaling->first && scaling->arcs && scaling->reverse && scaling->origin && scaling->whole &&
	       scaling->end && scaling->price && scaling->trial_price && scaling->parent && scaling->parent_tail &&
	       scaling->excess && scaling->next && scaling->queue && scaling->queued && scaling->rank &&
	       scaling->bucket_next && scaling->bucket_before && scaling->bucket;
}

static void release(struct scaling *scaling)
{
	free(scaling->first);
	free(scaling->arcs);
	free(scaling->reverse);
	free(scaling->origin);
	free(scaling->whole);
	free(scaling->end);
	free(scaling->price);
	free(scaling->trial_price);
	free(scaling->parent);
	free(scaling->parent_tail);
	free(scaling->excess);
	free(scaling->next);
	free(scaling->queue);
	free(scaling->queued);
	free(scaling->rank);
	free(scaling->bucket_next);
	free(scaling->bucket_before);
	free(scaling->bucket);
}

/* Builds the residual arcs, in both directions and sorted by tail. Loops are left out. */
static void build(struct scaling *scaling)
{
	const struct mcf_problem *problem = scaling->problem;
	int64_t scale = (int64_t)problem->node_count + 1;
	int32_t *at = scaling->next;

	for (int32_t a = 0; a < problem->arc_count; a++) {
		if (problem->tail[a] == problem->head[a])
			continue;
		scaling->first[problem->tail[a] + 1]++;
		scaling->first[problem->head[a] + 1]++;
	}
	for (int32_t v = 0; v < problem->node_count; v++)
		scaling->first[v + 1] += scaling->first[v];
	memcpy(at, scaling->first, (size_t)problem->node_count * sizeof *at);
	for (int32_t a = 0; a < problem->arc_count; a++) {
		int32_t tail = problem->tail[a], head = problem->head[a], there, back;
		int64_t cost = problem->cost[a] * scale;

		if (tail == head)
			continue;
		there = at[tail]++;
		back = at[head]++;
		scaling->arcs[there] = (struct residual){head, problem->capacity[a], cost};
		scaling->arcs[back] = (struct residual){tail, 0, -cost};
		scaling->reverse[there] = back;
		scaling->reverse[back] = there;
		scaling->whole[there] = scaling->whole[back] = problem->capacity[a];
		scaling->origin[there] = a;
		scaling->origin[back] = -1;
		cost = cost < 0 ? -cost : cost;
		scaling->largest_cost = cost > scaling->largest_cost ? cost : scaling->largest_cost;
	}
	memcpy(scaling->excess, problem->supply, (size_t)problem->node_count * sizeof *scaling->excess);
}

/*
 * Computes the potentials in the caller's units. No residual arc has a scaled reduced cost under -1. So rounding price
 * / (n + 1) down keeps reduced costs at 0 or more, unless the price of the arc's tail is -1 modulo n + 1. There are n
 * prices, fewer than residues modulo n + 1, so some residue belongs to no price. All prices are shifted so that this
 * residue becomes -1.
 */
static void export_potentials(const struct scaling *scaling, int64_t *potential)
{
	int64_t scale = (int64_t)scaling->node_count + 1, shift = 0;
	int32_t *used = scaling->rank; /* the residues modulo n + 1 that prices have */

	memset(used, 0, (size_t)scale * sizeof *used);
	for (int32_t v = 0; v < scaling->node_count; v++)
		used[(scaling->price[v] % scale + scale) % scale] = 1;
	while (used[shift])
		shift++;
	shift = scale - 1 - shift;
	for (int32_t v = 0; v < scaling->node_count; v++) {
		int64_t price = scaling->price[v] + shift, rest = (price % scale + scale) % scale;

		potential[v] = (price - rest) / scale;
	}
}

static void export_flow(const struct scaling *scaling, int32_t *flow)
{
	const struct mcf_problem *problem = scaling->problem;

	for (int32_t a = 0; a < problem->arc_count; a++) {
		if (problem->tail[a] == problem->head[a])
			flow[a] = problem->cost[a] < 0 ? problem->capacity[a] : 0;
	}
	for (int32_t i = 0; i < scaling->first[problem->node_count]; i++) {
		if (scaling->origin[i] >= 0)
			flow[scaling->origin[i]] = problem->capacity[scaling->origin[i]] - scaling->arcs[i].residual;
	}
}

static enum mcf_status finish(struct scaling *scaling, struct mcf_solution *solution)
{
	solution->statistics.pushes = scaling->pushes;
	solution->statistics.relabels = scaling->relabels;
	solution->statistics.phases = scaling->phases;
	if (scaling->out_of_range)
		return MCF_COST_RANGE;
	if (scaling->infeasible) {
		/* The nodes with rank 1 are the cut: more units start there than its outgoing arcs can carry away. */
		for (int32_t v = 0; v < scaling->node_count; v++)
			solution->potential[v] = scaling->rank[v];
		return MCF_INFEASIBLE;
	}
	export_flow(scaling, solution->flow);
	export_potentials(scaling, solution->potential);
	return MCF_OPTIMAL;
}

/*
 * Returns the limit beyond which a reduced cost fixes an arc: a multiple of Goldberg's n^0.44 epsilons. Measured: with
 * a factor of 3, needed arcs are often fixed, and phases must go on with all arcs; a factor of 100 fixes few arcs; 30,
 * in between, is the fastest.
 */
static int64_t far_from_zero(const struct scaling *scaling)
{
	double limit = 30 * pow((double)scaling->node_count + 1, 0.44) * (double)scaling->epsilon;

	return limit < (double)LIMIT_NONE ? (int64_t)limit : LIMIT_NONE;
}

static void run_phases(struct scaling *scaling)
{
	scaling->epsilon = scaling->largest_cost;
	do {
		int64_t scans = scaling->scans;

		scaling->epsilon = scaling->epsilon > SCALING_ALPHA ? scaling->epsilon / SCALING_ALPHA : 1;
		scaling_begin_phase(scaling, far_from_zero(scaling));
		scaling_refine(scaling);
		if (scaling->infeasible || scaling->out_of_range)
			return;
		if (scaling->epsilon > 1 && scaling->epsilon / REFINE_FROM <= scaling->node_count &&
		    scaling_refine_prices(scaling, scaling->scans - scans))
			return;
	} while (scaling->epsilon > 1);
	if (scaling_is_optimal(scaling))
		return;
	scaling_begin_phase(scaling, LIMIT_NONE);
	scaling_refine(scaling);
}

enum mcf_status mcf_scaling_algorithm(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	struct scaling scaling = {.problem = problem, .node_count = problem->node_count, .watcher = solution->watcher};
	enum mcf_status status = MCF_NO_MEMORY;

	if (problem->arc_count > INT32_MAX / 2 - 1) /* residual arcs are numbered in 32 bits */
		return MCF_NO_MEMORY;
	if (allocate(&scaling)) {
		build(&scaling);
		run_phases(&scaling);
		status = finish(&scaling, solution);
	}
	release(&scaling);
	return status;
}
