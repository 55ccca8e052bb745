/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms that collapse first: `structured` (recognise the shape or refuse) and `auto` (whatever is fastest:
 * the structured solver where the network has its shape, else the simplex, on the small network where there is one; and
 * the cost scaling where that suits it better from the start or the simplex turns out to be slow).
 */
#include <base/ns.h>
#include <sched/mcf/scaling.h>
#include <sched/mcf/simplex.h>

#include "auto_priv.h"
#include "collapse_priv.h"
#include "recognise_priv.h"

typedef enum mcf_status (*small_solver)(const struct mcf_problem *problem, struct mcf_solution *solution);

/*
 * Many nodes: the tree leaves the cache, and a pivot goes through much of it. Measured at 100,000 to 160,000 nodes, 4
 * arcs a node on grids, 8 on random arcs: the scaling is 1.5 to 4 times as fast; at 60,000 they are alike. On roads, of
 * 3 arcs a node, they are alike at 250,000, and on circulations with rare negative arcs the scaling takes twice as
 * long. Many arcs a node, as in scheduling networks, keep the tree flat.
 */
enum { MANY_NODES = 100000, ARCS_LEAST = 4, ARCS_MOST = 15 };
/* One arc in so many may cost something for the network to count as free: maximum flow, with arcs that pay for it. */
enum { FREE_ARCS = 1000 };

/* Without costs any flow will do: measured, the scaling finds one in a quarter of the simplex's time. */
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

/* Solves the small network with `solve` and expands the answer. */
static enum mcf_status solve_collapsed(const struct collapse *collapse, small_solver solve,
				       struct mcf_solution *solution)
{
	const struct mcf_problem *small = &collapse->small;
	struct mcf_solution answer = {.statistics = solution->statistics, .watcher = solution->watcher};
	enum mcf_status status = mcf_problem_check(small);

	/* Summed costs of contracted arcs may leave the range; the caller then does without. */
	if (status == MCF_OPTIMAL)
		status = mcf_solution_reserve(&answer, small->node_count, small->arc_count);
	if (status == MCF_OPTIMAL)
		answer.status = status = solve(small, &answer);
	if (status == MCF_OPTIMAL || status == MCF_INFEASIBLE) {
		struct ns start = ns_now_monotonic();

		status = collapse_expand(collapse, &answer, solution);
		answer.statistics.reduce_s += ns_to_s(ns_sub(ns_now_monotonic(), start));
	}
	solution->statistics = answer.statistics;
	mcf_solution_free(&answer);
	return status;
}

static struct collapse *collapse_timed(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	struct ns start = ns_now_monotonic();
	struct collapse *collapse = collapse_create(problem);

	solution->statistics.reduce_s = ns_to_s(ns_sub(ns_now_monotonic(), start));
	if (collapse && collapse->small.arc_count < problem->arc_count) {
		solution->statistics.collapsed_nodes = collapse->small.node_count;
		solution->statistics.collapsed_arcs = collapse->small.arc_count;
	}
	return collapse;
}

enum mcf_status mcf_structured_algorithm(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	struct collapse *collapse = collapse_timed(problem, solution);
	enum mcf_status status = collapse ? solve_collapsed(collapse, recognise_solve, solution) : MCF_NO_MEMORY;

	collapse_destroy(collapse);
	return status;
}

enum mcf_status mcf_auto_algorithm(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	struct collapse *collapse;
	enum mcf_status status;

	if (!collapse_is_worthwhile(problem))
		return solve_general(problem, solution);
	collapse = collapse_timed(problem, solution);
	if (!collapse)
		return MCF_NO_MEMORY;
	solution->statistics.algorithm = "structured";
	status = solve_collapsed(collapse, recognise_solve_quick, solution);
	if ((status == MCF_UNSUITED || status == MCF_COST_RANGE) && solution->statistics.collapsed_arcs > 0)
		status = solve_collapsed(collapse, solve_general, solution);
	collapse_destroy(collapse);
	if (status == MCF_UNSUITED || status == MCF_COST_RANGE) {
		solution->statistics.collapsed_nodes = solution->statistics.collapsed_arcs = 0;
		status = solve_general(problem, solution);
	}
	return status;
}
