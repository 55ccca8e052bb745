/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks with known answers, solved by every algorithm; and the errors that the certificate detects. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include <sched/mcf/algorithms.h>
#include <sched/mcf/verify.h>

#include "flow_certificate.h"
#include "mcf_world.h"

static void expect(struct world *world, enum mcf_status status, int64_t cost)
{
	struct mcf_solution solution = {0};

	for (const struct mcf_algorithm *row = mcf_algorithms; row->name; row++) {
		if (mcf_solve(row, world_problem(world), &solution) == MCF_UNSUITED)
			continue;
		cr_assert_eq(solution.status, status, "%s: %s", row->name, mcf_status_name(solution.status));
		if (status == MCF_OPTIMAL)
			cr_assert_eq(solution.cost, cost, "%s: %ld", row->name, (long)solution.cost);
		if (status == MCF_OPTIMAL || status == MCF_INFEASIBLE)
			flow_certificate_check(row->name, world_problem(world), &solution);
	}
	mcf_solution_free(&solution);
}

Test(mcf_hand, nothing_at_all)
{
	struct world world;

	world_reset(&world, 0);
	expect(&world, MCF_OPTIMAL, 0);
	world_reset(&world, 3);
	expect(&world, MCF_OPTIMAL, 0);
}

Test(mcf_hand, two_ways_the_cheaper_one_narrow)
{
	struct world world;

	world_reset(&world, 4);
	world_arc(&world, 0, 1, 2, 1);
	world_arc(&world, 1, 3, 9, 1);
	world_arc(&world, 0, 2, 9, 2);
	world_arc(&world, 2, 3, 9, 3);
	world_send(&world, 0, 3, 5);
	expect(&world, MCF_OPTIMAL, 2 * 2 + 3 * 5);
}

Test(mcf_hand, the_book_example_reroutes)
{
	struct world world;

	/* Ahuja, Magnanti, Orlin, figure 9.10: the second path reverses part of the first. */
	world_reset(&world, 4);
	world_arc(&world, 0, 1, 4, 2);
	world_arc(&world, 0, 2, 2, 2);
	world_arc(&world, 1, 2, 2, 1);
	world_arc(&world, 1, 3, 3, 3);
	world_arc(&world, 2, 3, 5, 1);
	world_send(&world, 0, 3, 4);
	expect(&world, MCF_OPTIMAL, 14);
}

Test(mcf_hand, a_negative_cycle_fills_up)
{
	struct world world;

	world_reset(&world, 3);
	world_arc(&world, 0, 1, 4, -3);
	world_arc(&world, 1, 2, 2, 1);
	world_arc(&world, 2, 0, 9, 1);
	world_arc(&world, 2, 2, 7, -1); /* and a loop with negative cost */
	world_arc(&world, 1, 1, 7, 1);
	expect(&world, MCF_OPTIMAL, 2 * (-3 + 1 + 1) - 7);
}

Test(mcf_hand, a_lower_bound_forces_the_dear_way)
{
	struct world world;

	world_reset(&world, 2);
	world_arc(&world, 0, 1, 9, 1);
	world_arc(&world, 0, 1, 9, 10);
	world.lower[1] = 2;
	world_send(&world, 0, 1, 5);
	expect(&world, MCF_OPTIMAL, 3 * 1 + 2 * 10);
	world.lower[1] = 6; /* more than its capacity */
	expect(&world, MCF_INFEASIBLE, 0);
}

Test(mcf_hand, no_path_and_no_capacity)
{
	struct world world;

	world_reset(&world, 4);
	world_arc(&world, 0, 1, 9, 1);
	world_arc(&world, 2, 3, 9, 1);
	world_send(&world, 0, 3, 1);
	expect(&world, MCF_INFEASIBLE, 0);
	world_arc(&world, 1, 2, 0, 1);
	expect(&world, MCF_INFEASIBLE, 0);
	world_arc(&world, 1, 2, 1, 1);
	expect(&world, MCF_OPTIMAL, 3);
}

Test(mcf_hand, one_job_of_the_papers_table)
{
	struct world world;

	/*
	 * Two racks with a machine each, one slot each; three tasks of one job. The near machine costs 100, through the
	 * far rack 107, through the cluster 150, waiting 1001 + 4. One task gets each machine, the third waits.
	 */
	enum { SINK, X, RACK, MACHINE = 4, JOB = 6, TASK = 7 };
	world_reset(&world, 10);
	for (int32_t r = 0; r < 2; r++) {
		world_arc(&world, X, RACK + r, 1, 0);
		world_arc(&world, RACK + r, MACHINE + r, 1, 0);
		world_arc(&world, MACHINE + r, SINK, 1, 0);
	}
	world_arc(&world, JOB, SINK, 3, 0);
	for (int32_t t = TASK; t < TASK + 3; t++) {
		world_arc(&world, t, JOB, 1, 1001 + 4);
		world_arc(&world, t, X, 1, 150);
		world_arc(&world, t, RACK + 1, 1, 107);
		world_arc(&world, t, MACHINE, 1, 100);
		world_send(&world, t, SINK, 1);
	}
	expect(&world, MCF_OPTIMAL, 100 + 107 + 1005);
	/* One of them has run on the far machine for a while: staying costs 60. */
	world_arc(&world, TASK + 1, MACHINE + 1, 1, 60);
	expect(&world, MCF_OPTIMAL, 100 + 60 + 1005);
}

/* Two jobs, two machines of one slot in one rack; the aggregator's arc to the rack has this capacity. */
static void expect_over_rack(int32_t rack_capacity, enum mcf_status status)
{
	enum { SINK, X, RACK, MACHINE, JOB = 5 };
	struct mcf_solution solution = {0};
	struct world world;

	world_reset(&world, 7);
	world_arc(&world, X, RACK, rack_capacity, 0);
	for (int32_t m = MACHINE; m < MACHINE + 2; m++) {
		world_arc(&world, RACK, m, 1, 0);
		world_arc(&world, m, SINK, 1, 0);
	}
	for (int32_t j = JOB; j < JOB + 2; j++) {
		world_arc(&world, j, X, 1, 100);
		world_arc(&world, j, MACHINE + j - JOB, 1, 10);
		world_send(&world, j, SINK, 1);
	}
	expect(&world, MCF_OPTIMAL, 20);
	cr_expect_eq(mcf_solve(mcf_algorithm_find("structured"), world_problem(&world), &solution), status);
	mcf_solution_free(&solution);
}

/* The structured solver has no capacities for racks: it does not accept a rack narrower than its machines. */
Test(mcf_hand, narrow_racks_are_not_for_the_structured_solver)
{
	expect_over_rack(2, MCF_OPTIMAL);
	expect_over_rack(1, MCF_UNSUITED);
}

Test(mcf_hand, an_aggregated_network_s_proof_holds_for_arcs_wider_than_supplies)
{
	struct world world;

	/* Two similar tasks; both have an arc to a dead end, only one to the machine: the other cannot be routed. */
	enum { SINK, DEAD_END, MACHINE, TASK, OTHER_TASK, STRANGER };
	world_reset(&world, 6);
	world_arc(&world, MACHINE, SINK, 4, 0);
	world_arc(&world, STRANGER, MACHINE, 1, 105);
	world_arc(&world, TASK, DEAD_END, 3, 784);
	world_arc(&world, OTHER_TASK, DEAD_END, 2, 784);
	world_arc(&world, TASK, MACHINE, 3, 105);
	world_send(&world, TASK, SINK, 1);
	world_send(&world, OTHER_TASK, SINK, 1);
	expect(&world, MCF_INFEASIBLE, 0);
}

Test(mcf_hand, capacities_and_costs_at_the_edge)
{
	struct world world;

	world_reset(&world, 2);
	world_arc(&world, 0, 1, INT32_MAX, 5);
	world_arc(&world, 0, 1, INT32_MAX, 6);
	world_send(&world, 0, 1, 2 * (int64_t)INT32_MAX);
	expect(&world, MCF_OPTIMAL, 11 * (int64_t)INT32_MAX);
	world.cost[0] = MCF_COST_LIMIT / 3 - 1;
	world.cost[1] = -world.cost[0];
	expect(&world, MCF_OPTIMAL, 0);
	world.cost[0] = MCF_COST_LIMIT / 3;
	expect(&world, MCF_COST_RANGE, 0);
	world.cost[0] = INT64_MIN;
	expect(&world, MCF_COST_RANGE, 0);
	world.cost[0] = world.cost[1] = MCF_COST_LIMIT / 4; /* the total is 2^88 */
	expect(&world, MCF_COST_RANGE, 0);
}

Test(mcf_hand, bad_problems_are_refused)
{
	struct world world;

	world_reset(&world, 2);
	world_arc(&world, 0, 1, 5, 1);
	world.supply[0] = 1;
	expect(&world, MCF_UNBALANCED, 0);
	world.supply[1] = -1;
	world.head[0] = 2;
	expect(&world, MCF_BAD_PROBLEM, 0);
	world.head[0] = 1;
	world.capacity[0] = -1;
	expect(&world, MCF_BAD_PROBLEM, 0);
	world.capacity[0] = 1;
	world.lower[0] = 2;
	expect(&world, MCF_BAD_PROBLEM, 0);
	world.lower[0] = 0;
	world.supply[0] = INT64_MAX;
	world.supply[1] = -INT64_MAX;
	expect(&world, MCF_COST_RANGE, 0);
}

/* A correct answer with one error: the certificate must find the error and name its place. */
static void expect_fault(const struct mcf_problem *problem, const struct mcf_solution *solution, enum mcf_fault fault)
{
	struct mcf_verdict verdict;

	cr_assert_not(mcf_verify(problem, solution, &verdict), "%s is not seen", mcf_fault_name(fault));
	cr_assert_eq(verdict.fault, fault, "%s instead of %s: %s", mcf_fault_name(verdict.fault), mcf_fault_name(fault),
		     verdict.text);
	cr_assert_gt(strlen(verdict.text), 10);
}

Test(mcf_hand, the_certificate_names_each_fault)
{
	struct mcf_solution solution = {0};
	struct world world;

	world_reset(&world, 3);
	world_arc(&world, 0, 1, 5, 1);
	world_arc(&world, 1, 2, 5, 1);
	world_arc(&world, 0, 2, 2, 3);
	world_arc(&world, 0, 2, 1, 1);
	world.lower[0] = 1;
	world_send(&world, 0, 2, 4);
	mcf_solve(mcf_algorithm_find("simplex"), world_problem(&world), &solution);
	flow_certificate_check("right", &world.problem, &solution);
	cr_assert_eq(solution.cost, 3 * 2 + 1);

	solution.flow[0] = 0;
	expect_fault(&world.problem, &solution, MCF_FAULT_LOWER);
	solution.flow[0] = 6;
	expect_fault(&world.problem, &solution, MCF_FAULT_CAPACITY);
	solution.flow[0] = 4;
	expect_fault(&world.problem, &solution, MCF_FAULT_CONSERVATION);
	solution.flow[0] = solution.flow[1] = 2;
	solution.flow[2] = 1; /* the expensive arc instead of the cheap path */
	expect_fault(&world.problem, &solution, MCF_FAULT_OVER_USED);
	solution.flow[0] = solution.flow[1] = 4;
	solution.flow[2] = solution.flow[3] = 0; /* an arc that is not the cheapest */
	expect_fault(&world.problem, &solution, MCF_FAULT_UNDER_USED);
	solution.flow[0] = solution.flow[1] = 3;
	solution.flow[3] = 1;
	solution.cost++;
	expect_fault(&world.problem, &solution, MCF_FAULT_COST);
	solution.cost--;
	flow_certificate_check("right again", &world.problem, &solution);
	solution.status = MCF_INFEASIBLE;
	expect_fault(&world.problem, &solution, MCF_FAULT_NOT_INFEASIBLE);
	solution.status = MCF_NO_MEMORY;
	expect_fault(&world.problem, &solution, MCF_FAULT_STATUS);
	mcf_solution_free(&solution);
}

Test(mcf_hand, names)
{
	cr_expect_str_eq(mcf_status_name(MCF_OPTIMAL), "optimal");
	cr_expect_str_eq(mcf_status_name(MCF_NO_MEMORY), "no_memory");
	cr_expect_str_eq(mcf_fault_name(MCF_FAULT_NOT_INFEASIBLE), "not infeasible");
	cr_expect_str_eq(mcf_algorithms[0].name, "auto");
	cr_expect_null(mcf_algorithm_find("magic"));
}

/* One source at the end of a long path with shortcuts: each pivot of the simplex traverses half the path. */
Test(mcf_hand, auto_leaves_deep_trees_to_the_scaling)
{
	enum { NODES = 10000, ARCS = 2 * (NODES - 1), UNITS = 1000 };
	static int32_t tail[ARCS], head[ARCS], capacity[ARCS];
	static int64_t cost[ARCS], supply[NODES];
	const struct mcf_problem problem = {NODES, ARCS, tail, head, NULL, capacity, cost, supply};
	struct mcf_solution solution = {0}, scaled = {0};
	struct rng rng;

	rng_seed(&rng, 1);
	for (int32_t v = 0; v + 1 < NODES; v++) {
		int32_t there = v + 2 + (int32_t)rng_below(&rng, 4);

		tail[2 * v] = tail[2 * v + 1] = v;
		head[2 * v] = v + 1;
		head[2 * v + 1] = there < NODES ? there : NODES - 1;
		capacity[2 * v] = UNITS;
		capacity[2 * v + 1] = 1 + (int32_t)rng_below(&rng, 10);
		cost[2 * v] = 1 + (int64_t)rng_below(&rng, 1000);
		cost[2 * v + 1] = 1 + (int64_t)rng_below(&rng, 3000);
	}
	supply[0] = UNITS;
	supply[NODES - 1] = -UNITS;
	cr_assert_eq(mcf_solve(mcf_algorithm_find("auto"), &problem, &solution), MCF_OPTIMAL);
	cr_assert_str_eq(solution.statistics.algorithm, "scaling");
	flow_certificate_check("deep tree", &problem, &solution);
	mcf_solve(mcf_algorithm_find("scaling"), &problem, &scaled);
	cr_assert_eq(solution.cost, scaled.cost);
	mcf_solution_free(&solution);
	mcf_solution_free(&scaled);
}
