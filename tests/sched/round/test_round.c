/* SPDX-License-Identifier: BSD-3-Clause */
/* A round: roots in a separate first solve, moves of both solves in order, the total cost. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>

#include <sched/round/round.h>

#include "place_world.h"

static struct test_world world;
static struct policy_settings settings;
static struct round_outcome outcome;
static const double falling[] = {1, 0.9, 0.8, 0.7, 0.6, 0.5};

static void setup(void)
{
	test_world_make(&world, 1, 2, 2, 2); /* two racks of two machines with two slots */
	test_world_set_curve(&world, 0, falling, 6);
	test_world_settings(&settings);
	outcome = (struct round_outcome){0};
}

static void teardown(void)
{
	round_outcome_free(&outcome);
	test_world_free(&world);
}

TestSuite(round, .init = setup, .fini = teardown);

static void run(const struct round_options *options)
{
	struct error err = {0};

	cr_assert_eq(round_run(world.placer, options, &outcome, &err), 0, "%s", err.text);
}

Test(round, a_waiting_root_goes_first)
{
	test_world_start(&world, "nomora", &settings);
	test_world_add_job(&world, 0, 0, 3);
	run(&(struct round_options){.whole_cost = true});
	cr_expect_eq(outcome.solves, 2);
	cr_expect_eq(outcome.root_moves, 1);
	cr_expect_eq(outcome.roots_placed, 1);
	cr_assert_eq(outcome.move_count, 3);
	cr_expect_eq(outcome.moves[0].task, 0, "the root's move is the first");
	cr_expect_neq(outcome.moves[1].task, 0);
	cr_expect_null(outcome.last.moves, "moves are in the outcome");
	cr_expect_null(outcome.network.nodes, "the network was not asked for");
}

Test(round, without_a_waiting_root_there_is_one_solve)
{
	test_world_start(&world, "nomora", &settings);
	test_world_add_job(&world, 0, 0, 2);
	run(&(struct round_options){0});
	cr_assert_eq(flownet_task_arrived(world.net, 0, 2, 0), 0);
	run(&(struct round_options){0});
	cr_expect_eq(outcome.solves, 1);
	cr_expect_eq(outcome.root_moves, 0);
	cr_assert_eq(outcome.move_count, 1, "moves of the round before are forgotten");
	cr_expect_eq(outcome.moves[0].task, 2);
	run(&(struct round_options){0});
	cr_expect_eq(outcome.solves, 1, "nothing waits: one solve all the same");
	cr_expect_eq(outcome.move_count, 0);
}

Test(round, with_one_solve_the_others_come_in_the_round_after_their_root)
{
	test_world_start(&world, "nomora", &settings);
	test_world_add_job(&world, 0, 0, 3);
	run(&(struct round_options){.one_solve = true});
	cr_expect_eq(outcome.solves, 1);
	cr_assert_eq(outcome.move_count, 1);
	cr_expect_eq(outcome.moves[0].task, 0);
	run(&(struct round_options){.one_solve = true});
	cr_expect_eq(outcome.move_count, 2);
}

/* Tasks of one job that wait for equally long may be exchanged: not a root, not tasks of two jobs. */
Test(round, proposals_of_like_tasks_are_exchanged)
{
	struct flownet_round round;
	struct error err = {0};
	size_t first = 0, second;

	test_world_start(&world, "nomora", &settings);
	test_world_add_job(&world, 0, 0, 4);
	test_world_add_job(&world, 1, 0, 3);
	cr_assert_eq(flownet_hold_others(world.net, true), 0);
	cr_assert_eq(flownet_propose(world.net, &round, &err), 0, "%s", err.text);
	cr_assert_eq(round.move_count, 2);
	cr_expect_not(flownet_alike(world.net, 0, 0), "a root");
	cr_assert_eq(flownet_apply_all(world.net), 0);
	cr_assert_eq(flownet_hold_others(world.net, false), 0);
	cr_assert_eq(flownet_propose(world.net, &round, &err), 0, "%s", err.text);
	cr_assert_eq(round.move_count, 5);
	for (size_t a = 0; a < 5; a++)
		for (size_t b = 0; b < 5; b++)
			cr_expect_eq(flownet_alike(world.net, a, b), round.moves[a].job == round.moves[b].job);
	while (round.moves[first].job != 0)
		first++;
	second = first + 1;
	while (second < 5 && (round.moves[second].job != 0 || round.moves[second].to == round.moves[first].to))
		second++;
	cr_assert_lt(second, 5, "two machines");
	for (size_t other = 0; other < 5; other++)
		if (round.moves[other].job == 1)
			cr_expect_eq(flownet_exchange(world.net, first, other), -EINVAL);
	{
		struct flownet_move a = round.moves[first], b = round.moves[second];

		cr_assert_eq(flownet_exchange(world.net, first, second), 0);
		cr_assert_eq(flownet_apply_all(world.net), 0);
		cr_expect_eq(flownet_task_machine(world.net, 0, a.task), b.to);
		cr_expect_eq(flownet_task_machine(world.net, 0, b.task), a.to);
	}
	cr_expect_eq(flownet_exchange(world.net, first, second), -EINVAL, "they are carried out");
}

Test(round, a_policy_without_root_first_has_one_solve)
{
	test_world_start(&world, "random", &settings);
	test_world_add_job(&world, 0, 0, 3);
	run(&(struct round_options){0});
	cr_expect_eq(outcome.solves, 1);
	cr_expect_eq(outcome.root_moves, 0);
	cr_expect_eq(outcome.roots_placed, 0);
	cr_expect_eq(outcome.move_count, 3);
}

/* Pinned tasks cost 100 / p each, an unrouted task as much as the overflow arc of the network. */
Test(round, the_whole_cost_counts_pinned_tasks_and_unrouted_units)
{
	struct round_options whole = {.whole_cost = true}, whole_kept = {.whole_cost = true, .keep_network = true};
	int64_t cost;

	settings.flow.unscheduled_capacity = 1;
	for (uint32_t m = 1; m < 4; m++)
		world.cluster->machines[m].slots = 0;
	test_world_start(&world, "nomora", &settings);
	cr_assert_eq(placer_job_arrived(world.placer, 0, 0, 0, 0), 0);
	cr_assert_eq(flownet_task_found(world.net, 0, 0, 0, 5), 0);
	cr_assert_eq(flownet_task_found(world.net, 0, 1, 0, 5), 0);
	for (uint32_t t = 2; t < 5; t++)
		cr_assert_eq(flownet_task_arrived(world.net, 0, t, 0), 0);
	run(&(struct round_options){0});
	cr_expect_eq(outcome.last.unrouted, 2);
	cr_expect_eq(outcome.cost, settings.flow.gamma, "the solver's cost alone: one waits by its arc");
	run(&whole);
	cost = outcome.cost;
	run(&whole_kept);
	cr_expect_eq(outcome.cost, cost);
	cr_expect_gt(outcome.network.overflow_cost, settings.flow.gamma);
	cr_expect_eq(cost, settings.flow.gamma + 100 + 2 * outcome.network.overflow_cost,
		     "the pinned task beside its root costs 100, the root nothing");
}

Test(round, the_network_is_that_before_the_last_solve)
{
	int tasks = 0;

	test_world_start(&world, "nomora", &settings);
	test_world_add_job(&world, 0, 0, 3);
	run(&(struct round_options){.keep_network = true});
	cr_assert_not_null(outcome.network.nodes);
	for (int32_t n = 0; n < outcome.network.problem.node_count; n++)
		tasks += outcome.network.nodes[n].kind == FLOWNET_NODE_TASK;
	cr_expect_eq(tasks, 3, "the tasks still have their choices in it");
}

enum decision { APPLY, RESERVE, REFUSE };
static enum decision decision;
static size_t asked;

static int take(void *context, const struct flownet_move *move, size_t number)
{
	cr_expect_eq(context, &asked);
	asked++;
	if (move->task == 1 && decision == REFUSE)
		return -EPERM;
	return move->task == 1 && decision == RESERVE ? flownet_reserve(world.net, number)
						      : flownet_apply(world.net, number);
}

/* Task 1 is refused, then reserved, then fails, then is applied; the others are placed at once. */
Test(round, the_caller_decides_each_move)
{
	struct round_options options = {.take = take, .context = &asked};
	int32_t origin;

	test_world_start(&world, "nomora", &settings);
	test_world_add_job(&world, 0, 0, 3);
	decision = REFUSE;
	run(&options);
	cr_expect_eq(asked, 3);
	cr_expect_eq(outcome.move_count, 2);
	cr_expect_eq(flownet_task_machine(world.net, 0, 1), FLOWNET_NONE);
	decision = RESERVE;
	run(&options);
	cr_expect_eq(outcome.move_count, 1, "it is proposed again");
	cr_expect(flownet_task_in_transit(world.net, 0, 1, &origin));
	cr_expect_eq(origin, FLOWNET_NONE);
	run(&options);
	cr_expect_eq(outcome.move_count, 0, "no round moves it meanwhile");
	cr_assert_eq(flownet_fail(world.net, 0, 1), 0);
	decision = APPLY;
	run(&options);
	cr_expect_eq(outcome.move_count, 1);
	cr_expect_geq(flownet_task_machine(world.net, 0, 1), 0);
	cr_expect_not(flownet_task_in_transit(world.net, 0, 1, &origin));
}

static uint32_t order[8];
static size_t ordered;

static int note(void *context, const struct flownet_move *move, size_t number)
{
	(void)context;
	order[ordered++] = move->task;
	return flownet_apply(world.net, number);
}

static bool is_last_task(void *context, const struct flownet_move *move)
{
	(void)context;
	return move->task == 3;
}

Test(round, waiting_roots_and_urgent_proposals_are_taken_first)
{
	test_world_start(&world, "first_fit", &settings);
	test_world_add_job(&world, 0, 0, 4);
	ordered = 0;
	run(&(struct round_options){.take = note, .is_urgent = is_last_task});
	cr_assert_eq(ordered, 4, "each is taken once");
	cr_expect_eq(order[0], 0);
	cr_expect_eq(order[1], 3);
	cr_expect_eq(order[2], 1);
	cr_expect_eq(order[3], 2);
}

/* A policy without latencies proposes machines that do not answer the root, which is the last task: they wait. */
Test(round, no_task_is_placed_out_of_its_roots_reach)
{
	for (uint32_t m = 0; m < 4; m++)
		if (m != 1)
			test_world_measure(&world, 1, m, INFINITY);
	test_world_start(&world, "first_fit", &settings);
	cr_assert_eq(placer_job_arrived(world.placer, 0, 0, 3, 4), 0);
	for (uint32_t t = 0; t < 4; t++)
		cr_assert_eq(flownet_task_arrived(world.net, 0, t, 0), 0);
	run(&(struct round_options){0});
	cr_assert_eq(flownet_task_machine(world.net, 0, 3), 1);
	cr_expect_eq(flownet_task_machine(world.net, 0, 0), FLOWNET_NONE);
	cr_expect_eq(flownet_task_machine(world.net, 0, 1), FLOWNET_NONE);
	cr_expect_eq(flownet_task_machine(world.net, 0, 2), 1);
	cr_expect_eq(outcome.unreachable, 2);
	cr_expect_eq(outcome.move_count, 2);
	cr_expect_not(outcome.blocked);
}

Test(round, an_empty_outcome_may_be_freed)
{
	struct round_outcome empty = {0};

	test_world_start(&world, "nomora", &settings);
	round_outcome_free(&empty);
}
