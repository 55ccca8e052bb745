/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every algorithm of mcf and two of LEMON's on the same networks in the same run: the network families on which such
 * codes are usually compared, and a NoMora round with one node a task, one node a job, and oversubscribed. `bench_mcf
 * NAME...` runs only those networks. One JSON line per network and algorithm, in CPU seconds including the building of
 * the network. `ratio` is the time of LEMON's faster algorithm divided by ours, `ratio_to_same` that of LEMON's
 * algorithm of the same kind divided by ours. Every answer of ours is checked by its certificate.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/ns.h>
#include <base/quantile.h>
#include <sched/mcf/algorithms.h>
#include <sched/mcf/verify.h>

#include "families.h"
#include "instance.h"
#ifdef HAVE_LEMON
#include "lemon_peer.h"
#endif

enum { REPEATS = 3 };

/* LEMON's seconds; 0 if it is not installed. */
struct peer {
	double simplex_s, scaling_s;
};

static struct peer run_peer(const char *name, const struct mcf_problem *problem)
{
	struct peer peer = {0};

#ifdef HAVE_LEMON
	static const char *const names[] = {"lemon_network_simplex", "lemon_cost_scaling"};

	for (int k = 0; k < 2; k++) {
		double seconds[REPEATS];
		int64_t cost = 0;

		for (int i = 0; i < REPEATS; i++) {
			struct lemon_answer answer = lemon_solve((enum lemon_algorithm)k, problem);

			seconds[i] = answer.build_s + answer.run_s;
			cost = answer.cost;
		}
		quantile_median(seconds, REPEATS); /* sorts */
		printf("{\"benchmark\": \"mcf\", \"network\": \"%s\", \"algorithm\": \"%s\", \"nodes\": %d, \"arcs\": "
		       "%d, \"cpu_s\": %.4f, \"cost\": %lld}\n",
		       name, names[k], problem->node_count, problem->arc_count, seconds[REPEATS / 2], (long long)cost);
		*(k == LEMON_NETWORK_SIMPLEX ? &peer.simplex_s : &peer.scaling_s) = seconds[REPEATS / 2];
	}
#else
	(void)name;
	(void)problem;
#endif
	return peer;
}

static int run_algorithm(const char *name, const struct mcf_algorithm *row, const struct mcf_problem *problem,
			 struct peer peer)
{
	struct mcf_solution solution = {0};
	struct mcf_verdict verdict;
	double seconds[REPEATS], best = peer.simplex_s < peer.scaling_s ? peer.simplex_s : peer.scaling_s;
	double same = row->solve == mcf_algorithm_find("scaling")->solve ? peer.scaling_s : peer.simplex_s;
	int bad = 0;

	for (int k = 0; k < REPEATS; k++) {
		double start = ns_to_s(ns_now_cpu());

		mcf_solve(row, problem, &solution);
		seconds[k] = ns_to_s(ns_now_cpu()) - start;
	}
	quantile_median(seconds, REPEATS); /* sorts */
	if (solution.status != MCF_UNSUITED)
		bad = !mcf_verify(problem, &solution, &verdict);
	printf("{\"benchmark\": \"mcf\", \"network\": \"%s\", \"algorithm\": \"%s\", \"chosen\": \"%s\", \"status\": "
	       "\"%s\", \"nodes\": %d, \"arcs\": %d, \"cpu_s\": %.4f, \"cost\": %lld, \"proved\": %s",
	       name, row->name, solution.statistics.algorithm, mcf_status_name(solution.status), problem->node_count,
	       problem->arc_count, seconds[REPEATS / 2], (long long)solution.cost, bad ? "false" : "true");
	if (best > 0)
		printf(", \"ratio\": %.2f, \"ratio_to_same\": %.2f", best / seconds[REPEATS / 2],
		       same / seconds[REPEATS / 2]);
	printf("}\n");
	fflush(stdout);
	mcf_solution_free(&solution);
	return bad;
}

static int run_problem(const char *name, const struct mcf_problem *problem, bool structured_too)
{
	struct peer peer = run_peer(name, problem);
	int bad = 0;

	for (const struct mcf_algorithm *row = mcf_algorithms; row->name; row++) {
		if (structured_too || row->solve != mcf_algorithm_find("structured")->solve)
			bad += run_algorithm(name, row, problem, peer);
	}
	return bad;
}

static int run_family(const struct family *family)
{
	struct mcf_problem problem;
	int bad;

	if (family_make(family, family->size, 1, &problem) < 0) {
		fprintf(stderr, "no memory for %s\n", family->name);
		return 1;
	}
	bad = run_problem(family->name, &problem, false);
	family_free(&problem);
	return bad;
}

/* NoMora rounds: changes to the default instance. */
struct round {
	const char *name;
	bool large, still, over, by_job;
};

static const struct round rounds[] = {
	{.name = "1250_by_task"},
	{.name = "12500_no_preemption_by_task", .large = true, .still = true},
	{.name = "12500_by_job", .large = true, .by_job = true},
	{.name = "12500_oversubscribed_by_job", .large = true, .over = true, .by_job = true},
	{.name = "12500_by_task", .large = true},
	{NULL},
};

static int run_round(const struct round *round)
{
	struct instance_settings settings = instance_defaults();
	struct instance *instance;
	struct mcf_problem problem;
	int bad;

	if (round->large) {
		settings.machines = 12500;
		settings.running = 100000;
		settings.waiting = 3000;
	}
	settings.preemption = !round->still;
	settings.waiting += round->over ? 27000 : 0; /* about 5 % more tasks than slots */
	instance = instance_create(&settings);
	if (!instance ||
	    (round->by_job ? instance_problem_by_job(instance, &problem) : instance_problem(instance, &problem)) < 0) {
		fprintf(stderr, "no memory for %s\n", round->name);
		instance_destroy(instance);
		return 1;
	}
	bad = run_problem(round->name, &problem, true);
	instance_problem_free(&problem);
	instance_destroy(instance);
	return bad;
}

static bool is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], name) == 0)
			return true;
	}
	return argc == 1;
}

int main(int argc, char **argv)
{
	int bad = 0;

	for (const struct family *family = families; family->name; family++) {
		if (is_wanted(family->name, argc, argv))
			bad += run_family(family);
	}
	for (const struct round *round = rounds; round->name; round++) {
		if (is_wanted(round->name, argc, argv))
			bad += run_round(round);
	}
	return bad > 0;
}
