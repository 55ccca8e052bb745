/* SPDX-License-Identifier: BSD-3-Clause */
/* Explanations compared with brute force over the slots, and the reasons for waiting. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include <sched/explain/explain.h>
#include <sched/explain/performance.h>
#include <sched/round/round.h>

#include "place_world.h"

enum { JOBS_MAXIMUM = 8 };

static struct test_world world;
static struct policy_settings settings;
static struct round_outcome outcome;
static struct explanation explanation;
static const struct curve *curve_of_job[JOBS_MAXIMUM];
static const double falling[] = {1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25};

static void setup(void)
{
	test_world_make(&world, 1, 2, 3, 2);
	test_world_set_curve(&world, 0, falling, 11);
	for (int j = 0; j < JOBS_MAXIMUM; j++)
		curve_of_job[j] = world.curves[0];
	test_world_settings(&settings);
	settings.reference = LATENCY_REFERENCE_ABSOLUTE;
	outcome = (struct round_outcome){0};
	explanation = (struct explanation){0};
}

static void teardown(void)
{
	explain_free(&explanation);
	round_outcome_free(&outcome);
	test_world_free(&world);
}

TestSuite(explain, .init = setup, .fini = teardown);

static void add_job(uint32_t job, uint32_t tasks)
{
	test_world_add_job(&world, job, 0, tasks);
	for (uint32_t t = 0; t < tasks; t++)
		cr_assert_eq(explain_add_task(&explanation, job, t, -1), 0);
}

static int before_others(void *context)
{
	return explain_before(context, &explanation);
}

static void run(void)
{
	struct explain_scene scene = {world.placer, world.layout, world.view, curve_of_job};
	struct round_options options = {.context = &scene, .before_others = before_others, .whole_cost = true};
	struct error err = {0};

	cr_assert_eq(round_run(world.placer, &options, &outcome, &err), 0, "%s", err.text);
	cr_assert_eq(explain_after(&scene, &explanation, outcome.moves, outcome.move_count), 0);
}

static double performance(uint32_t a, uint32_t b)
{
	return curve_eval_nearest(world.curves[0], (double)latency_view_get(world.view, a, b, NULL));
}

/* The mean over all slots of the machines except those in `taken`. */
static double mean_over_slots(uint32_t root, const int32_t *free_slots)
{
	double sum = 0;
	int slots = 0;

	for (uint32_t m = 0; m < world.cluster->machine_count; m++) {
		sum += free_slots[m] * performance(root, m);
		slots += free_slots[m];
	}
	return sum / slots;
}

Test(explain, random_of_a_root_placed_in_the_same_solve_leaves_out_its_slot)
{
	int32_t free_slots[6] = {2, 2, 2, 2, 2, 2};
	uint32_t root;

	test_world_start(&world, "first_fit", &settings);
	add_job(0, 3);
	run();
	root = (uint32_t)flownet_root_machine(world.net, 0);
	free_slots[root]--;
	cr_assert_eq(explanation.tasks[1].state, PLACEMENT_PLACED);
	cr_expect_float_eq(explanation.tasks[1].random_performance, mean_over_slots(root, free_slots), 1e-12);
	cr_expect_leq(explanation.tasks[1].random_performance, 1);
	cr_expect_eq(explanation.totals.compared, 2);
}

Test(explain, random_of_a_root_placed_first_counts_the_slots_left)
{
	int32_t free_slots[6] = {2, 2, 2, 2, 2, 2};
	uint32_t root;

	test_world_start(&world, "nomora", &settings);
	add_job(0, 3);
	run();
	root = (uint32_t)flownet_root_machine(world.net, 0);
	free_slots[root]--;
	cr_expect_float_eq(explanation.tasks[1].random_performance, mean_over_slots(root, free_slots), 1e-12);
	cr_expect(isnan(explanation.tasks[0].random_performance) || explanation.tasks[0].state == PLACEMENT_ROOT);
}

Test(explain, the_next_best_is_the_best_machine_left_but_the_tasks_own)
{
	test_world_start(&world, "nomora", &settings);
	add_job(0, 4);
	run();
	for (size_t i = 1; i < explanation.task_count; i++) {
		const struct explain_task *task = &explanation.tasks[i];
		uint32_t root = (uint32_t)flownet_root_machine(world.net, 0);
		double best = -1;

		for (uint32_t m = 0; m < 6; m++) {
			if (flownet_free(world.net, m) > 0 && (int64_t)m != task->taken.machine)
				best = fmax(best, performance(root, m));
		}
		cr_assert_geq(task->next_best.machine, 0);
		cr_expect_float_eq(task->next_best.performance, best, 1e-12);
		cr_expect_neq(task->next_best.machine, task->taken.machine);
		cr_expect_gt(flownet_free(world.net, (uint32_t)task->next_best.machine), 0);
	}
}

Test(explain, totals_are_those_of_the_tasks)
{
	double sum = 0, worst = 1, random_sum = 0;
	int64_t cost = 0;

	test_world_start(&world, "random", &settings);
	add_job(0, 4);
	add_job(1, 5);
	run();
	for (size_t i = 0; i < explanation.task_count; i++) {
		const struct explain_task *task = &explanation.tasks[i];

		if (task->state != PLACEMENT_PLACED)
			continue;
		sum += task->taken.performance;
		worst = fmin(worst, task->taken.performance);
		random_sum += task->random_performance;
		cost += lround(100 / task->taken.performance);
	}
	cr_expect_eq(explanation.totals.tasks, 9);
	cr_expect_eq(explanation.totals.roots, 2);
	cr_expect_eq(explanation.totals.placed, 9);
	cr_expect_eq(explanation.totals.predicted, 7);
	cr_expect_float_eq(explanation.totals.mean_performance, sum / 7, 1e-12);
	cr_expect_float_eq(explanation.totals.random_mean_performance, random_sum / 7, 1e-12);
	cr_expect_eq(explanation.totals.worst_performance, worst);
	cr_expect_eq(explanation.totals.performance_cost, cost);
	cr_expect_eq(explanation.totals.slots_free_after, 3);
}

/* The mean over jobs, not over tasks: a job of one other task counts as much as one of four. */
Test(explain, application_performance_is_the_mean_over_jobs)
{
	double of_job[2] = {0};

	test_world_start(&world, "load_spreading", &settings);
	add_job(0, 2);
	add_job(1, 5);
	add_job(2, 1); /* a root without other tasks has no performance */
	run();
	for (size_t i = 0; i < explanation.task_count; i++) {
		const struct explain_task *task = &explanation.tasks[i];

		if (task->state == PLACEMENT_PLACED)
			of_job[task->job] += task->taken.performance / (task->job == 0 ? 1 : 4);
	}
	/* The root's own machine is best: the curve's value at 1 us. */
	cr_expect_float_eq(explanation.totals.application_performance, (of_job[0] + of_job[1]) / 2, 1e-12);
}

Test(explain, why_tasks_wait)
{
	for (uint32_t m = 0; m < 6; m++)
		world.cluster->machines[m].slots = m == 0 ? 2 : 0;
	test_world_start(&world, "nomora", &settings);
	add_job(0, 2);
	add_job(1, 2);
	run();
	for (size_t i = 0; i < explanation.task_count; i++) {
		const struct explain_task *task = &explanation.tasks[i];

		if (task->state != PLACEMENT_WAITING)
			continue;
		cr_expect(strcmp(task->why, "no free slot in the cluster") == 0 ||
				  strcmp(task->why, "waits for its root, which has no machine") == 0,
			  "%s", task->why);
		cr_expect(isnan(task->random_performance) || flownet_root_machine(world.net, task->job) >= 0);
	}
	cr_expect_eq(explanation.totals.waiting, 2);
}

Test(explain, waiting_is_cheaper)
{
	settings.flow.gamma = 50;
	test_world_start(&world, "nomora", &settings);
	add_job(0, 2);
	run();
	cr_assert_eq(explanation.tasks[1].state, PLACEMENT_WAITING);
	cr_expect_str_eq(explanation.tasks[1].why, "waiting costs 50, the cheapest free slot (m0) 100 by machine");
	cr_expect_eq(explanation.tasks[1].arc, FLOWNET_ARC_UNSCHEDULED);
	cr_expect_eq(explanation.tasks[1].arc_cost, 50);
}

/*
 * Two intervals of two tasks: 0.9, 0.5 and 0.6, 0.6. The best machine gives 1, then 0.8; other than the root's, 0.9,
 * 0.8.
 */
Test(performance, is_the_quotient_of_the_sums)
{
	struct performance_sum sum = {0};

	cr_expect(isnan(performance_average(&sum)));
	performance_sum_add(&sum, 0.7, 0.5, 1, 0.9, 1);
	performance_sum_add(&sum, 0.6, 0.6, 0.8, 0.8, 1);
	cr_expect_float_eq(performance_average(&sum), 1.3 / 1.8, 1e-12);
	cr_expect_float_eq(performance_worst(&sum), 1.1 / 1.8, 1e-12);
	cr_expect_float_eq(performance_average_other(&sum), 1.3 / 1.7, 1e-12);
	cr_expect_eq(sum.intervals, 2);
}
