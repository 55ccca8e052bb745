/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <string.h>

#include "place_world.h"

static const double falling[] = {1, 1, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2};

static struct test_world world;

static void make(uint32_t pods, uint32_t racks, uint32_t machines, int64_t slots)
{
	test_world_make(&world, pods, racks, machines, slots);
	test_world_set_curve(&world, 0, falling, sizeof falling / sizeof falling[0]);
}

static void solve(void)
{
	struct flownet_round round;
	struct error err = {0};

	cr_assert_eq(flownet_solve(world.net, &round, &err), 0, "%s", err.text);
}

static uint32_t rack_of(uint32_t job, uint32_t task)
{
	return world.cluster->machines[flownet_task_machine(world.net, job, task)].rack;
}

Test(policy, table_has_each_by_name)
{
	int count = 0;

	for (; policies[count]; count++)
		cr_expect_eq(policy_find(policies[count]->name), policies[count]);
	cr_expect_eq(count, 5);
	cr_expect_str_eq(policies[0]->name, "nomora");
	cr_expect_null(policy_find("best"));
}

Test(policy, the_papers_settings_are_the_defaults_but_for_its_values)
{
	struct policy_settings defaults, paper;

	policy_settings_default(&defaults);
	policy_settings_paper(&paper);
	cr_expect(defaults.machine_threshold == COST_MAXIMUM && defaults.rack_threshold == COST_MAXIMUM);
	cr_expect_eq(defaults.machine_arcs, POLICY_MACHINE_ARCS);
	cr_expect_eq(defaults.lookup, COST_LOOKUP_INTERPOLATED);
	cr_expect_eq(defaults.spill, POLICY_SPILL_BEST);
	cr_expect_eq(defaults.reference, LATENCY_REFERENCE_ADDED);
	cr_expect(!defaults.root_anywhere && !defaults.flow.preemption && defaults.flow.unscheduled_capacity == 0);
	cr_expect(defaults.flow.omega_per_s == 0 && defaults.flow.beta_per_s == 0);
	cr_expect_eq(defaults.flow.gamma, 1001);
	cr_expect(paper.machine_threshold == 105 && paper.rack_threshold == 110 && paper.machine_arcs == 0);
	cr_expect_eq(paper.lookup, COST_LOOKUP_NEAREST);
	cr_expect_eq(paper.spill, POLICY_SPILL_ANY);
	cr_expect_eq(paper.reference, LATENCY_REFERENCE_ABSOLUTE);
	cr_expect_eq(paper.flow.unscheduled_capacity, 1);
	cr_expect(paper.seed == defaults.seed && paper.flow.gamma == defaults.flow.gamma);
}

/* The costs by which root_first policies choose the root's machine are those of the network. */
Test(policy, costs_of_a_rack_are_those_of_its_machines)
{
	for (int p = 0; policies[p]; p++) {
		uint16_t cost[64];

		if (!policies[p]->root_first)
			continue;
		make(2, 2, 3, 2);
		test_world_start(&world, policies[p]->name, NULL);
		for (uint32_t m = 0; m < 12; m++)
			test_world_measure(&world, 1, m, (float)(5 + 10 * m));
		cr_assert_eq(placer_job_arrived(world.placer, 0, 0, 0, 0), 0);
		for (uint32_t root = 0; root < 12; root += 5)
			for (uint32_t m = 0; m < 12; m++) {
				uint32_t rack = world.cluster->machines[m].rack,
					 column = world.layout->column_of_machine[m] - world.layout->rack_first[rack];

				policies[p]->rack(world.placer, 0, root, rack, cost);
				cr_expect_eq(cost[column], policies[p]->at(world.placer, 0, (int32_t)root, m),
					     "%s: from %u to %u", policies[p]->name, root, m);
			}
		test_world_free(&world);
	}
}

/* The row has an arc to each rack of the root's pod, and its machine is the only one with an arc of its own. */
Test(policy, quincys_arcs_cost_what_the_distances_cost)
{
	for (uint32_t pods = 1; pods <= 2; pods++) {
		const struct policy *quincy = policy_find("quincy");
		const struct cost_row *row;

		make(pods, 2, 2, 2);
		test_world_start(&world, "quincy", NULL);
		row = quincy->row(world.placer, 0, 3);
		cr_expect_eq(row->root, 3);
		cr_assert_eq(row->machine_count, 1);
		cr_expect(row->machines[0].target == 3 && row->machines[0].cost == 0);
		cr_assert_eq(row->rack_count, 2);
		cr_expect(row->racks[0].target == 0 && row->racks[0].cost == 200);
		cr_expect(row->racks[1].target == 1 && row->racks[1].cost == 100);
		cr_expect_eq(row->cluster_cost, pods == 1 ? 200 : 300);
		for (uint32_t m = 0; m < 4 * pods; m++)
			cr_expect_eq(quincy->at(world.placer, 0, 3, m), m == 3 ? 0 : m == 2 ? 100 : m < 2 ? 200 : 300);
		test_world_free(&world);
	}
}

/* Of equally near machines, a task gets the first. */
Test(policy, quincy_fills_machines_of_one_distance_in_order)
{
	make(1, 2, 3, 1);
	test_world_start(&world, "quincy", NULL);
	cr_assert_eq(placer_job_arrived(world.placer, 0, 0, 0, 0), 0);
	cr_assert_eq(flownet_task_found(world.net, 0, 0, 1, 0), 0);
	cr_assert_eq(flownet_task_arrived(world.net, 0, 1, 0), 0);
	solve();
	cr_expect_eq(flownet_task_machine(world.net, 0, 1), 0);
	test_world_free(&world);
}

Test(policy, every_policy_fills_the_cluster_and_no_slot_twice)
{
	for (int p = 0; policies[p]; p++) {
		make(2, 2, 3, 2);
		test_world_start(&world, policies[p]->name, NULL);
		for (uint32_t j = 0; j < 4; j++)
			test_world_add_job(&world, j, 0, 7);
		solve();
		solve();
		for (uint32_t m = 0; m < 12; m++)
			cr_expect_eq(flownet_running(world.net, m), 2, "%s: machine %u runs %d", policies[p]->name, m,
				     flownet_running(world.net, m));
		test_world_free(&world);
	}
}

Test(policy, nomora_keeps_each_job_in_one_rack_when_it_fits)
{
	make(1, 3, 2, 3);
	world.cluster->default_rtt = (struct cluster_default_rtt){5, 15, 60, 200};
	test_world_start(&world, "nomora", NULL);
	for (uint32_t j = 0; j < 3; j++)
		test_world_add_job(&world, j, 0, 4 + j);
	solve();
	solve();
	for (uint32_t j = 0; j < 3; j++) {
		for (uint32_t t = 1; t < 4 + j; t++)
			cr_expect_eq(rack_of(j, t), rack_of(j, 0), "job %u", j);
	}
	cr_expect_neq(rack_of(0, 0), rack_of(1, 0));
	cr_expect_neq(rack_of(0, 0), rack_of(2, 0));
	test_world_free(&world);
}

Test(policy, nomora_keeps_the_rack_even_where_no_arc_is_under_a_threshold)
{
	/* Within the rack p = 0.8 (125), outside 0.2: p_m and p_r allow no arc, only the cluster's arc remains. */
	make(1, 2, 2, 3);
	world.cluster->default_rtt = (struct cluster_default_rtt){40, 40, 500, 500};
	test_world_start(&world, "nomora", NULL);
	test_world_add_job(&world, 0, 0, 5);
	solve();
	solve();
	for (uint32_t t = 1; t < 5; t++)
		cr_expect_eq(rack_of(0, t), rack_of(0, 0));
	test_world_free(&world);
}

Test(policy, a_root_leaves_large_racks_to_large_jobs)
{
	make(1, 2, 2, 1);
	world.cluster->default_rtt.same_rack_us = 10; /* all machines of a rack are as near as one machine */
	test_world_start(&world, "nomora", NULL);
	cr_assert_eq(flownet_slots_changed(world.net, 0, 4), 0); /* rack 0: 5 slots, rack 1: 2 */
	test_world_add_job(&world, 0, 0, 2);
	test_world_add_job(&world, 1, 0, 5);
	solve();
	cr_expect_eq(rack_of(0, 0), 1);
	cr_expect_eq(rack_of(1, 0), 0);
	test_world_free(&world);
}

Test(policy, a_root_keeps_off_the_slots_that_a_job_begun_earlier_will_want)
{
	/*
	 * Job 1's root runs in rack 0. Its other three tasks would cost 125 there, so they still wait, at 110; but they
	 * will want the free slots of rack 0. By free slots rack 0 would be chosen, and as its round trips are shorter,
	 * by cost too; but then job 0 finds no room in it.
	 */
	struct policy_settings settings;

	make(1, 2, 4, 1);
	world.cluster->default_rtt = (struct cluster_default_rtt){40, 40, 200, 200};
	test_world_settings(&settings);
	settings.flow.gamma = 110;
	test_world_start(&world, "nomora", &settings);
	/* Both racks are measured, as unmeasured pairs would count with the maximum of their pod. */
	for (uint32_t rack = 0; rack < 2; rack++)
		for (uint32_t a = 4 * rack; a < 4 * rack + 4; a++)
			for (uint32_t b = 4 * rack; b < 4 * rack + 4; b++)
				if (a != b)
					latency_view_set(world.view, a, b, rack == 0 ? 40 : 60);
	cr_assert_eq(placer_job_arrived(world.placer, 1, 0, 0, 0), 0);
	cr_assert_eq(flownet_task_found(world.net, 1, 0, 0, 0), 0);
	for (uint32_t t = 1; t < 4; t++)
		cr_assert_eq(flownet_task_arrived(world.net, 1, t, 0), 0);
	test_world_add_job(&world, 0, 0, 3);
	solve();
	cr_expect_eq(rack_of(0, 0), 1);
	test_world_free(&world);
}

Test(policy, a_job_too_large_for_any_rack_begins_in_the_roomiest)
{
	/*
	 * p = 0.5 within a rack: a task for which a rack has no slot must cost more than that, or the smallest rack
	 * would be the cheapest.
	 */
	make(1, 3, 2, 1);
	world.cluster->default_rtt = (struct cluster_default_rtt){70, 70, 200, 200};
	test_world_start(&world, "nomora", NULL);
	cr_assert_eq(flownet_slots_changed(world.net, 2, 3), 0); /* rack 1 has 4 slots, the others 2 */
	test_world_add_job(&world, 0, 0, 6);
	solve();
	cr_expect_eq(rack_of(0, 0), 1);
	test_world_free(&world);
}

Test(policy, a_roots_own_slot_is_not_there_for_the_rest_of_its_job)
{
	/*
	 * One slot on machine 0, two on machine 1: only on machine 1 can both tasks share the root's machine (p = 1);
	 * from machine 0 the other task would be on another machine of the rack (p = 0.8).
	 */
	make(1, 1, 2, 1);
	world.cluster->default_rtt = (struct cluster_default_rtt){5, 40, 60, 200};
	test_world_start(&world, "nomora", NULL);
	cr_assert_eq(flownet_slots_changed(world.net, 1, 2), 0);
	test_world_add_job(&world, 0, 0, 2);
	solve();
	solve();
	cr_expect_eq(flownet_task_machine(world.net, 0, 0), 1);
	cr_expect_eq(flownet_task_machine(world.net, 0, 1), 1);
	test_world_free(&world);
}

Test(policy, nomora_moves_a_task_when_its_latency_rises_and_only_with_preemption)
{
	for (int preemption = 0; preemption < 2; preemption++) {
		struct policy_settings settings;

		make(1, 1, 3, 1);
		test_world_settings(&settings);
		settings.flow.preemption = preemption;
		test_world_start(&world, "nomora", &settings);
		cr_assert_eq(placer_job_arrived(world.placer, 0, 0, 0, 0), 0);
		cr_assert_eq(flownet_task_found(world.net, 0, 0, 0, 0), 0);
		cr_assert_eq(flownet_task_found(world.net, 0, 1, 1, 0), 0);
		latency_view_set(world.view, 0, 1, 30);
		latency_view_set(world.view, 0, 2, 10);
		solve();
		cr_expect_eq(flownet_task_machine(world.net, 0, 1), 1 + preemption);
		test_world_free(&world);
	}
}

Test(policy, jobs_with_one_root_machine_each_go_by_their_own_curve)
{
	static const double level[] = {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9},
			    steep[] = {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3};

	/*
	 * No cost is under p_m: the network sends both tasks to the cluster, where the policy chooses the machine.
	 * Machine 3 is the nearest.
	 */
	make(1, 1, 4, 2);
	test_world_set_curve(&world, 0, level, sizeof level / sizeof level[0]);
	test_world_set_curve(&world, 1, steep, sizeof steep / sizeof steep[0]);
	test_world_start(&world, "nomora", NULL);
	latency_view_set(world.view, 0, 1, 60);
	latency_view_set(world.view, 0, 2, 50);
	latency_view_set(world.view, 0, 3, 10);
	for (uint32_t j = 0; j < 2; j++) {
		cr_assert_eq(placer_job_arrived(world.placer, j, (int32_t)j, 0, 0), 0);
		cr_assert_eq(flownet_task_found(world.net, j, 0, 0, 0), 0);
		cr_assert_eq(flownet_task_arrived(world.net, j, 1, 0), 0);
	}
	solve();
	cr_expect_eq(flownet_task_machine(world.net, 0, 1), 1, "all alike: the first, not %d",
		     flownet_task_machine(world.net, 0, 1));
	cr_expect_eq(flownet_task_machine(world.net, 1, 1), 3, "the nearest, not %d",
		     flownet_task_machine(world.net, 1, 1));
	test_world_free(&world);
}

Test(policy, quincy_goes_by_distance_and_ignores_latency)
{
	make(2, 2, 2, 2);
	for (uint32_t m = 0; m < 8; m++)
		latency_view_set(world.view, 0, m, m == 7 ? 1 : 1000); /* the farthest is the fastest */
	test_world_start(&world, "quincy", NULL);
	cr_assert_eq(placer_job_arrived(world.placer, 0, 0, 0, 0), 0);
	cr_assert_eq(flownet_task_found(world.net, 0, 0, 0, 0), 0);
	for (uint32_t t = 1; t < 7; t++)
		cr_assert_eq(flownet_task_arrived(world.net, 0, t, 0), 0);
	solve();
	cr_expect_eq(flownet_running(world.net, 0), 2);
	cr_expect_eq(flownet_running(world.net, 1), 2);
	cr_expect_eq(flownet_running(world.net, 2) + flownet_running(world.net, 3), 3);
	cr_expect_eq(flownet_running(world.net, 7), 0);
	test_world_free(&world);
}

Test(policy, quincy_brings_a_running_task_from_another_pod_to_its_roots)
{
	struct policy_settings settings;

	/*
	 * Pods of two racks with one machine each: 0 and 1, 2 and 3. The task has run for 100 s, worth 50; another pod
	 * costs 100.
	 */
	make(2, 2, 1, 1);
	test_world_settings(&settings);
	settings.flow.preemption = true;
	settings.flow.beta_per_s = 0.5;
	test_world_start(&world, "quincy", &settings);
	cr_assert_eq(placer_job_arrived(world.placer, 0, 0, 0, 0), 0);
	cr_assert_eq(flownet_task_found(world.net, 0, 0, 0, 0), 0);
	cr_assert_eq(flownet_task_found(world.net, 0, 1, 2, 100), 0);
	solve();
	cr_expect_eq(flownet_task_machine(world.net, 0, 1), 1);
	test_world_free(&world);
}

Test(policy, policies_without_distances_never_move_what_runs)
{
	static const char *const indifferent[] = {"random", "load_spreading", "first_fit"};

	for (size_t i = 0; i < sizeof indifferent / sizeof indifferent[0]; i++) {
		struct policy_settings settings;

		make(1, 1, 1, 1);
		test_world_settings(&settings);
		settings.flow.preemption = true;
		settings.flow.omega_per_s = 1;
		test_world_start(&world, indifferent[i], &settings);
		test_world_add_job(&world, 0, 0, 1);
		solve();
		cr_assert_eq(flownet_task_machine(world.net, 0, 0), 0);
		test_world_add_job(&world, 1, 0, 1);
		cr_assert_eq(flownet_time_passed(world.net, 3600), 0); /* waiting has become expensive */
		solve();
		cr_expect_eq(flownet_task_machine(world.net, 0, 0), 0, "%s: its task gave way", indifferent[i]);
		cr_expect_eq(flownet_task_machine(world.net, 1, 0), FLOWNET_NONE, "%s", indifferent[i]);
		test_world_free(&world);
	}
}

Test(policy, load_spreading_balances_and_first_fit_packs)
{
	make(1, 1, 4, 4);
	test_world_start(&world, "load_spreading", NULL);
	test_world_add_job(&world, 0, 0, 8);
	solve();
	for (uint32_t m = 0; m < 4; m++)
		cr_expect_eq(flownet_running(world.net, m), 2);
	test_world_free(&world);
	make(1, 1, 4, 4);
	test_world_start(&world, "first_fit", NULL);
	test_world_add_job(&world, 0, 0, 6);
	solve();
	cr_expect_eq(flownet_running(world.net, 0), 4);
	cr_expect_eq(flownet_running(world.net, 1), 2);
	test_world_free(&world);
}

/* Machines of the tasks of one random round, as text. */
static void random_round(uint64_t seed, char *text, size_t bytes)
{
	struct policy_settings settings;
	size_t used = 0;

	test_world_settings(&settings);
	settings.seed = seed;
	make(2, 2, 4, 2);
	test_world_start(&world, "random", &settings);
	test_world_add_job(&world, 0, 0, 12);
	solve();
	for (uint32_t t = 0; t < 12; t++)
		used += (size_t)snprintf(text + used, bytes - used, "%d ", flownet_task_machine(world.net, 0, t));
	test_world_free(&world);
}

Test(policy, random_is_what_its_seed_makes_it)
{
	char first[128], again[128], other[128];

	random_round(7, first, sizeof first);
	random_round(7, again, sizeof again);
	random_round(8, other, sizeof other);
	cr_expect_str_eq(first, again);
	cr_expect_str_neq(first, other);
}

Test(policy, random_gives_every_free_slot_the_same_chance)
{
	enum { ROUNDS = 4000 };
	int taken[3] = {0};

	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		struct policy_settings settings;

		test_world_settings(&settings);
		settings.seed = seed;
		make(1, 1, 3, 6);
		test_world_start(&world, "random", &settings);
		flownet_slots_changed(world.net, 0, 1);
		flownet_slots_changed(world.net, 1, 2);
		flownet_slots_changed(world.net, 2, 5);
		test_world_add_job(&world, 0, 0, 1);
		solve();
		taken[flownet_task_machine(world.net, 0, 0)]++;
		test_world_free(&world);
	}
	/* 1/8, 2/8, 5/8 of 4000, plus or minus four standard deviations. */
	cr_expect_float_eq(taken[0], 500, 84);
	cr_expect_float_eq(taken[1], 1000, 110);
	cr_expect_float_eq(taken[2], 2500, 123);
}

/* Jobs and their roots come and go: only rows of running roots are kept. */
Test(policy, rows_of_former_roots_are_dropped)
{
	enum { JOBS = 6, ROUNDS = 40 };
	struct rng rng;

	rng_seed(&rng, 3);
	make(2, 2, 3, 4);
	test_world_start(&world, "nomora", NULL);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t job = (uint32_t)rng_below(&rng, JOBS);

		if (flownet_job_limit(world.net) > job && flownet_task_limit(world.net, job) > 0)
			cr_assert_eq(flownet_job_ended(world.net, job), 0);
		else
			test_world_add_job(&world, job, 0, 4);
		solve();
		solve();
		cr_expect_leq(placer_rows_kept(world.placer), JOBS);
	}
	cr_expect_gt(placer_rows_kept(world.placer), 0);
	for (uint32_t job = 0; job < flownet_job_limit(world.net); job++) {
		if (flownet_task_limit(world.net, job) > 0)
			cr_assert_eq(flownet_job_ended(world.net, job), 0);
	}
	cr_expect_eq(placer_rows_kept(world.placer), 0);
	test_world_free(&world);
}

/* Cost of the task on a machine, by its job's curve and root. */
static int32_t cost_on(const struct flownet *net, uint32_t job, int32_t machine)
{
	return placer_latency_cost(world.placer, job, (uint32_t)flownet_root_machine(net, job), (uint32_t)machine);
}

/* No swap of two tasks, and no swap of a task and a free slot, would lower the cost. */
static void expect_no_swap_improves(uint32_t jobs, uint32_t tasks, uint64_t seed)
{
	const struct flownet *net = world.net;

	for (uint32_t a = 0; a < jobs * tasks; a++) {
		uint32_t job_a = a / tasks, job_b;
		int32_t at_a = flownet_task_machine(net, job_a, a % tasks), at_b;

		if (a % tasks == 0 || at_a < 0)
			continue;
		for (uint32_t m = 0; m < world.cluster->machine_count; m++)
			cr_assert(flownet_free(net, m) == 0 ||
					  cost_on(net, job_a, (int32_t)m) >= cost_on(net, job_a, at_a),
				  "seed %llu", (unsigned long long)seed);
		for (uint32_t b = 0; b < a; b++) {
			job_b = b / tasks;
			at_b = flownet_task_machine(net, job_b, b % tasks);
			if (b % tasks == 0 || at_b < 0)
				continue;
			cr_assert_leq(cost_on(net, job_a, at_a) + cost_on(net, job_b, at_b),
				      cost_on(net, job_a, at_b) + cost_on(net, job_b, at_a),
				      "seed %llu: tasks %u and %u", (unsigned long long)seed, a, b);
		}
	}
}

Test(policy, by_default_no_two_tasks_would_gain_by_swapping)
{
	enum { SEEDS = 12, JOBS = 12, TASKS = 6 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct policy_settings settings;
		struct rng rng;

		rng_seed(&rng, seed);
		policy_settings_default(&settings);
		make(2, 2, 9, 3);
		test_world_random_curves(&world, &rng);
		for (int pair = 0; pair < 300; pair++)
			latency_view_set(world.view, (uint32_t)rng_below(&rng, 36), (uint32_t)rng_below(&rng, 36),
					 (float)(5 + rng_below(&rng, 300)));
		test_world_start(&world, "nomora", &settings);
		for (uint32_t job = 0; job < JOBS; job++)
			test_world_add_job(&world, job, (int)rng_below(&rng, TEST_CURVES), TASKS);
		solve();
		solve();
		expect_no_swap_improves(JOBS, TASKS, seed);
		test_world_free(&world);
	}
}

/* Counts, by machine, how often each gets one of four tasks on twelve machines, over many seeds. */
static void count_places(const char *policy, const struct policy_settings *settings, uint32_t tasks, int *places)
{
	struct policy_settings seeded = *settings;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		seeded.seed = seed;
		make(1, 3, 4, 4);
		test_world_start(&world, policy, &seeded);
		test_world_add_job(&world, 0, 0, tasks);
		solve();
		for (uint32_t t = 0; t < tasks; t++)
			places[flownet_task_machine(world.net, 0, t)]++;
		for (uint32_t m = 0; m < 12 && strcmp(policy, "load_spreading") == 0; m++)
			cr_assert_leq(flownet_running(world.net, m), 1, "tasks are spread");
		test_world_free(&world);
	}
}

Test(policy, load_spreading_draws_among_the_least_loaded)
{
	struct policy_settings settings;
	int places[12] = {0};

	policy_settings_default(&settings);
	count_places("load_spreading", &settings, 4, places);
	for (int m = 0; m < 12; m++) /* 66.7 expected, standard deviation 6.7 */
		cr_expect(places[m] > 40 && places[m] < 94, "machine %d: %d of 800", m, places[m]);
}

Test(policy, a_root_anywhere_takes_any_slot)
{
	struct policy_settings settings;
	int places[12] = {0};

	policy_settings_default(&settings);
	settings.root_anywhere = true;
	count_places("nomora", &settings, 1, places);
	for (int m = 0; m < 12; m++) /* 16.7 expected, standard deviation 3.9 */
		cr_expect(places[m] > 2 && places[m] < 33, "machine %d: %d of 200", m, places[m]);
}

Test(policy, a_first_root_takes_the_first_machine)
{
	struct policy_settings settings;
	int places[12] = {0};

	policy_settings_default(&settings);
	settings.root_first = true;
	count_places("nomora", &settings, 1, places);
	cr_expect_eq(places[0], 200);
}

/*
 * All roots wait in one round: the solver's answer gives each of them a free slot, and is the same each time. The 24
 * slots are just enough, so each machine gets two; with fewer roots, no machine gets more than its slots.
 */
Test(policy, the_solvers_roots_fill_free_slots)
{
	for (uint32_t roots = 1; roots <= 24; roots += 23) {
		int32_t first[24] = {0};

		for (int time = 0; time < 2; time++) {
			struct policy_settings settings;
			int places[12] = {0};

			policy_settings_default(&settings);
			settings.root_solver = true;
			settings.seed = (uint64_t)time + 1;
			make(1, 3, 4, 2);
			test_world_start(&world, "nomora", &settings);
			for (uint32_t j = 0; j < roots; j++) {
				cr_assert_eq(placer_job_arrived(world.placer, j, 0, 0, 0), 0);
				cr_assert_eq(flownet_task_arrived(world.net, j, 0, 0), 0);
			}
			solve();
			for (uint32_t j = 0; j < roots; j++) {
				int32_t machine = flownet_task_machine(world.net, j, 0);

				cr_assert(machine >= 0 && ++places[machine] <= 2);
				cr_expect(time == 0 || machine == first[j]);
				first[j] = machine;
			}
			test_world_free(&world);
		}
	}
}

Test(policy, the_papers_flow_through_the_cluster_lands_on_any_slot)
{
	static const double steep[] = {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3};

	for (int any = 0; any < 2; any++) {
		int places[4] = {0};

		for (uint64_t seed = 1; seed <= 60; seed++) {
			struct policy_settings settings;

			policy_settings_paper(&settings);
			cr_expect_eq(settings.spill, POLICY_SPILL_ANY);
			settings.spill = any ? POLICY_SPILL_ANY : POLICY_SPILL_BEST;
			settings.seed = seed;
			make(1, 1, 4, 2);
			test_world_set_curve(&world, 0, steep, sizeof steep / sizeof steep[0]);
			latency_view_set(world.view, 0, 1, 60);
			latency_view_set(world.view, 0, 2, 50);
			latency_view_set(world.view, 0, 3, 20);
			test_world_start(&world, "nomora", &settings);
			cr_assert_eq(flownet_slots_changed(world.net, 0, 1), 0);
			cr_assert_eq(placer_job_arrived(world.placer, 0, 0, 0, 0), 0);
			cr_assert_eq(flownet_task_found(world.net, 0, 0, 0, 0), 0);
			cr_assert_eq(flownet_task_arrived(world.net, 0, 1, 0), 0);
			solve();
			places[flownet_task_machine(world.net, 0, 1)]++;
			test_world_free(&world);
		}
		for (int m = 1; m < 4; m++)
			cr_expect(any ? places[m] > 5 : places[m] == (m == 3 ? 60 : 0), "machine %d: %d", m, places[m]);
	}
}
