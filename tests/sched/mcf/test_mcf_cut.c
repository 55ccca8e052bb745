/* SPDX-License-Identifier: BSD-3-Clause */
/* The cut that proves infeasibility, recomputed from the nodes that it names. */
#include <errno.h>

#include <criterion/criterion.h>

#include <sched/mcf/algorithms.h>
#include <sched/mcf/verify.h>

#include "mcf_world.h"

static struct mcf_cut count_again(const struct mcf_problem *problem, const int64_t *potential, int64_t least)
{
	struct mcf_cut cut = {.least_potential = least};

	for (int32_t v = 0; v < problem->node_count; v++) {
		cut.nodes += potential[v] >= least;
		cut.supply += potential[v] >= least ? problem->supply[v] : 0;
	}
	for (int32_t a = 0; a < problem->arc_count; a++) {
		bool from = potential[problem->tail[a]] >= least, to = potential[problem->head[a]] >= least;

		cut.arcs += from && !to;
		cut.capacity += from && !to ? problem->capacity[a] : 0;
		cut.lower_in += !from && to && problem->lower ? problem->lower[a] : 0;
	}
	return cut;
}

static int64_t left_over(const struct mcf_cut *cut)
{
	return cut->supply + cut->lower_in - cut->capacity;
}

static void expect_cut(const struct mcf_problem *problem, const int64_t *potential, const char *label)
{
	struct mcf_cut cut, again;

	cr_assert_eq(mcf_cut_find(problem, potential, &cut), 0, "%s: no cut", label);
	again = count_again(problem, potential, cut.least_potential);
	cr_assert_gt(left_over(&again), 0, "%s: what it names is no proof", label);
	cr_assert_eq(cut.nodes, again.nodes, "%s: %d nodes, not %d", label, cut.nodes, again.nodes);
	cr_assert_eq(cut.arcs, again.arcs, "%s: %d arcs, not %d", label, cut.arcs, again.arcs);
	cr_assert_eq(cut.supply, again.supply, "%s: supply", label);
	cr_assert_eq(cut.lower_in, again.lower_in, "%s: lower bounds", label);
	cr_assert_eq(cut.capacity, again.capacity, "%s: capacity", label);
	for (int32_t v = 0; v < problem->node_count; v++) {
		struct mcf_cut other = count_again(problem, potential, potential[v]);

		cr_assert(left_over(&other) < left_over(&cut) ||
				  (left_over(&other) == left_over(&cut) && other.nodes >= cut.nodes),
			  "%s: another cut says more", label);
	}
}

Test(mcf_cut, every_proof_of_infeasibility_holds_one)
{
	enum { NETWORKS = 4000 };
	struct mcf_solution solution = {0};
	int infeasible = 0, with_lower = 0;
	struct world world;
	struct rng rng;

	rng_seed(&rng, 11);
	for (int32_t number = 0; number < NETWORKS; number++) {
		const struct mcf_problem *problem;

		world_random(&world, &rng, number);
		problem = world_problem(&world);
		for (const struct mcf_algorithm *row = mcf_algorithms; row->name; row++) {
			if (mcf_solve(row, problem, &solution) != MCF_INFEASIBLE)
				continue;
			expect_cut(problem, solution.potential, row->name);
			infeasible++;
			with_lower += problem->lower != NULL;
		}
	}
	mcf_solution_free(&solution);
	cr_expect_gt(infeasible, NETWORKS / 10);
	cr_expect_gt(with_lower, 20);
}

Test(mcf_cut, potentials_that_prove_nothing_hold_none)
{
	static const int64_t flat[3] = {5, 5, 5}, wrong[3] = {0, 1, 2};
	struct world world;
	struct mcf_cut cut;

	world_reset(&world, 3);
	world_arc(&world, 0, 1, 1, 0);
	world_arc(&world, 1, 2, 4, 0);
	world_send(&world, 0, 2, 2);
	cr_expect_eq(mcf_cut_find(world_problem(&world), flat, &cut), -EBADMSG);
	cr_expect_eq(mcf_cut_find(world_problem(&world), wrong, &cut), -EBADMSG);
}

/* Five units along a path; potentials fall from node to node, so that there is a cut at each arc. */
static struct mcf_cut cut_of_path(const int32_t capacity[3])
{
	static const int64_t potential[4] = {9, 6, 4, 0};
	struct world world;
	struct mcf_cut cut;

	world_reset(&world, 4);
	for (int32_t v = 0; v < 3; v++)
		world_arc(&world, v, v + 1, capacity[v], 0);
	world_send(&world, 0, 3, 5);
	cr_assert_eq(mcf_cut_find(world_problem(&world), potential, &cut), 0);
	return cut;
}

Test(mcf_cut, the_narrowest_place_is_named_the_first_of_equal_ones)
{
	struct mcf_cut middle = cut_of_path((int32_t[]){4, 2, 3}), first = cut_of_path((int32_t[]){2, 7, 2});

	cr_expect_eq(middle.nodes, 2);
	cr_expect_eq(middle.least_potential, 6);
	cr_expect_eq(middle.arcs, 1);
	cr_expect_eq(middle.capacity, 2);
	cr_expect_eq(middle.supply, 5);
	cr_expect_eq(first.nodes, 1);
	cr_expect_eq(first.capacity, 2);
}
