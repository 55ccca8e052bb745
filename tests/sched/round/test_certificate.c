/* SPDX-License-Identifier: BSD-3-Clause */
/* The certificate is the placement's: a round's tasks cost what the solver proved, and no places cost less. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sched/mcf/algorithms.h>
#include <sched/round/round.h>

#include "place_world.h"
#include "random_case.h"

enum { CASES = 10000 };

/* Numbers of the case's machines and jobs, in the order in which a world gets them. */
struct order {
	uint32_t machines[CASE_MACHINES], jobs[CASE_JOBS];
};

static struct order order_of(const struct random_case *random, struct rng *rng)
{
	struct order order;

	for (uint32_t m = 0; m < CASE_MACHINES; m++)
		order.machines[m] = m;
	for (uint32_t j = 0; j < CASE_JOBS; j++)
		order.jobs[j] = j;
	if (rng) {
		rng_shuffle(rng, order.machines, random->machine_count, sizeof *order.machines);
		rng_shuffle(rng, order.jobs, random->job_count, sizeof *order.jobs);
	}
	return order;
}

/* The world's number of the case's machine. */
static uint32_t number_of(const struct order *order, int32_t machine)
{
	uint32_t number = 0;

	while (order->machines[number] != (uint32_t)machine)
		number++;
	return number;
}

static void make_cluster(struct test_world *world, const struct random_case *random, const struct order *order)
{
	struct error err = {0};

	*world = (struct test_world){.cluster = cluster_create()};
	for (uint32_t i = 0; i < random->machine_count; i++) {
		const struct case_machine *machine = &random->machines[order->machines[i]];
		char name[16], rack[16];

		snprintf(name, sizeof name, "m%u", order->machines[i]);
		snprintf(rack, sizeof rack, "r%u", machine->rack);
		cr_assert_geq(cluster_add_machine(world->cluster, name, rack, "p", machine->slots, &err), 0, "%s",
			      err.text);
	}
	world->layout = cost_layout_create(world->cluster);
	world->view = latency_view_create(world->layout);
	for (uint32_t a = 0; a < random->machine_count; a++)
		for (uint32_t b = 0; b < random->machine_count; b++)
			cr_assert_eq(latency_view_set(world->view, a, b,
						      random->rtt_us[order->machines[a]][order->machines[b]]),
				     0);
}

static void add_jobs(struct test_world *world, const struct random_case *random, const struct order *order)
{
	for (int k = 0; k < CASE_CURVES; k++)
		cr_assert_eq(placer_add_curve(world->placer, random->curves[k]), k);
	for (uint32_t m = 0; m < random->machine_count; m++)
		cr_assert_eq(flownet_machine_drained(world->net, m, random->machines[order->machines[m]].draining), 0);
	for (uint32_t j = 0; j < random->job_count; j++) {
		const struct case_job *job = &random->jobs[order->jobs[j]];

		cr_assert_eq(placer_job_arrived(world->placer, j, job->curve, 0, (uint32_t)(1024 / job->weight)), 0);
		placer_job_graph(world->placer, j, random_case_graph(random, order->jobs[j]));
		for (uint32_t t = 0; t < job->tasks; t++)
			cr_assert_eq(
				job->machine[t] == CASE_WAITS
					? flownet_task_arrived(world->net, j, t, 0)
					: flownet_task_found(world->net, j, t, number_of(order, job->machine[t]), 1),
				0);
	}
}

static void read_places(const struct test_world *world, const struct random_case *random, const struct order *order,
			int32_t places[CASE_JOBS][CASE_TASKS])
{
	for (uint32_t j = 0; j < random->job_count; j++) {
		for (uint32_t t = 0; t < random->jobs[order->jobs[j]].tasks; t++) {
			int32_t machine = flownet_task_machine(world->net, j, t);

			places[order->jobs[j]][t] =
				machine == FLOWNET_NONE ? CASE_WAITS : (int32_t)order->machines[machine];
		}
	}
}

/* Runs a round. Returns the cost of the places, recomputed; *certified: the cost of the solver's answer. */
static int64_t place(const struct random_case *random, const struct order *order,
		     const struct policy_settings *settings, int64_t *certified)
{
	struct test_world world;
	struct round_outcome outcome = {0};
	struct error err = {0};
	int32_t places[CASE_JOBS][CASE_TASKS];
	int64_t cost;

	make_cluster(&world, random, order);
	test_world_start(&world, "nomora", settings);
	add_jobs(&world, random, order);
	cr_assert_eq(round_run(world.placer, &(struct round_options){0}, &outcome, &err), 0, "%s", err.text);
	cr_assert(outcome.last.verified);
	read_places(&world, random, order, places);
	*certified = outcome.last.cost;
	cost = random_case_cost_of(random, places);
	/* The solver's state is still that of the places, also where tasks were exchanged: a further round changes
	 * nothing. */
	cr_assert_eq(round_run(world.placer, &(struct round_options){0}, &outcome, &err), 0, "%s", err.text);
	cr_assert(outcome.last.verified);
	read_places(&world, random, order, places);
	cr_assert_eq(random_case_cost_of(random, places), cost);
	round_outcome_free(&outcome);
	test_world_free(&world);
	return cost;
}

static struct policy_settings exact_settings(void)
{
	struct policy_settings settings;

	policy_settings_default(&settings);
	settings.machine_arcs = 0;
	settings.reference = LATENCY_REFERENCE_ABSOLUTE;
	settings.flow.verify = true;
	return settings;
}

/* Share of the measurements without an answer, by the number of the case. */
static double silent_share(int number)
{
	static const double shares[] = {0, 0.01, 0.03, 0.1, 0.3};

	return shares[number % 5];
}

Test(certificate, the_placement_costs_what_was_proved_and_no_placement_costs_less)
{
	struct policy_settings settings = exact_settings();
	struct random_case random;
	int64_t certified;
	struct rng rng;

	rng_seed(&rng, 38);
	for (int number = 0; number < CASES; number++) {
		struct order order;

		random_case_draw(&random, &rng, silent_share(number));
		order = order_of(&random, NULL);
		cr_assert_eq(place(&random, &order, &settings, &certified), certified, "case %d", number);
		cr_assert_eq(certified, random_case_optimum(&random), "case %d: %ld %ld", number, (long)certified,
			     (long)random_case_optimum(&random));
		random_case_free(&random);
	}
}

Test(certificate, the_order_of_machines_and_jobs_and_the_algorithm_change_no_cost)
{
	static const char *const algorithms[] = {NULL, "simplex", "scaling"};
	struct policy_settings settings = exact_settings();
	struct random_case random;
	struct rng rng;

	rng_seed(&rng, 39);
	for (int number = 0; number < CASES / 4; number++) {
		const char *algorithm = algorithms[number % 3];
		int64_t certified, other;
		struct order order;

		random_case_draw(&random, &rng, silent_share(number));
		order = order_of(&random, NULL);
		settings.flow.algorithm = NULL;
		place(&random, &order, &settings, &certified);
		order = order_of(&random, &rng);
		settings.flow.algorithm = algorithm ? mcf_algorithm_find(algorithm) : NULL;
		cr_assert_eq(place(&random, &order, &settings, &other), certified, "case %d", number);
		cr_assert_eq(other, certified, "case %d", number);
		random_case_free(&random);
	}
}

/* The weights are those of jobs that declare 16 to 1,024 tasks. */
Test(certificate, with_weights_the_weighted_costs_are_proved_and_least)
{
	struct policy_settings settings = exact_settings();
	struct random_case random;
	struct rng rng;

	settings.weights = POLICY_WEIGHTS_JOB;
	rng_seed(&rng, 42);
	for (int number = 0; number < CASES / 4; number++) {
		int64_t certified;
		struct order order;

		random_case_draw(&random, &rng, silent_share(number));
		for (uint32_t j = 0; j < random.job_count; j++)
			random.jobs[j].weight = INT64_C(1) << rng_below(&rng, 7);
		order = order_of(&random, &rng);
		settings.flow.algorithm = rng_below(&rng, 2) ? NULL : mcf_algorithm_find("simplex");
		cr_assert_eq(place(&random, &order, &settings, &certified), certified, "case %d", number);
		cr_assert_eq(certified, random_case_optimum(&random), "case %d", number);
		random_case_free(&random);
	}
}

/*
 * With thresholds or cut rows, a task may go to a rack or to the cluster at the cost of the most expensive machine: the
 * placement costs at most what was proved, and no task is across a silent pair.
 */
Test(certificate, with_thresholds_the_placement_costs_at_most_what_was_proved)
{
	struct policy_settings settings = exact_settings();
	struct random_case random;
	struct rng rng;

	rng_seed(&rng, 40);
	for (int number = 0; number < CASES; number++) {
		static const int32_t thresholds[] = {105, 110, 150, 400, 1000};
		int64_t certified, cost;
		struct order order;

		random_case_draw(&random, &rng, silent_share(number));
		order = order_of(&random, &rng);
		settings.machine_threshold = thresholds[rng_below(&rng, 5)];
		settings.rack_threshold = thresholds[rng_below(&rng, 5)];
		settings.machine_arcs = (uint32_t)rng_below(&rng, 4);
		settings.spill = rng_below(&rng, 2) ? POLICY_SPILL_ANY : POLICY_SPILL_BEST;
		cost = place(&random, &order, &settings, &certified);
		cr_assert_leq(cost, certified, "case %d", number);
		cr_assert_geq(cost, random_case_optimum(&random), "case %d", number);
		random_case_free(&random);
	}
}

/* The cost of the running tasks, by the machines of their roots. A task that its root cannot reach costs as if it
 * waited. */
static int64_t running_cost(const struct random_case *random)
{
	int64_t total = 0;

	for (uint32_t j = 0; j < random->job_count; j++) {
		const struct case_job *job = &random->jobs[j];

		for (uint32_t t = 1; t < job->tasks; t++) {
			int64_t cost = job->machine[t] == CASE_WAITS
					       ? 0
					       : random_case_cost(random, job->curve, job->machine[0], job->machine[t]);

			total += job->machine[t] != CASE_WAITS && cost == 0 ? CASE_WAITING_COST : cost;
		}
	}
	return total;
}

/* The least cost of any machines of the jobs' roots, from job j on, and any places of the other tasks. */
static int64_t optimum_of_roots(struct random_case *random, const bool waits[CASE_JOBS], uint32_t j)
{
	int64_t best = INT64_MAX;

	while (j < random->job_count && !waits[j])
		j++;
	if (j == random->job_count)
		return random_case_optimum(random) + running_cost(random);
	for (uint32_t m = 0; m < random->machine_count; m++) {
		int64_t cost;

		if (random->machines[m].draining || random_case_free_slots(random, m) == 0)
			continue;
		random->jobs[j].machine[0] = (int32_t)m;
		cost = optimum_of_roots(random, waits, j + 1);
		best = cost < best ? cost : best;
		random->jobs[j].machine[0] = CASE_WAITS;
	}
	return best;
}

/* Takes the roots of up to `roots` jobs off their machines; some of the jobs have running tasks. */
static uint32_t take_roots_off(struct random_case *random, struct rng *rng, uint32_t roots, bool waits[CASE_JOBS])
{
	uint32_t taken = 0;

	for (uint32_t j = 0; j < random->job_count && taken < roots; j++) {
		struct case_job *job = &random->jobs[j];

		if (job->tasks < 2)
			continue;
		waits[j] = true;
		job->machine[0] = CASE_WAITS;
		for (uint32_t t = 1; t < job->tasks && rng_below(rng, 2) == 0; t++)
			if (job->machine[t] == CASE_WAITS)
				job->machine[t] = random_case_place(random, rng);
		taken++;
	}
	return taken;
}

/* Lets a round choose the roots, and stores their machines in the case. Returns false if one waits. */
static bool choose_roots(struct random_case *random, const bool waits[CASE_JOBS])
{
	struct policy_settings settings = exact_settings();
	struct order order = order_of(random, NULL);
	struct round_outcome outcome = {0};
	struct test_world world;
	struct error err = {0};
	bool placed = true;

	make_cluster(&world, random, &order);
	test_world_start(&world, "nomora", &settings);
	add_jobs(&world, random, &order);
	for (uint32_t j = 0; j < random->job_count; j++)
		cr_assert_eq(flownet_job_expects(world.net, j, random->jobs[j].tasks), 0);
	cr_assert_eq(round_run(world.placer, &(struct round_options){0}, &outcome, &err), 0, "%s", err.text);
	for (uint32_t j = 0; j < random->job_count; j++) {
		if (waits[j])
			random->jobs[j].machine[0] = flownet_root_machine(world.net, j);
		placed = placed && random->jobs[j].machine[0] != CASE_WAITS;
	}
	if (placed) {
		cr_assert(outcome.last.verified);
		cr_assert_eq(outcome.last.cost, random_case_optimum(random));
	}
	round_outcome_free(&outcome);
	test_world_free(&world);
	return placed;
}

/*
 * Compares 1,000 rounds with the best of all machines for each waiting root. alone: the cluster has no other jobs. At
 * least the share `optimal` of the rounds costs no more; on average, a round costs at most the share `over` more.
 */
static void compare_with_all_machines(uint32_t roots, bool alone, double optimal, double over)
{
	enum { ROUNDS = 1000 };
	struct random_case random;
	int rounds = 0, best_ones = 0;
	double sum = 0;
	struct rng rng;

	rng_seed(&rng, 39 + roots);
	for (int number = 0; rounds < ROUNDS; number++) {
		bool waits[CASE_JOBS] = {false};

		random_case_draw(&random, &rng, silent_share(number));
		random.job_count = alone && random.job_count > roots ? roots : random.job_count;
		if (take_roots_off(&random, &rng, roots, waits) == roots) {
			int64_t best = optimum_of_roots(&random, waits, 0), found;

			if (choose_roots(&random, waits)) {
				found = random_case_optimum(&random) + running_cost(&random);
				cr_assert_geq(found, best);
				rounds++;
				best_ones += found == best;
				sum += (double)found / (double)best - 1;
			}
		}
		random_case_free(&random);
	}
	cr_expect_geq(best_ones, optimal * ROUNDS, "%d of %d rounds are optimal", best_ones, ROUNDS);
	cr_expect_leq(sum, over * ROUNDS, "%.2f %% above the optimum", 100 * sum / ROUNDS);
}

Test(certificate, the_root_of_a_job_alone_is_on_the_best_machine)
{
	compare_with_all_machines(1, true, 0.97, 0.01);
}

Test(certificate, beside_other_jobs_roots_are_near_the_best_machines)
{
	compare_with_all_machines(1, false, 0.63, 0.02);
	compare_with_all_machines(2, false, 0.45, 0.05);
}
