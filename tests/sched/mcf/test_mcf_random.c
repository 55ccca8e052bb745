/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 12,000 random networks, each solved by every algorithm: equal costs, valid certificates; small ones also by brute
 * force.
 */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include <sched/mcf/algorithms.h>

#include "flow_certificate.h"
#include "mcf_world.h"

enum { NETWORKS = 12000 };

struct tally {
	int32_t optimal, infeasible, brute, structured, aggregated;
};

static void solve_by_all(struct world *world, int32_t number, struct mcf_solution *solution, struct tally *tally)
{
	const struct mcf_problem *problem = world_problem(world);
	enum mcf_status status = MCF_UNSUITED;
	int64_t cost = 0;
	char label[64];

	snprintf(label, sizeof label, "network %d", number);
	for (const struct mcf_algorithm *row = mcf_algorithms; row->name; row++) {
		if (mcf_solve(row, problem, solution) == MCF_UNSUITED) {
			cr_assert_str_eq(row->name, "structured", "%s: %s refuses", label, row->name);
			continue;
		}
		flow_certificate_check(label, problem, solution);
		tally->structured += strcmp(solution->statistics.algorithm, "structured") == 0;
		tally->aggregated += solution->statistics.aggregated_arcs > 0;
		if (status == MCF_UNSUITED) {
			status = solution->status;
			cost = solution->cost;
		}
		cr_assert_eq(solution->status, status, "%s: %s says %s, another %s", label, row->name,
			     mcf_status_name(solution->status), mcf_status_name(status));
		if (status == MCF_OPTIMAL)
			cr_assert_eq(solution->cost, cost, "%s: %s finds %ld, another %ld", label, row->name,
				     (long)solution->cost, (long)cost);
	}
	tally->optimal += status == MCF_OPTIMAL;
	tally->infeasible += status == MCF_INFEASIBLE;
	if (problem->arc_count <= 6 && world_brute_effort(problem) <= 20000) {
		int64_t best = world_brute_force(problem);

		tally->brute++;
		cr_assert_eq(status, best == INT64_MAX ? MCF_INFEASIBLE : MCF_OPTIMAL, "%s: brute force disagrees",
			     label);
		cr_assert(best == INT64_MAX || best == cost, "%s: cost %ld, brute force %ld", label, (long)cost,
			  (long)best);
	}
}

Test(mcf_random, every_algorithm_gives_the_same_proved_answer)
{
	struct mcf_solution solution = {0};
	struct tally tally = {0};
	struct world world;
	struct rng rng;

	rng_seed(&rng, 5);
	for (int32_t number = 0; number < NETWORKS; number++) {
		world_random(&world, &rng, number);
		solve_by_all(&world, number, &solution, &tally);
	}
	mcf_solution_free(&solution);
	/* The generator must produce enough of every kind. */
	cr_expect_gt(tally.optimal, NETWORKS / 4);
	cr_expect_gt(tally.infeasible, NETWORKS / 10);
	cr_expect_gt(tally.brute, NETWORKS / 8);
	cr_expect_gt(tally.structured, NETWORKS / 16);
	cr_expect_gt(tally.aggregated, NETWORKS / 16);
}
