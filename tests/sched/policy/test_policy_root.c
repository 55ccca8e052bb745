/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The placement of roots, compared with a search over every machine of the candidate racks for every job; and the
 * number of costs evaluated in large racks.
 */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "place_world.h"

enum { RACKS_LOOKED_AT = 4, RACKS_MAXIMUM = 16, MACHINES_MAXIMUM = 2000 };

static struct test_world world;
static const struct policy *real; /* the policy that this one wraps */
static struct policy watched;
static uint64_t roots_chosen, costs_looked_at;

/* Slots of each rack that jobs with a placed root will need, and of these the ones on the root's machine. */
static int64_t reserved[RACKS_MAXIMUM], claimed[MACHINES_MAXIMUM];
static uint64_t reserved_round;

static int64_t unclaimed(const struct flownet *net, uint32_t machine)
{
	int64_t slots = flownet_free(net, machine) - claimed[machine];

	return slots > 0 ? slots : 0;
}

static void reserve(const struct flownet *net, uint32_t root, bool root_comes, int64_t tasks)
{
	reserved[world.cluster->machines[root].rack] += tasks;
	for (int64_t slots = unclaimed(net, root) - root_comes; slots > 0 && tasks > 0; slots--, tasks--)
		claimed[root]++;
}

static void reserve_anew(const struct flownet *net)
{
	memset(reserved, 0, sizeof reserved);
	memset(claimed, 0, sizeof claimed);
	for (uint32_t j = 0; j < flownet_job_limit(net); j++) {
		int32_t root = flownet_root_machine(net, j);

		if (root != FLOWNET_NONE)
			reserve(net, (uint32_t)root, false, flownet_waiting_tasks(net, j));
	}
	reserved_round = flownet_rounds(net);
}

struct rack_room {
	uint32_t rack;
	int64_t room;
	bool fits;
};

static int by_room(const void *left, const void *right)
{
	const struct rack_room *a = left, *b = right;

	if (a->fits != b->fits)
		return a->fits ? -1 : 1;
	if (a->room != b->room)
		return (a->room < b->room) == a->fits ? -1 : 1;
	return a->rack < b->rack ? -1 : 1;
}

static uint32_t best_racks(const struct flownet *net, int64_t tasks, struct rack_room *racks)
{
	uint32_t count = 0, kept = 0;

	for (uint32_t r = 0; r < world.cluster->rack_count; r++) {
		int64_t room = flownet_free_in_rack(net, r) - reserved[r];

		if (flownet_free_in_rack(net, r) > 0)
			racks[count++] = (struct rack_room){r, room, room >= tasks};
	}
	qsort(racks, count, sizeof *racks, by_room);
	while (kept < count && kept < RACKS_LOOKED_AT && racks[kept].fits == racks[0].fits)
		kept++;
	return kept;
}

static int ascending(const void *left, const void *right)
{
	return *(const int32_t *)left - *(const int32_t *)right;
}

/* The costs of all free slots of the root's rack except the root's own, sorted. Returns the sum of the cheapest. */
static int64_t cost_of_rest(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root,
			    int64_t tasks)
{
	uint32_t rack = world.cluster->machines[root].rack;
	int32_t *costs = calloc((size_t)flownet_free_in_rack(net, rack) + 1, sizeof *costs);
	int64_t count = 0, total = 0;

	for (uint32_t m = 0; m < world.cluster->machine_count; m++) {
		if (world.cluster->machines[m].rack != rack)
			continue;
		for (int64_t slot = m == root; slot < unclaimed(net, m); slot++)
			costs[count++] = real->at(placer, job, (int32_t)root, m);
	}
	qsort(costs, (size_t)count, sizeof *costs, ascending);
	for (int64_t i = 0; i < tasks; i++)
		total += i < count ? costs[i] : COST_MAXIMUM;
	free(costs);
	return total;
}

/*
 * The first of the cheapest machines in the best rack that has one; of equal ones that with the most slots, unless its
 * cost is the minimum possible.
 */
static uint32_t search(struct placer *placer, const struct flownet *net, uint32_t job)
{
	int64_t tasks = flownet_waiting_tasks(net, job), best_cost = INT64_MAX;
	struct rack_room racks[RACKS_MAXIMUM] = {0};
	uint32_t count, best = COST_NO_MACHINE;

	if (reserved_round != flownet_rounds(net))
		reserve_anew(net);
	count = best_racks(net, tasks, racks);
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t m = 0; m < world.cluster->machine_count; m++) {
			int64_t cost;

			if (world.cluster->machines[m].rack != racks[i].rack || flownet_free(net, m) == 0 ||
			    (racks[i].room > 0 && unclaimed(net, m) == 0))
				continue;
			cost = cost_of_rest(placer, net, job, m, tasks - 1);
			if (cost < best_cost || (cost == best_cost && cost > (tasks - 1) * real->least_cost &&
						 world.cluster->machines[best].rack == racks[i].rack &&
						 unclaimed(net, m) > unclaimed(net, best))) {
				best = m;
				best_cost = cost;
			}
		}
	}
	if (best != COST_NO_MACHINE)
		reserve(net, best, true, tasks - 1);
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
	place_in_a_large_rack("nomora", 0, 300, 2);
	place_in_a_large_rack("quincy", 0, 300, 2);
}

Test(policy_root, nor_one_where_each_machine_has_near_ones_of_its_own)
{
	place_in_a_large_rack("nomora", 100000, 150, 16);
}
