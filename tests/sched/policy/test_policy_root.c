/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The placement of roots, compared with a search over every machine for every job; and the number of costs evaluated in
 * large racks.
 */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "place_world.h"

enum { LARGE_MACHINES = 4, RACKS_MAXIMUM = 16, MACHINES_MAXIMUM = 2000, LARGE_JOB = 51 };

static struct test_world world;
static const struct policy *real; /* the policy that this one wraps */
static struct policy watched;
static uint64_t roots_chosen, costs_looked_at;

/* Slots of each machine that tasks of jobs with a placed root will take, and their sum in each rack. */
static int64_t reserved[RACKS_MAXIMUM], claimed[MACHINES_MAXIMUM];
static uint64_t reserved_round;

static int64_t unclaimed(const struct flownet *net, uint32_t machine)
{
	int64_t slots = flownet_free(net, machine) - claimed[machine];

	return slots > 0 ? slots : 0;
}

static int64_t room_of(const struct flownet *net, uint32_t rack)
{
	return flownet_free_in_rack(net, rack) - reserved[rack];
}

/* A free slot, and its cost for a task. */
struct slot {
	int32_t cost;
	uint32_t machine;
};

static int cheapest_first(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;

	return a->cost != b->cost ? a->cost - b->cost : (int)a->machine - (int)b->machine;
}

/*
 * Lists the free slots, except `own` of the root's machine, of the root's rack or, if these are too few, of the
 * cluster: the cheapest first. Returns their number.
 */
static int64_t list_slots(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root, int64_t own,
			  int64_t tasks, struct slot *slots)
{
	bool wide = room_of(net, world.cluster->machines[root].rack) < tasks + own;
	int64_t count = 0;

	for (uint32_t m = 0; m < world.cluster->machine_count; m++) {
		int32_t cost = real->at(placer, job, (int32_t)root, m);

		if (!wide && world.cluster->machines[m].rack != world.cluster->machines[root].rack)
			continue;
		for (int64_t slot = m == root ? own : 0; slot < unclaimed(net, m); slot++)
			slots[count++] = (struct slot){cost, m};
	}
	qsort(slots, (size_t)count, sizeof *slots, cheapest_first);
	return count;
}

static int64_t cost_of_rest(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root,
			    int64_t tasks)
{
	static struct slot slots[MACHINES_MAXIMUM * 8];
	int64_t count = list_slots(placer, net, job, root, 1, tasks, slots), total = 0;

	for (int64_t i = 0; i < tasks; i++)
		total += i < count ? slots[i].cost : COST_MAXIMUM;
	return total;
}

static void reserve(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root, int64_t own,
		    int64_t tasks)
{
	static struct slot slots[MACHINES_MAXIMUM * 8];
	int64_t count = list_slots(placer, net, job, root, own, tasks, slots);

	for (int64_t i = 0; i < tasks && i < count; i++) {
		claimed[slots[i].machine]++;
		reserved[world.cluster->machines[slots[i].machine].rack]++;
	}
}

static void reserve_anew(struct placer *placer, const struct flownet *net)
{
	size_t count;
	const uint32_t *jobs = flownet_waiting_jobs(net, &count);

	memset(reserved, 0, sizeof reserved);
	memset(claimed, 0, sizeof claimed);
	for (size_t i = 0; i < count; i++) {
		int32_t root = flownet_root_machine(net, jobs[i]);

		if (root != FLOWNET_NONE)
			reserve(placer, net, jobs[i], (uint32_t)root, 0, flownet_waiting_tasks(net, jobs[i]));
	}
	reserved_round = flownet_rounds(net);
}

/* True if fewer than LARGE_MACHINES machines of the rack come before `machine` by their free slots. */
static bool is_among_the_freest(const struct flownet *net, uint32_t machine)
{
	uint32_t rack = world.cluster->machines[machine].rack, before = 0;

	for (uint32_t m = 0; m < world.cluster->machine_count; m++) {
		int64_t more = unclaimed(net, m) - unclaimed(net, machine);

		before += world.cluster->machines[m].rack == rack && flownet_free(net, m) > 0 &&
			  (more > 0 || (more == 0 && m < machine));
	}
	return before < LARGE_MACHINES;
}

/*
 * By cost (a large job that fits: by its class of 1 %); then, if the job fits, in the fuller rack, else in the emptier
 * one; then by cost; then, unless the cost is the least, with more free slots.
 */
static bool is_better(const struct flownet *net, uint32_t a, int64_t a_cost, uint32_t b, int64_t b_cost, bool fits,
		      int64_t tasks)
{
	int64_t least = (tasks - 1) * real->least_cost;
	bool classes = fits && tasks >= LARGE_JOB && least > 0;
	int64_t a_room = room_of(net, world.cluster->machines[a].rack);
	int64_t b_room = room_of(net, world.cluster->machines[b].rack);

	if (classes ? a_cost * 100 / least != b_cost * 100 / least : a_cost != b_cost)
		return a_cost < b_cost;
	if (a_room != b_room)
		return fits ? a_room < b_room : a_room > b_room;
	if (a_cost != b_cost)
		return a_cost < b_cost;
	return a_cost > least && unclaimed(net, a) > unclaimed(net, b);
}

/* Of all machines of the racks with room for the whole job; without such a rack, of the freest machines of each. */
static uint32_t search(struct placer *placer, const struct flownet *net, uint32_t job)
{
	int64_t tasks = flownet_waiting_tasks(net, job), best_cost = 0;
	uint32_t best = COST_NO_MACHINE;
	bool any_fits = false;

	if (reserved_round != flownet_rounds(net))
		reserve_anew(placer, net);
	for (uint32_t r = 0; r < world.cluster->rack_count; r++)
		any_fits |= room_of(net, r) >= tasks;
	for (uint32_t m = 0; m < world.cluster->machine_count; m++) {
		int64_t cost, room = room_of(net, world.cluster->machines[m].rack);

		if (flownet_free(net, m) == 0 || (room > 0 && unclaimed(net, m) == 0) ||
		    (any_fits ? room < tasks : !is_among_the_freest(net, m)))
			continue;
		cost = cost_of_rest(placer, net, job, m, tasks - 1);
		if (best == COST_NO_MACHINE || is_better(net, m, cost, best, best_cost, any_fits, tasks)) {
			best = m;
			best_cost = cost;
		}
	}
	if (best != COST_NO_MACHINE)
		reserve(placer, net, job, best, 1, tasks - 1);
	return best;
}

static uint32_t choose_as_the_search_does(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t task,
					  int32_t rack)
{
	uint32_t wanted, found;

	if (task != flownet_root_task(net, job))
		return real->choose(placer, net, job, task, rack);
	wanted = search(placer, net, job);
	found = real->choose(placer, net, job, task, rack);
	cr_assert_eq(found, wanted, "%s, round %llu: job %u of %u tasks on machine %u, the search says %u", real->name,
		     (unsigned long long)flownet_rounds(net), job, flownet_waiting_tasks(net, job), found, wanted);
	roots_chosen++;
	return found;
}

static int32_t count_one(struct placer *placer, uint32_t job, int32_t root, uint32_t machine)
{
	costs_looked_at++;
	return real->at(placer, job, root, machine);
}

static void count_rack(struct placer *placer, uint32_t job, uint32_t root, uint32_t rack, uint16_t *cost)
{
	costs_looked_at += world.layout->rack_first[rack + 1] - world.layout->rack_first[rack];
	real->rack(placer, job, root, rack, cost);
}

static void watch(const char *policy)
{
	real = policy_find(policy);
	watched = *real;
	roots_chosen = costs_looked_at = reserved_round = 0;
}

static void solve(void)
{
	struct flownet_round round;
	struct error err = {0};

	cr_assert_eq(flownet_solve(world.net, &round, &err), 0, "%s", err.text);
}

static void measure(struct rng *rng, uint32_t pairs)
{
	uint32_t machines = world.cluster->machine_count;

	for (uint32_t i = 0; i < pairs; i++) {
		uint32_t a = (uint32_t)rng_below(rng, machines), b = (uint32_t)rng_below(rng, machines);

		test_world_measure(&world, a, b, (float)rng_below(rng, 200));
	}
}

/* Some jobs end and others arrive, some latencies change; each round's roots are compared with the search. */
static void run_rounds(struct rng *rng, const char *policy, uint32_t machines, uint32_t jobs, uint32_t most_tasks)
{
	enum { ROUNDS = 4 };

	watch(policy);
	watched.choose = choose_as_the_search_does;
	test_world_start_policy(&world, &watched, NULL);
	for (uint32_t m = 0; m < world.cluster->machine_count; m++)
		cr_assert_eq(flownet_slots_changed(world.net, m, (int32_t)rng_below(rng, 5)), 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (uint32_t j = 0; j < jobs; j++) {
			bool there = flownet_job_limit(world.net) > j && flownet_task_limit(world.net, j) > 0;

			if (there && rng_below(rng, 2) == 0)
				cr_assert_eq(flownet_job_ended(world.net, j), 0);
			else if (!there)
				test_world_add_job(&world, j, (int)rng_below(rng, TEST_CURVES),
						   1 + (uint32_t)rng_below(rng, most_tasks));
		}
		measure(rng, machines);
		solve();
		solve();
	}
	test_world_free(&world);
}

Test(policy_root, the_choice_is_that_of_a_search_in_racks_of_48)
{
	static const char *const policies_with_roots[] = {"nomora", "quincy"};
	struct rng rng;

	for (uint64_t seed = 0; seed < 8; seed++) {
		rng_seed(&rng, seed);
		test_world_make(&world, 2, 4, 48, 3);
		world.cluster->default_rtt =
			(struct cluster_default_rtt){5, 10 + (double)rng_below(&rng, 60), 100, 200};
		test_world_random_curves(&world, &rng);
		measure(&rng, seed % 3 == 0 ? 0 : 3000);
		run_rounds(&rng, policies_with_roots[seed % 2], 384, 40, seed % 4 < 2 ? 12 : 150);
		cr_expect_gt(roots_chosen, 40);
	}
}

Test(policy_root, and_in_one_rack_of_all)
{
	struct rng rng;

	for (uint64_t seed = 0; seed < 6; seed++) {
		rng_seed(&rng, seed);
		test_world_make(&world, 1, 1, 150, 3);
		world.cluster->default_rtt = (struct cluster_default_rtt){5, 40, 100, 200};
		test_world_random_curves(&world, &rng);
		measure(&rng, seed % 2 == 0 ? 1000 : 20000);
		run_rounds(&rng, "nomora", 150, 60, 20);
		cr_expect_gt(roots_chosen, 60);
	}
}

/* Two whole jobs fit on a machine. */
Test(policy_root, jobs_of_one_round_do_not_put_their_roots_on_the_same_machine)
{
	static const double falling[] = {1, 0.9, 0.8, 0.7, 0.6, 0.5};
	enum { JOBS = 8, TASKS = 3 };

	test_world_make(&world, 1, 2, 4, 2 * TASKS);
	world.cluster->default_rtt = (struct cluster_default_rtt){1, 40, 100, 200};
	test_world_set_curve(&world, 0, falling, sizeof falling / sizeof falling[0]);
	test_world_start_policy(&world, policy_find("nomora"), NULL);
	for (uint32_t j = 0; j < JOBS; j++)
		test_world_add_job(&world, j, 0, TASKS);
	solve();
	solve();
	for (uint32_t j = 0; j < JOBS; j++)
		for (uint32_t t = 0; t < TASKS; t++)
			cr_expect_eq(flownet_task_machine(world.net, j, t), flownet_root_machine(world.net, j),
				     "job %u, task %u", j, t);
	test_world_free(&world);
}

/* Six slots for jobs of 2, 2 and 5 tasks: the small jobs are placed whole, the large one gets what is left. */
Test(policy_root, in_a_full_cluster_small_jobs_choose_before_one_that_does_not_fit)
{
	static const double falling[] = {1, 0.9, 0.8, 0.7, 0.6, 0.5};

	test_world_make(&world, 1, 1, 3, 2);
	world.cluster->default_rtt = (struct cluster_default_rtt){1, 40, 100, 200};
	test_world_set_curve(&world, 0, falling, sizeof falling / sizeof falling[0]);
	test_world_start_policy(&world, policy_find("nomora"), NULL);
	test_world_add_job(&world, 0, 0, 5);
	test_world_add_job(&world, 1, 0, 2);
	test_world_add_job(&world, 2, 0, 2);
	flownet_hold_others(world.net, true);
	solve();
	flownet_hold_others(world.net, false);
	solve();
	for (uint32_t j = 1; j <= 2; j++)
		cr_expect_eq(flownet_task_machine(world.net, j, 1), flownet_root_machine(world.net, j), "job %u", j);
	test_world_free(&world);
}

/*
 * A job fills a rack, and the machine of its root goes down. The two tasks that ran there fit into a rack of the other
 * pod; in the racks beside the job's running tasks, one slot each is free.
 */
Test(policy_root, a_restarted_root_stays_near_its_tasks_though_its_racks_are_nearly_full)
{
	static const double falling[] = {1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2};
	enum { TASKS = 8, RACK = 4 };
	uint32_t root;

	test_world_make(&world, 2, 3, RACK, 2);
	world.cluster->default_rtt = (struct cluster_default_rtt){1, 10, 30, 80};
	test_world_set_curve(&world, 0, falling, sizeof falling / sizeof falling[0]);
	test_world_start_policy(&world, policy_find("nomora"), NULL);
	test_world_add_job(&world, 0, 0, TASKS);
	solve();
	solve();
	root = (uint32_t)flownet_root_machine(world.net, 0);
	for (uint32_t m = 0; m < world.cluster->machine_count; m++)
		if (m / RACK / 3 == root / RACK / 3 && m / RACK != root / RACK)
			cr_assert_eq(flownet_slots_changed(world.net, m, m % RACK == 0), 0);
	cr_assert_eq(flownet_machine_removed(world.net, root), 0);
	flownet_hold_others(world.net, true);
	solve();
	flownet_hold_others(world.net, false);
	solve();
	cr_expect_neq(flownet_root_machine(world.net, 0), FLOWNET_NONE);
	cr_expect_eq((uint32_t)flownet_root_machine(world.net, 0) / RACK / 3, root / RACK / 3, "root on machine %d",
		     flownet_root_machine(world.net, 0));
	test_world_free(&world);
}

/*
 * Each machine of the rack is evaluated once as a root, in one pass over the rack; after that, for each job, only those
 * whose costs may have risen because slots were taken. Evaluating every machine for every job would be hundreds of
 * times as much.
 */
static void place_in_a_large_rack(const char *policy, uint32_t pairs, uint32_t jobs, uint32_t looks_a_job)
{
	static const double falling[] = {1, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2};
	enum { MACHINES = 2000 };
	struct rng rng;

	rng_seed(&rng, 5);
	test_world_make(&world, 1, 1, MACHINES, 4);
	test_world_set_curve(&world, 0, falling, sizeof falling / sizeof falling[0]);
	measure(&rng, pairs);
	watch(policy);
	watched.at = count_one;
	watched.rack = count_rack;
	test_world_start_policy(&world, &watched, NULL);
	for (uint32_t j = 0; j < jobs; j++)
		test_world_add_job(&world, j, 0, 2 + j);
	solve();
	cr_expect_gt(costs_looked_at, 0);
	cr_expect_leq(costs_looked_at, (uint64_t)MACHINES * (MACHINES + looks_a_job * jobs),
		      "%s looked at %llu costs, %.1f passes a job", real->name, (unsigned long long)costs_looked_at,
		      ((double)costs_looked_at / MACHINES - MACHINES) / jobs);
	test_world_free(&world);
}

Test(policy_root, a_large_rack_is_not_looked_through_for_every_job)
{
	place_in_a_large_rack("nomora", 0, 300, 5);
	place_in_a_large_rack("quincy", 0, 300, 5);
}

Test(policy_root, nor_one_where_each_machine_has_near_ones_of_its_own)
{
	place_in_a_large_rack("nomora", 100000, 150, 21);
}
