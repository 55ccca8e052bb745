/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by all algorithms: checks of the problem, arcs by tail, memory of the answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/ns.h>

#include "mcf_priv.h"

const char *mcf_status_name(enum mcf_status status)
{
	static const char *const names[] = {"optimal",     "infeasible", "unbalanced", "cost_range",
					    "bad_problem", "unsuited",   "no_memory",  "stalled"};

	return (size_t)status < sizeof names / sizeof *names ? names[status] : "unknown";
}

enum mcf_status mcf_solution_reserve(struct mcf_solution *solution, int32_t node_count, int32_t arc_count)
{
	size_t nodes = (size_t)node_count + 1, arcs = (size_t)arc_count + 1;

	int32_t *flow = array_reserve(solution->flow, arcs, &solution->flow_room, sizeof *flow);
	int64_t *potential = array_reserve(solution->potential, nodes, &solution->potential_room, sizeof *potential);

	if (flow)
		solution->flow = flow;
	if (potential)
		solution->potential = potential;
	return flow && potential ? MCF_OPTIMAL : MCF_NO_MEMORY;
}

void mcf_solution_free(struct mcf_solution *solution)
{
	free(solution->flow);
	free(solution->potential);
	*solution = (struct mcf_solution){0};
}

static enum mcf_status check_arcs(const struct mcf_problem *problem, int64_t *largest)
{
	uint32_t nodes = (uint32_t)problem->node_count;
	int64_t low = 0, high = 0;

	for (int32_t a = 0; a < problem->arc_count; a++) {
		if ((uint32_t)problem->tail[a] >= nodes || (uint32_t)problem->head[a] >= nodes)
			return MCF_BAD_PROBLEM;
		if (problem->capacity[a] < 0)
			return MCF_BAD_PROBLEM;
		if (problem->lower && (problem->lower[a] < 0 || problem->lower[a] > problem->capacity[a]))
			return MCF_BAD_PROBLEM;
		low = problem->cost[a] < low ? problem->cost[a] : low;
		high = problem->cost[a] > high ? problem->cost[a] : high;
	}
	*largest = low < -MCF_COST_LIMIT || high > MCF_COST_LIMIT ? MCF_COST_LIMIT : high > -low ? high : -low;
	return MCF_OPTIMAL;
}

enum mcf_status mcf_problem_check(const struct mcf_problem *problem)
{
	enum mcf_status status;
	int64_t largest;
	mcf_wide sum = 0, total = 0;

	if (problem->node_count < 0 || problem->arc_count < 0)
		return MCF_BAD_PROBLEM;
	status = check_arcs(problem, &largest);
	if (status != MCF_OPTIMAL)
		return status;
	for (int32_t v = 0; v < problem->node_count; v++) {
		sum += problem->supply[v];
		total += problem->supply[v] < 0 ? -(mcf_wide)problem->supply[v] : problem->supply[v];
	}
	if (sum != 0)
		return MCF_UNBALANCED;
	if (total > INT64_C(1) << 62)
		return MCF_COST_RANGE;
	return ((mcf_wide)problem->node_count + 1) * ((mcf_wide)largest + 1) <= MCF_COST_LIMIT ? MCF_OPTIMAL
											       : MCF_COST_RANGE;
}

bool mcf_total_cost(const struct mcf_problem *problem, const int32_t *flow, int64_t *cost)
{
	mcf_wide total = 0;

	for (int32_t a = 0; a < problem->arc_count; a++)
		total += (mcf_wide)problem->cost[a] * flow[a];
	*cost = (int64_t)total;
	return total == *cost;
}

bool mcf_arcs_by_tail(const struct mcf_problem *problem, int32_t **first, int32_t **out, int32_t **arcs_in)
{
	size_t nodes = (size_t)problem->node_count, arcs = (size_t)problem->arc_count;
	int32_t *at = malloc((nodes + 1) * sizeof *at);

	*first = calloc(nodes + 2, sizeof **first);
	*arcs_in = calloc(nodes + 1, sizeof **arcs_in);
	/*
	 * One item more than there are arcs: callers may read (*out)[(*first)[v]] before they check that v has an arc,
	 * also if v is the last node.
	 */
	*out = calloc(arcs + 1, sizeof **out);
	if (!*first || !*arcs_in || !*out || !at) {
		free(at);
		return false;
	}
	for (size_t a = 0; a < arcs; a++) {
		(*first)[problem->tail[a] + 1]++;
		(*arcs_in)[problem->head[a]]++;
	}
	for (size_t v = 0; v < nodes; v++)
		(*first)[v + 1] += (*first)[v];
	memcpy(at, *first, nodes * sizeof *at);
	for (size_t a = 0; a < arcs; a++)
		(*out)[at[problem->tail[a]]++] = (int32_t)a;
	free(at);
	return true;
}

/*
 * Solves a problem with lower bounds by an algorithm for problems without them: substitutes flow = lower + shifted
 * flow, solves for the shifted flow, then adds the lower bounds to it. The potentials of the shifted problem are also a
 * proof for the original one.
 */
static enum mcf_status solve_shifted(const struct mcf_algorithm *algorithm, const struct mcf_problem *problem,
				     struct mcf_solution *solution)
{
	struct mcf_problem shifted = *problem;
	size_t arcs = (size_t)problem->arc_count + 1, nodes = (size_t)problem->node_count + 1;
	int32_t *capacity = malloc(arcs * sizeof *capacity);
	int64_t *supply = malloc(nodes * sizeof *supply);
	enum mcf_status status = MCF_NO_MEMORY;

	if (!capacity || !supply)
		goto out;
	memcpy(supply, problem->supply, (nodes - 1) * sizeof *supply);
	for (int32_t a = 0; a < problem->arc_count; a++) {
		capacity[a] = problem->capacity[a] - problem->lower[a];
		supply[problem->tail[a]] -= problem->lower[a];
		supply[problem->head[a]] += problem->lower[a];
	}
	shifted.lower = NULL;
	shifted.capacity = capacity;
	shifted.supply = supply;
	status = mcf_problem_check(&shifted);
	if (status == MCF_OPTIMAL)
		status = algorithm->solve(&shifted, solution);
	for (int32_t a = 0; a < problem->arc_count && status == MCF_OPTIMAL; a++)
		solution->flow[a] += problem->lower[a];
out:
	free(capacity);
	free(supply);
	return status;
}

static bool has_lower(const struct mcf_problem *problem)
{
	for (int32_t a = 0; problem->lower && a < problem->arc_count; a++) {
		if (problem->lower[a] > 0)
			return true;
	}
	return false;
}

static enum mcf_status solve_checked(const struct mcf_algorithm *algorithm, const struct mcf_problem *problem,
				     struct mcf_solution *solution)
{
	struct mcf_problem plain = *problem;

	if (has_lower(problem))
		return solve_shifted(algorithm, problem, solution);
	plain.lower = NULL;
	return algorithm->solve(&plain, solution);
}

enum mcf_status mcf_solve(const struct mcf_algorithm *algorithm, const struct mcf_problem *problem,
			  struct mcf_solution *solution)
{
	struct ns start = ns_now_monotonic();

	solution->statistics = (struct mcf_statistics){.algorithm = algorithm->name};
	solution->cost = 0;
	solution->status = mcf_problem_check(problem);
	if (solution->status == MCF_OPTIMAL)
		solution->status = mcf_solution_reserve(solution, problem->node_count, problem->arc_count);
	if (solution->status == MCF_OPTIMAL)
		solution->status = solve_checked(algorithm, problem, solution);
	if (solution->status == MCF_OPTIMAL && !mcf_total_cost(problem, solution->flow, &solution->cost))
		solution->status = MCF_COST_RANGE;
	solution->statistics.solve_s = ns_to_s(ns_sub(ns_now_monotonic(), start));
	return solution->status;
}
