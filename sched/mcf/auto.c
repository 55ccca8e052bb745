/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms that aggregate the network first. `structured` uses the structured solver, or refuses if the network
 * does not have its shape. `auto` uses the algorithm that is expected to be the fastest:
 * - the structured solver, if aggregation is worthwhile and shape_solve_quick() does not refuse the network
 * - otherwise cost scaling, if the network suits it (suits_scaling())
 * - otherwise the simplex or, if that turns out to be slow, cost scaling
 * The last two solve the aggregated network if aggregation makes the network smaller.
 */
#include <sched/mcf/algorithms.h>

#include <string.h>

#include <base/ns.h>
#include <sched/mcf/scaling.h>
#include <sched/mcf/simplex.h>

#include "reduce_priv.h"

typedef enum mcf_status (*small_solver)(const struct mcf_problem *problem, struct mcf_solution *solution);

/*
 * From MANY_NODES on, the spanning tree of the simplex does not fit into the cache, and a pivot visits much of the
 * tree. Measured on grids with 4 arcs per node and random arcs with 8: at 60,000 nodes cost scaling and the simplex are
 * equally fast; at 100,000 to 160,000 nodes cost scaling is 1.5 to 4 times as fast. On roads, with 3 arcs per node,
 * both are equally fast at 250,000 nodes. On circulations with few negative arcs cost scaling takes twice as long. Many
 * arcs per node (more than ARCS_MOST), as in scheduling networks, keep the tree flat, so that the simplex remains
 * faster.
 */
enum { MANY_NODES = 100000, ARCS_LEAST = 4, ARCS_MOST = 15 };
/*
 * A network counts as free of costs if at most 1 of FREE_ARCS arcs has a cost. It is then a maximum flow problem, with
 * a few arcs that reward flow.
 */
enum { FREE_ARCS = 1000 };

/*
 * If there are no costs, any feasible flow is optimal. Measured: scaling finds one in a quarter of the simplex's time.
 */
static bool is_free(const struct mcf_problem *problem)
{
	int32_t most = problem->arc_count / FREE_ARCS;

	for (int32_t a = 0; a < problem->arc_count && most >= 0; a++)
		most -= problem->cost[a] != 0;
	return most >= 0;
}

static bool is_circulation(const struct mcf_problem *problem)
{
	for (int32_t v = 0; v < problem->node_count; v++) {
		if (problem->supply[v] != 0)
			return false;
	}
	return true;
}

static bool suits_scaling(const struct mcf_problem *problem)
{
	int32_t arcs_a_node = problem->node_count > 0 ? problem->arc_count / problem->node_count : 0;
	bool large = problem->node_count >= MANY_NODES && arcs_a_node >= ARCS_LEAST && arcs_a_node <= ARCS_MOST;

	return (large && !is_circulation(problem)) || is_free(problem);
}

static enum mcf_status solve_general(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	enum mcf_status status = MCF_UNSUITED;

	if (!suits_scaling(problem)) {
		solution->statistics.algorithm = "simplex";
		status = mcf_simplex_unless_slow(problem, solution);
	}
	if (status != MCF_UNSUITED)
		return status;
	solution->statistics.algorithm = "scaling";
	status = mcf_scaling_algorithm(problem, solution);
	if (status == MCF_OPTIMAL || status == MCF_INFEASIBLE)
		return status;
	solution->statistics.algorithm = "simplex";
	return mcf_simplex_algorithm(problem, solution);
}

/* Solves the aggregated network with `solve` and expands the answer to the original network. */
static enum mcf_status solve_aggregated(const struct aggregation *aggregation, small_solver solve,
					struct mcf_solution *solution)
{
	const struct mcf_problem *small = &aggregation->small;
	struct mcf_solution answer = {.statistics = solution->statistics, .watcher = solution->watcher};
	enum mcf_status status = mcf_problem_check(small);

	/* The summed costs of contracted arcs may exceed the range; the caller then solves the original network. */
	if (status == MCF_OPTIMAL)
		status = mcf_solution_reserve(&answer, small->node_count, small->arc_count);
	if (status == MCF_OPTIMAL)
		answer.status = status = solve(small, &answer);
	if (status == MCF_OPTIMAL || status == MCF_INFEASIBLE) {
		struct ns start = ns_now_monotonic();

		status = aggregation_expand(aggregation, &answer, solution);
		answer.statistics.reduce_s += ns_to_s(ns_sub(ns_now_monotonic(), start));
	}
	solution->statistics = answer.statistics;
	mcf_solution_free(&answer);
	return status;
}

static struct aggregation *aggregation_timed(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	struct ns start = ns_now_monotonic();
	struct aggregation *aggregation = aggregation_create(problem);

	solution->statistics.reduce_s = ns_to_s(ns_sub(ns_now_monotonic(), start));
	if (aggregation && aggregation->small.arc_count < problem->arc_count) {
		solution->statistics.aggregated_nodes = aggregation->small.node_count;
		solution->statistics.aggregated_arcs = aggregation->small.arc_count;
	}
	return aggregation;
}

static enum mcf_status structured_algorithm(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	struct aggregation *aggregation = aggregation_timed(problem, solution);
	enum mcf_status status = aggregation ? solve_aggregated(aggregation, shape_solve, solution) : MCF_NO_MEMORY;

	aggregation_destroy(aggregation);
	return status;
}

static enum mcf_status auto_algorithm(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	struct aggregation *aggregation;
	enum mcf_status status;

	if (!aggregation_is_worthwhile(problem))
		return solve_general(problem, solution);
	aggregation = aggregation_timed(problem, solution);
	if (!aggregation)
		return MCF_NO_MEMORY;
	solution->statistics.algorithm = "structured";
	status = solve_aggregated(aggregation, shape_solve_quick, solution);
	if ((status == MCF_UNSUITED || status == MCF_COST_RANGE) && solution->statistics.aggregated_arcs > 0)
		status = solve_aggregated(aggregation, solve_general, solution);
	aggregation_destroy(aggregation);
	if (status == MCF_UNSUITED || status == MCF_COST_RANGE) {
		solution->statistics.aggregated_nodes = solution->statistics.aggregated_arcs = 0;
		status = solve_general(problem, solution);
	}
	return status;
}

const struct mcf_algorithm mcf_algorithms[] = {
	{"auto", "aggregates similar nodes, then uses the fastest algorithm for the network", auto_algorithm},
	{"simplex", "network simplex: any network", mcf_simplex_algorithm},
	{"scaling", "cost scaling (push-relabel with a falling tolerance): any network", mcf_scaling_algorithm},
	{"structured", "aggregates similar nodes, then uses the solver for scheduling networks", structured_algorithm},
	{NULL, NULL, NULL},
};

const struct mcf_algorithm *mcf_algorithm_find(const char *name)
{
	for (const struct mcf_algorithm *row = mcf_algorithms; row->name; row++) {
		if (strcmp(row->name, name) == 0)
			return row;
	}
	return NULL;
}
