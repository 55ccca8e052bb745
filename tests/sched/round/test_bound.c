/* SPDX-License-Identifier: BSD-3-Clause */
/* The bound of a round's cost, and the round's choice of roots and slots, against all choices. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <sched/round/round.h>

#include "place_world.h"

enum { MACHINES = 6, JOBS = 4, CASES = 1000 };

static struct test_world world;
static struct round_outcome outcome;

static void teardown(void)
{
	round_outcome_free(&outcome);
	test_world_free(&world);
}

TestSuite(bound, .fini = teardown);

static void run(void)
{
	struct error err = {0};

	cr_assert_eq(round_run(world.placer, &(struct round_options){.bound = true}, &outcome, &err), 0, "%s",
		     err.text);
}

static void make(struct rng *rng)
{
	struct policy_settings settings;

	policy_settings_default(&settings);
	test_world_make(&world, 1, 1 + (uint32_t)rng_below(rng, 3), 2, 1 + (int64_t)rng_below(rng, 3));
	world.cluster->default_rtt = (struct cluster_default_rtt){5, 40, 120, 300};
	test_world_random_curves(&world, rng);
	test_world_start(&world, "nomora", &settings);
	for (uint32_t a = 0; a < world.cluster->machine_count; a++)
		for (uint32_t b = 0; b < a; b++)
			if (rng_below(rng, 3) > 0)
				test_world_measure(&world, a, b,
						   rng_below(rng, 12) == 0 ? INFINITY : (float)rng_below(rng, 250));
}

/* Some tasks end, a root's machine is lost with its tasks, tasks and a job arrive. */
static void change(struct rng *rng, uint32_t jobs)
{
	int32_t root = jobs > 0 ? flownet_root_machine(world.net, (uint32_t)rng_below(rng, jobs)) : FLOWNET_NONE;
	uint32_t lost = root != FLOWNET_NONE ? (uint32_t)root : 0;
	int32_t slots_before = flownet_slots(world.net, lost);

	for (uint32_t j = 0; j < jobs; j++) {
		uint32_t last = flownet_task_limit(world.net, j) - 1;

		if (rng_below(rng, 3) == 0 && last > 0)
			cr_assert_eq(flownet_task_ended(world.net, j, last), 0);
		else if (rng_below(rng, 3) == 0)
			cr_assert_eq(flownet_task_arrived(world.net, j, last + 1, 0), 0);
	}
	if (rng_below(rng, 2) == 0) {
		cr_assert_eq(flownet_machine_removed(world.net, lost), 0);
		if (rng_below(rng, 2) == 0)
			cr_assert_eq(flownet_machine_added(world.net, lost, slots_before), 0);
	}
	test_world_add_job(&world, jobs, (int)rng_below(rng, TEST_CURVES), 1 + (uint32_t)rng_below(rng, 4));
}

static int32_t slots[MACHINES]; /* free, or given to tasks by the last round */
static int64_t best, left_over; /* left_over: tasks that are not yet on a slot */

static void list_slots(void)
{
	for (uint32_t m = 0; m < world.cluster->machine_count; m++)
		slots[m] = flownet_free(world.net, m);
	for (size_t i = 0; i < outcome.move_count; i++)
		slots[outcome.moves[i].to]++;
}

static bool was_moved(uint32_t job, uint32_t task)
{
	for (size_t i = 0; i < outcome.move_count; i++)
		if (outcome.moves[i].job == job && outcome.moves[i].task == task)
			return true;
	return false;
}

static int64_t cost_of_kept(const struct placer_job_bound *job, uint32_t root)
{
	int64_t total = 0;

	for (uint32_t t = 0; job->root_placed && t < flownet_task_limit(world.net, job->job); t++) {
		int32_t machine = flownet_task_machine(world.net, job->job, t);

		if (machine >= 0 && !was_moved(job->job, t) && t != flownet_root_task(world.net, job->job))
			total += placer_latency_cost(world.placer, job->job, root, (uint32_t)machine);
	}
	return total;
}

static void try_job(size_t number, int64_t sum);

/* Tries every machine from `first` on for each of the job's last `tasks` tasks. */
static void try_tasks(size_t number, uint32_t root, uint32_t first, uint32_t tasks, int64_t sum)
{
	uint32_t job = outcome.bound.jobs[number].job;

	if (sum + 100 * left_over >= best)
		return;
	if (tasks == 0) {
		try_job(number + 1, sum);
		return;
	}
	left_over--;
	for (uint32_t m = first; m < world.cluster->machine_count; m++) {
		int32_t cost = placer_latency_cost(world.placer, job, root, m);

		if (slots[m] == 0 || cost > COST_MAXIMUM)
			continue;
		slots[m]--;
		try_tasks(number, root, m, tasks - 1, sum + cost);
		slots[m]++;
	}
	left_over++;
}

static void try_job(size_t number, int64_t sum)
{
	const struct placer_job_bound *job = &outcome.bound.jobs[number];

	if (number == outcome.bound.count) {
		best = sum < best ? sum : best;
		return;
	}
	for (uint32_t root = 0; root < world.cluster->machine_count; root++) {
		bool is_free = job->root_placed && slots[root] > 0;

		if (!is_free && (job->root_placed || (int32_t)root != job->root))
			continue;
		slots[root] -= is_free;
		try_tasks(number, root, 0, job->tasks, sum + cost_of_kept(job, root));
		slots[root] += is_free;
	}
}

/* The least cost of all choices of roots and slots for the tasks that the last round placed. */
static int64_t least_cost(void)
{
	list_slots();
	left_over = 0;
	for (size_t j = 0; j < outcome.bound.count; j++)
		left_over += outcome.bound.jobs[j].tasks;
	best = outcome.bound.cost + 1;
	try_job(0, 0);
	return best;
}

Test(bound, no_choice_of_roots_and_slots_is_below_it)
{
	int optimal = 0, exact = 0, alone = 0, restarted = 0, partly = 0;
	double excess = 0, gap = 0;
	struct rng rng;

	rng_seed(&rng, 7);
	for (int c = 0; c < CASES; c++) {
		uint32_t jobs = (uint32_t)rng_below(&rng, JOBS);
		const struct placer_bound *bound = &outcome.bound;
		int64_t least;

		make(&rng);
		for (uint32_t j = 0; j < jobs; j++)
			test_world_add_job(&world, j, (int)rng_below(&rng, TEST_CURVES),
					   1 + (uint32_t)rng_below(&rng, 4));
		run();
		change(&rng, jobs);
		run();
		least = least_cost();
		cr_assert(bound->bound <= least && least <= bound->cost, "case %d: bound %lld, least %lld, cost %lld",
			  c, (long long)bound->bound, (long long)least, (long long)bound->cost);
		cr_assert(bound->count > 1 || bound->bound == least, "case %d: %lld is not exact, least %lld", c,
			  (long long)bound->bound, (long long)least);
		optimal += least == bound->cost;
		exact += bound->bound == bound->cost;
		alone += bound->count == 1;
		for (size_t j = 0; j < bound->count; j++) {
			restarted += bound->jobs[j].kept > 0;
			partly += !bound->jobs[j].root_placed;
		}
		excess += least > 0 ? (double)bound->cost / (double)least - 1 : 0;
		gap += bound->bound > 0 ? (double)bound->cost / (double)bound->bound - 1 : 0;
		teardown();
		outcome = (struct round_outcome){0};
		world = (struct test_world){0};
	}
	printf("# %d of %d rounds optimal, %d proved so; above the least cost %.2f %%, gap %.2f %% in the mean; %d of "
	       "one job; "
	       "jobs: %d restarted, %d partly running\n",
	       optimal, CASES, exact, 100 * excess / CASES, 100 * gap / CASES, alone, restarted, partly);
	cr_expect_gt(restarted, 50);
	cr_expect_gt(partly, 100);
	cr_expect_gt(optimal, CASES * 9 / 10);
	cr_expect_lt(excess / CASES, 0.01, "%g", excess / CASES);
}
