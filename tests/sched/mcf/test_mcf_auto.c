/* SPDX-License-Identifier: BSD-3-Clause */
/* Small networks of every family of the benchmark: all algorithms agree. Also the algorithm that `auto` chooses. */
#include <string.h>

#include <criterion/criterion.h>

#include <flow_certificate.h>
#include <sched/mcf/algorithms.h>

#include "families.h"

static const struct family *family_find(const char *name)
{
	const struct family *family = families;

	while (family->name && strcmp(family->name, name) != 0)
		family++;
	cr_assert_not_null(family->name, "no family %s", name);
	return family;
}

static struct mcf_solution solve(const char *algorithm, const struct mcf_problem *problem)
{
	struct mcf_solution solution = {0};

	mcf_solve(mcf_algorithm_find(algorithm), problem, &solution);
	flow_certificate_check(algorithm, problem, &solution);
	return solution;
}

/* Small sizes at which the networks still have all their parts. */
static int32_t small_size(const struct family *family)
{
	return family->size > 2000 ? 600 : family->size > 400 ? 60 : 20;
}

Test(mcf_auto, families_agree)
{
	static const char *const names[] = {"auto", "simplex", "scaling"};

	for (const struct family *family = families; family->name; family++) {
		for (uint64_t seed = 1; seed <= 5; seed++) {
			struct mcf_problem problem;
			int64_t cost = 0;

			cr_assert_eq(family_make(family, small_size(family), seed, &problem), 0);
			for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
				struct mcf_solution solution = solve(names[k], &problem);

				cr_assert_eq(solution.status, MCF_OPTIMAL, "%s, %s, seed %d", family->name, names[k],
					     (int)seed);
				cost = k == 0 ? solution.cost : cost;
				cr_assert_eq(solution.cost, cost, "%s, %s, seed %d", family->name, names[k], (int)seed);
				mcf_solution_free(&solution);
			}
			family_free(&problem);
		}
	}
}

/* Returns the number of the simplex's pivots, also if `auto` abandoned it. */
static uint64_t expect_choice(const char *name, int32_t size, const char *chosen)
{
	uint64_t pivots;
	struct mcf_problem problem;
	struct mcf_solution solution;

	cr_assert_eq(family_make(family_find(name), size, 1, &problem), 0);
	solution = solve("auto", &problem);
	cr_expect_str_eq(solution.statistics.algorithm, chosen, "%s: %s", name, solution.statistics.algorithm);
	cr_expect_eq(solution.statistics.aggregated_nodes, 0, "%s was aggregated", name);
	pivots = solution.statistics.pivots;
	mcf_solution_free(&solution);
	family_free(&problem);
	return pivots;
}

/*
 * Each is slow in its own way: pivots that touch many nodes, units that stay on artificial arcs, arcs that stay
 * attractive.
 */
Test(mcf_auto, scaling_where_the_simplex_is_slow)
{
	cr_expect_lt(expect_choice("long_grid", 600, "scaling"), 961, "left at the first look");
	cr_expect_lt(expect_choice("star", 10000, "scaling"), 1001, "left at the first look");
	expect_choice("square_grid", 112, "scaling");
	expect_choice("layers", 300, "scaling");
	cr_expect_eq(expect_choice("torus", 8192, "scaling"), 0, "the wide way is too long to be entered");
}

Test(mcf_auto, simplex_elsewhere)
{
	expect_choice("transport", 60, "simplex");
	expect_choice("assignment", 600, "simplex");
	expect_choice("sparse", 2048, "simplex");
	expect_choice("dense", 200, "simplex");
	expect_choice("grid", 40, "simplex");
	expect_choice("roads", 40, "simplex");
	expect_choice("goto", 2048, "simplex");
	expect_choice("layers", 100, "simplex");
	expect_choice("star", 1500, "simplex");
	expect_choice("days", 60, "simplex");
	expect_choice("square_grid", 80, "simplex");
}

/* The path that can carry all units enters the basis first: without this there are six times as many pivots. */
Test(mcf_auto, wide_way_first)
{
	struct mcf_problem problem;
	struct mcf_solution solution;

	cr_assert_eq(family_make(family_find("goto"), 2048, 1, &problem), 0);
	solution = solve("simplex", &problem);
	cr_expect_lt(solution.statistics.pivots, 40000, "%llu pivots", (unsigned long long)solution.statistics.pivots);
	mcf_solution_free(&solution);
	family_free(&problem);
}

/*
 * After a global update of all nodes, each arc needs a single push; without it the number of pushes grows
 * quadratically.
 */
Test(mcf_auto, path_once_along)
{
	struct mcf_problem problem;
	struct mcf_solution solution;

	cr_assert_eq(family_make(family_find("path"), 10000, 1, &problem), 0);
	solution = solve("scaling", &problem);
	cr_expect_leq(solution.statistics.pushes, 20000, "%llu pushes", (unsigned long long)solution.statistics.pushes);
	mcf_solution_free(&solution);
	family_free(&problem);
}

/*
 * A few nodes have nearly all arcs, sorted by cost: these are shuffled before they are priced. Otherwise there are
 * three times as many pivots, each of which moves a part of the tree as large as a job's row. `auto` detects that the
 * structured solver would take long there.
 */
Test(mcf_auto, large_jobs_mixed)
{
	struct mcf_problem problem;
	struct mcf_solution solution;

	cr_assert_eq(family_make(family_find("large_jobs"), 20000, 1, &problem), 0);
	solution = solve("simplex", &problem);
	cr_expect_lt(solution.statistics.pivots, 60000, "%llu pivots", (unsigned long long)solution.statistics.pivots);
	mcf_solution_free(&solution);
	solution = solve("auto", &problem);
	cr_expect_str_eq(solution.statistics.algorithm, "simplex", "%s", solution.statistics.algorithm);
	mcf_solution_free(&solution);
	family_free(&problem);
}

static void expect_aggregated(bool alike)
{
	enum { SOURCES = 64, SINKS = 20, ARCS = SOURCES * SINKS };
	static int32_t tail[ARCS], head[ARCS], capacity[ARCS];
	static int64_t cost[ARCS], supply[SOURCES + SINKS];
	const struct mcf_problem problem = {SOURCES + SINKS, ARCS, tail, head, NULL, capacity, cost, supply};
	struct mcf_solution solution;

	for (int32_t a = 0; a < ARCS; a++) {
		int32_t source = a / SINKS, sink = a % SINKS;

		tail[a] = source;
		head[a] = SOURCES + sink;
		capacity[a] = SOURCES;
		cost[a] = (alike ? source / 4 : source) * 7919 % 101 + sink * sink;
	}
	memset(supply, 0, sizeof supply);
	for (int32_t v = 0; v < SOURCES; v++) {
		supply[v] = 1;
		supply[SOURCES + v % SINKS]--;
	}
	solution = solve("auto", &problem);
	cr_expect_eq(solution.statistics.aggregated_nodes, alike ? SOURCES / 4 + SINKS : 0, "%d nodes",
		     solution.statistics.aggregated_nodes);
	cr_expect_eq(solution.statistics.reduce_s > 0, alike, "time was spent on it");
	mcf_solution_free(&solution);
}

/* Several sinks: nodes are aggregated only where the sources have equal arcs. */
Test(mcf_auto, aggregates_nodes_that_look_alike)
{
	expect_aggregated(true);
	expect_aggregated(false);
}

/* Networks without costs, or nearly so, and networks whose spanning tree does not fit the cache. */
Test(mcf_auto, scaling_from_the_start)
{
	enum { NODES = 100000, ARCS_A_NODE = 6, ARCS = NODES * ARCS_A_NODE };
	static int32_t tail[ARCS], head[ARCS], capacity[ARCS];
	static int64_t cost[ARCS], supply[NODES];
	struct mcf_problem problem = {NODES, ARCS, tail, head, NULL, capacity, cost, supply};
	struct mcf_solution solution;

	for (int32_t a = 0; a < ARCS; a++) {
		tail[a] = a / ARCS_A_NODE;
		head[a] = (tail[a] + 1 + a % ARCS_A_NODE * 7) % NODES;
		capacity[a] = 10;
		cost[a] = a % 1009;
	}
	supply[0] = 1;
	supply[NODES / 1000] = -1;
	cr_expect_eq(expect_choice("most_flow", 60, "scaling"), 0, "not begun with the simplex");
	solution = solve("auto", &problem);
	cr_expect_str_eq(solution.statistics.algorithm, "scaling");
	problem.node_count = 1000;
	problem.arc_count = 1000;
	for (int32_t a = 0; a < 1000; a++) {
		tail[a] = a;
		head[a] = (a + 1) % 1000;
		cost[a] = a == 500 || a == 600;
	}
	mcf_solution_free(&solution);
	solution = solve("auto", &problem);
	cr_expect_str_eq(solution.statistics.algorithm, "simplex");
	mcf_solution_free(&solution);
	cost[500] = 0;
	solution = solve("auto", &problem);
	cr_expect_str_eq(solution.statistics.algorithm, "scaling");
	mcf_solution_free(&solution);
}
