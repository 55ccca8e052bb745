/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulator compared with a hand-computed case and a simple queue; and its invariants. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sched/sim/generate.h>
#include <sched/sim/sim.h>

static const int64_t second_us = 1000000;
static struct sim_settings settings;
static struct sim_result result;
static struct workload *workload;
static struct curve *curve;

/* 1 on the same machine, 0.8 at 20 to 40 us (a rack with a level of 40), 0.5 from 80 us on (a level of 100). */
static void setup(void)
{
	static const double p[] = {1, 0.8, 0.8, 0.8, 0.8, 0.8, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
	struct error err = {0};

	curve = curve_from_table("steps", p, sizeof p / sizeof p[0], &err);
	cr_assert_not_null(curve);
	sim_settings_default(&settings);
	settings.curves[0] = curve;
	settings.curve_shares[0] = 1;
	settings.curve_count = 1;
	settings.latency.level_us[SIM_SAME_RACK] = 40;
	settings.latency.level_us[SIM_SAME_POD] = settings.latency.level_us[SIM_OTHER_POD] = 100;
	settings.latency.spread = settings.latency.drift = settings.latency.noise = 0;
	settings.check = true;
	result = (struct sim_result){0};
	workload = workload_create();
}

static void teardown(void)
{
	workload_destroy(workload);
	sim_result_free(&result);
	curve_destroy(curve);
}

TestSuite(sim, .init = setup, .fini = teardown);

static void finish(int64_t end_us, bool keep_single)
{
	struct workload_filter filter = {.end_us = end_us, .fraction = 1, .speed_up = 1, .keep_single = keep_single};

	settings.end_us = end_us;
	cr_assert_eq(workload_finish(workload, &filter), 0);
}

static void run(struct sim_result *into)
{
	struct sim_watch watch = {0};
	struct error err = {0};

	cr_assert_eq(sim_run(workload, &settings, &watch, into, &err), 0, "%s", err.text);
	cr_expect(into->complete);
	cr_expect_eq(into->submitted, into->finished + into->running + into->waiting);
}

/*
 * Two racks of two machines of one slot. Job 1 comes at 0: its root (20 s) and a task (10 s) in one rack, another
 * task (10 s) across. Job 2 comes at 5.5 s: its root (9.5 s) takes the last slot; its task (5 s) waits until 10 s, and
 * then runs in its root's rack.
 */
static void six_events(int64_t end_us)
{
	settings.slots = 1;
	settings.machines_per_rack = 2;
	settings.racks_per_pod = 1;
	settings.policy_settings.root_anywhere = false;
	settings.policy_settings.spill = POLICY_SPILL_BEST;
	for (uint64_t m = 0; m < 4; m++)
		workload_add_machine_event(workload, 0, 100 + m, WORKLOAD_MACHINE_ADDED, 1);
	workload_add_task(workload, 1, 0, 0, 20 * second_us);
	workload_add_task(workload, 1, 1, 0, 10 * second_us);
	workload_add_task(workload, 1, 2, 0, 10 * second_us);
	workload_add_task(workload, 2, 0, 5500000, 9500000);
	workload_add_task(workload, 2, 1, 5500000, 5 * second_us);
	finish(end_us, false);
}

static double seconds_at(const struct histogram *histogram, double percentile)
{
	return (double)histogram_percentile(histogram, percentile) / 1e6;
}

Test(sim, four_machines_and_six_events_by_hand)
{
	six_events(20 * second_us);
	run(&result);
	cr_assert_eq(result.job_count, 2);
	/* ten samples of 0.8 and 0.5; five samples of 0.8 */
	cr_expect_eq(result.jobs[0].performance.intervals, 10);
	cr_expect_eq(result.jobs[1].performance.intervals, 5);
	cr_expect_float_eq(performance_average(&result.jobs[0].performance), 0.65, 1e-6);
	cr_expect_float_eq(performance_average(&result.jobs[1].performance), 0.8, 1e-6);
	cr_expect_float_eq(result.area, 0.725, 1e-6);
	cr_expect_float_eq(result.area_worst, 0.65, 1e-6);
	cr_expect_float_eq(result.area_other, (0.65 / 0.8 + 1) / 2, 1e-6);
	cr_expect_float_eq(result.task_mean, (10 * 1.3 + 5 * 0.8) / 25, 1e-6);
	cr_expect_float_eq(result.start_area, 0.65, 1e-6);
	cr_expect_eq(result.submitted, 5);
	cr_expect_eq(result.finished, 5);
	cr_expect_eq(result.running + result.waiting, 0);
	cr_expect_float_eq(result.task_hours * 3600, 20 + 10 + 10 + 9.5 + 5, 1e-6);
	cr_expect_float_eq(result.utilisation_mean, (5 * 0.75 + 5 * 1 + 5 * 0.75 + 5 * 0.25) / 20, 1e-9);
	cr_expect_eq(result.utilisation_maximum, 1);
	cr_expect_float_eq(result.waiting_mean, 5 / 20.0, 1e-9);
	cr_expect_eq(result.waiting_maximum, 1);
	cr_expect_eq(histogram_count(result.placement_us), 5);
	cr_expect_float_eq(seconds_at(result.placement_us, 100), 4.5, 0.01);
	cr_expect_eq(seconds_at(result.placement_us, 80), 0);
	cr_expect_float_eq(seconds_at(result.wait_slot_us, 100), 4.5, 0.01);
	cr_expect_eq(histogram_maximum(result.wait_root_us), 0);
	cr_expect_eq(histogram_count(result.response_us), 5);
	cr_expect_float_eq(histogram_mean(result.response_us) / 1e6, (20 + 10 + 10 + 9.5 + 9.5) / 5, 1e-9);
	cr_expect_eq(result.migrations + result.preemptions + result.evictions + result.ping_pongs, 0);
	cr_expect_eq(result.machines_added, 4);
}

/* The same, but the day ends after 8 s: four tasks run, and job 2 has not had a sample. */
Test(sim, a_day_that_ends_before_its_tasks)
{
	six_events(8 * second_us);
	run(&result);
	cr_assert_eq(result.job_count, 1);
	cr_expect_eq(result.jobs[0].performance.intervals, 8);
	cr_expect_eq(result.submitted, 5);
	cr_expect_eq(result.finished, 0);
	cr_expect_eq(result.running, 4);
	cr_expect_eq(result.waiting, 1);
	cr_expect_float_eq(result.task_hours * 3600, 3 * 8 + 2.5, 1e-6);
	cr_expect_float_eq(result.utilisation_mean, (5 * 0.75 + 3) / 8, 1e-9);
	cr_expect_float_eq(result.waiting_mean, 3 / 8.0, 1e-9);
	cr_expect_eq(histogram_count(result.response_us), 0);
	cr_expect_float_eq((double)result.end_us, 8e6, 1);
}

/*
 * Four slots; job 1 takes two of them until 10 s, job 2 has three tasks and comes at 1 s, a millisecond between its
 * tasks, which run for 5 s. As a gang of three, it waits for the third slot; as a gang of two, or none, only its last
 * task waits, until the first two have ended.
 */
static void wait_in_all_s(uint32_t gang, double expected_s)
{
	settings.slots = 1;
	for (uint64_t m = 0; m < 4; m++)
		workload_add_machine_event(workload, 0, 100 + m, WORKLOAD_MACHINE_ADDED, 1);
	for (uint32_t t = 0; t < 2; t++)
		workload_add_task(workload, 1, t, 0, 10 * second_us);
	for (uint32_t t = 0; t < 3; t++)
		workload_add_task(workload, 2, t, second_us + t * 1000, 5 * second_us);
	if (gang > 0)
		workload_set_gang(workload, 2, gang);
	finish(30 * second_us, false);
	run(&result);
	cr_expect_eq(result.finished, 5);
	cr_expect_eq(result.waiting_maximum, gang >= 3 ? 3 : 1);
	cr_expect_float_eq(histogram_mean(result.placement_us) * 5 / 1e6, expected_s, 0.01, "%g",
			   histogram_mean(result.placement_us) * 5 / 1e6);
}

Test(sim, a_job_without_a_gang)
{
	wait_in_all_s(0, 4.998);
}

Test(sim, a_gang_of_two_waits_for_the_last_submission)
{
	wait_in_all_s(2, 0.002 + 0.001 + 5);
}

Test(sim, a_gang_of_three)
{
	wait_in_all_s(3, 9 + 8.999 + 8.998);
}

Test(sim, a_gang_is_at_most_its_job)
{
	wait_in_all_s(4, 9 + 8.999 + 8.998);
}

/* A task in the root's rack, and from 1.5 s on one in the other rack. */
Test(sim, the_first_second_has_its_own_performance)
{
	settings.slots = 1;
	settings.machines_per_rack = 2;
	settings.racks_per_pod = 1;
	settings.policy_settings.spill = POLICY_SPILL_BEST;
	for (uint64_t m = 0; m < 4; m++)
		workload_add_machine_event(workload, 0, 100 + m, WORKLOAD_MACHINE_ADDED, 1);
	workload_add_task(workload, 1, 0, 0, 20 * second_us);
	workload_add_task(workload, 1, 1, 0, 20 * second_us);
	workload_add_task(workload, 1, 2, 1500000, 20 * second_us);
	finish(4 * second_us, false);
	run(&result);
	cr_expect_float_eq(result.start_area, 0.8, 1e-6);
	cr_expect_float_eq(result.start_task_mean, 0.8, 1e-6);
	cr_expect_float_eq(result.area, (0.8 + 3 * 0.65) / 4, 1e-6);
	cr_expect_float_eq(result.task_mean, (0.8 + 3 * 1.3) / 7, 1e-6);
}

/* Rounds from the third on take 1 s: the round at 5.5 s, which places nothing, and that at 10 s. */
Test(sim, placements_take_effect_at_the_end_of_a_round)
{
	settings.solver_time = SIM_SOLVER_FIXED;
	settings.solver_us = second_us;
	six_events(20 * second_us);
	run(&result);
	cr_expect_float_eq(seconds_at(result.placement_us, 100), 5.5, 0.01);
	cr_expect_float_eq(seconds_at(result.wait_solver_us, 100), 1, 0.01);
	cr_expect_float_eq(seconds_at(result.wait_slot_us, 100), 4.5, 0.01);
	cr_expect_float_eq(seconds_at(result.response_us, 100), 20, 0.05);
	cr_expect_eq(result.jobs[1].performance.intervals, 5,
		     "from 11 to 16 s; the root ends at 15 s, its machine stays the reference");
}

enum { QUEUE_JOBS = 200, QUEUE_SERVERS = 3, QUEUE_RUN_S = 10, QUEUE_END_S = 1200 };

/* First come, first served: the start time of each job. */
static void queue_begins(const int64_t *submit_us, int64_t *begin_us)
{
	int64_t free_us[QUEUE_SERVERS] = {0};

	for (int j = 0; j < QUEUE_JOBS; j++) {
		int server = 0;

		for (int s = 1; s < QUEUE_SERVERS; s++)
			server = free_us[s] < free_us[server] ? s : server;
		begin_us[j] = free_us[server] > submit_us[j] ? free_us[server] : submit_us[j];
		free_us[server] = begin_us[j] + QUEUE_RUN_S * second_us;
	}
}

/* One-task jobs at random times, more than the machines can run. */
static void fill_queue(int64_t *submit_us, int64_t *begin_us)
{
	struct rng rng;

	rng_seed(&rng, 5);
	settings.slots = 1;
	for (uint64_t m = 0; m < QUEUE_SERVERS; m++)
		workload_add_machine_event(workload, 0, m, WORKLOAD_MACHINE_ADDED, 1);
	for (int j = 0, at = 0; j < QUEUE_JOBS; j++, at += (int)rng_below(&rng, 5)) {
		submit_us[j] = at * second_us + 500000;
		workload_add_task(workload, 10 + (uint64_t)j, 0, submit_us[j], QUEUE_RUN_S * second_us);
	}
	queue_begins(submit_us, begin_us);
	finish(QUEUE_END_S * second_us, true);
}

static int compare_times(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

/*
 * One-task jobs of equal run time on c slots: the number of waiting jobs and the sum of their waits are those of any
 * work-conserving queue.
 */
Test(sim, an_overfull_cluster_is_a_plain_queue)
{
	int64_t submit_us[QUEUE_JOBS], begin_us[QUEUE_JOBS];
	double waiting = 0, waits_us = 0;

	fill_queue(submit_us, begin_us);
	for (int j = 0; j < QUEUE_JOBS; j++) {
		waits_us += (double)(begin_us[j] - submit_us[j]);
		for (int64_t t = second_us; t <= QUEUE_END_S * second_us; t += second_us)
			waiting += t > submit_us[j] && t <= begin_us[j];
	}
	for (int k = 0; policies[k]; k++) {
		settings.policy = policies[k];
		run(&result);
		cr_expect_gt(result.waiting_maximum, 50, "it is over-full");
		cr_expect_eq(result.finished, QUEUE_JOBS);
		cr_expect_float_eq(result.waiting_mean, waiting / QUEUE_END_S, 1e-9, "%s", policies[k]->name);
		cr_expect_float_eq(histogram_mean(result.placement_us) * QUEUE_JOBS, waits_us, 1, "%s",
				   policies[k]->name);
		sim_result_free(&result);
	}
}

/* Omega makes waiting more expensive with time: first come, first served, so that no task starves. */
Test(sim, with_omega_the_longest_waiter_is_next)
{
	int64_t submit_us[QUEUE_JOBS], begin_us[QUEUE_JOBS];

	settings.policy_settings.flow.omega_per_s = 100;
	settings.policy_settings.flow.unscheduled_capacity = 0;
	fill_queue(submit_us, begin_us);
	for (int j = 0; j < QUEUE_JOBS; j++)
		begin_us[j] -= submit_us[j];
	qsort(begin_us, QUEUE_JOBS, sizeof *begin_us, compare_times);
	for (int k = 0; policies[k]; k++) {
		settings.policy = policies[k];
		run(&result);
		for (int percent = 10; percent <= 100; percent += 10) {
			double wait_us = (double)begin_us[QUEUE_JOBS * percent / 100 - 1];

			/* the histogram keeps three digits */
			cr_expect_float_eq(seconds_at(result.placement_us, percent), wait_us / 1e6,
					   wait_us / 1e9 + 1e-6, "%s, %d %%", policies[k]->name, percent);
		}
		sim_result_free(&result);
	}
}

static void synthetic(double hours)
{
	struct sim_generate_settings generate;

	workload_destroy(workload);
	sim_generate_settings_default(&generate);
	generate.machines = 60;
	generate.slots = 4;
	generate.hours = hours;
	generate.churn_per_day = 10;
	generate.load = 1;
	workload = sim_generate(&generate);
	cr_assert_not_null(workload);
	settings.slots = 4;
	settings.machines_per_rack = 10;
	settings.racks_per_pod = 3;
	settings.latency.noise = 0.3;
	finish((int64_t)(hours * 3600e6), false);
}

/* Conservation is checked after each round (settings.check), for each policy, while machines come and go. */
Test(sim, every_policy_conserves_tasks_and_repeats_by_its_seed)
{
	synthetic(0.5);
	settings.solver_time = SIM_SOLVER_PUBLISHED;
	for (int k = 0; policies[k]; k++) {
		for (int preemption = 0; preemption < 1 + policies[k]->preempts; preemption++) {
			struct sim_result again = {0};

			settings.policy = policies[k];
			settings.policy_settings.flow.preemption = preemption != 0;
			settings.policy_settings.flow.beta_per_s = preemption;
			run(&result);
			run(&again);
			cr_expect_gt(result.job_count, 5);
			cr_expect(result.area > 0 && result.area <= 1, "%s %g", policies[k]->name, result.area);
			cr_expect_leq(result.area_worst, result.area);
			cr_expect_eq(result.area, again.area, "%s", policies[k]->name);
			cr_expect_eq(result.moves, again.moves);
			cr_expect_eq(result.rounds, again.rounds);
			cr_expect_eq(histogram_mean(result.response_us), histogram_mean(again.response_us));
			cr_expect_eq(memcmp(result.jobs, again.jobs, result.job_count * sizeof *result.jobs), 0);
			cr_expect_gt(result.machines_removed, 3);
			sim_result_free(&again);
			sim_result_free(&result);
		}
	}
}

/*
 * A task that arrives after all others of its job, including the root, have ended is placed relative to the root's
 * machine.
 */
Test(sim, a_late_task_has_the_machine_of_the_ended_root_as_reference)
{
	settings.machines_per_rack = 2;
	settings.racks_per_pod = 1;
	for (uint64_t m = 0; m < 4; m++)
		workload_add_machine_event(workload, 0, 100 + m, WORKLOAD_MACHINE_ADDED, 1);
	workload_add_task(workload, 1, 0, 0, 2 * second_us);
	workload_add_task(workload, 1, 1, 0, 3 * second_us);
	workload_add_task(workload, 1, 2, 10 * second_us, 4 * second_us);
	finish(60 * second_us, false);
	run(&result);
	cr_expect_eq(result.finished, 3);
	cr_expect_eq(histogram_maximum(result.placement_us), 0);
	cr_expect_eq(result.jobs[0].performance.intervals, 3 + 4);
	cr_expect_float_eq(performance_average(&result.jobs[0].performance), 1, 1e-6, "on the root's machine");
}

/* Migrations do not change the time of completion, unless they cost time. */
Test(sim, evicted_and_migrated_tasks_keep_their_progress)
{
	settings.policy_settings.flow.preemption = true;
	settings.slots = 2;
	settings.machines_per_rack = 2;
	settings.racks_per_pod = 1;
	for (uint64_t m = 0; m < 4; m++)
		workload_add_machine_event(workload, 0, 100 + m, WORKLOAD_MACHINE_ADDED, 1);
	workload_add_machine_event(workload, 5 * second_us, 104, WORKLOAD_MACHINE_ADDED, 1);
	workload_add_machine_event(workload, 5 * second_us, 100, WORKLOAD_MACHINE_REMOVED, -1);
	workload_add_task(workload, 1, 0, 0, WORKLOAD_TO_THE_END);
	for (uint32_t t = 1; t < 8; t++)
		workload_add_task(workload, 1, t, 0, 10 * second_us);
	finish(60 * second_us, false);
	run(&result);
	cr_expect_eq(result.evictions, 2);
	cr_expect_eq(result.finished, 7);
	cr_expect_float_eq((double)histogram_maximum(result.response_us) / 1e6, 10, 0.001, "there was room for all");
	cr_expect_eq(histogram_count(result.placement_us), 8, "one that is evicted and placed again does not count");
	sim_result_free(&result);
	settings.policy_settings.flow.preemption = false;
	settings.lose_work = true;
	run(&result);
	cr_expect_float_eq((double)histogram_maximum(result.response_us) / 1e6, 15, 0.001);
}

Test(sim, published_times_have_the_published_quantiles)
{
	cr_expect_eq(sim_published_us(&settings, 0.5), 93000);
	cr_expect_eq(sim_published_us(&settings, 0.99), 248000);
	settings.policy = policy_find("random");
	cr_expect_eq(sim_published_us(&settings, 0.5), 108000);
	cr_expect_float_eq((double)sim_published_us(&settings, 0.9999999), 18.89e6, 1e4);
}
