/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every algorithm of mcf beside LEMON's two on the same networks in the same run: one node a task, one node a job, and
 * oversubscribed. One JSON line per network and algorithm; CPU seconds, network building included; `ratio` is LEMON's
 * best on that network divided by ours. Every answer of ours is checked by its certificate.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <mcf/verify.h>

#include "instance.h"
#ifdef HAVE_LEMON
#include "lemon_peer.h"
#endif

enum { REPEATS = 3 };

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double lemon_best(const char *name, const struct mcf_problem *problem)
{
	double best = 0;

#ifdef HAVE_LEMON
	static const char *const names[] = {"lemon_network_simplex", "lemon_cost_scaling"};

	for (int k = 0; k < 2; k++) {
		struct lemon_answer answer = lemon_solve((enum lemon_algorithm)k, problem);
		double seconds = answer.build_s + answer.run_s;

		printf("{\"benchmark\": \"mcf\", \"network\": \"%s\", \"algorithm\": \"%s\", \"nodes\": %d, \"arcs\": "
		       "%d, "
		       "\"cpu_s\": %.4f, \"cost\": %lld}\n",
		       name, names[k], problem->node_count, problem->arc_count, seconds, (long long)answer.cost);
		best = best == 0 || seconds < best ? seconds : best;
	}
#else
	(void)name;
	(void)problem;
#endif
	return best;
}

static int run_algorithm(const char *name, const struct mcf_algorithm *row, const struct mcf_problem *problem,
			 double peer)
{
	struct mcf_solution solution = {0};
	struct mcf_verdict verdict;
	double seconds[REPEATS];
	int bad = 0;

	for (int k = 0; k < REPEATS; k++) {
		double start = cpu_seconds();

		mcf_solve(row, problem, &solution);
		seconds[k] = cpu_seconds() - start;
	}
	qsort(seconds, REPEATS, sizeof *seconds, compare);
	if (solution.status != MCF_UNSUITED)
		bad = !mcf_verify(problem, &solution, &verdict);
	printf("{\"benchmark\": \"mcf\", \"network\": \"%s\", \"algorithm\": \"%s\", \"chosen\": \"%s\", \"status\": "
	       "\"%s\", "
	       "\"nodes\": %d, \"arcs\": %d, \"cpu_s\": %.4f, \"cost\": %lld, \"proved\": %s, \"ratio\": %.2f}\n",
	       name, row->name, solution.statistics.algorithm, mcf_status_name(solution.status), problem->node_count,
	       problem->arc_count, seconds[REPEATS / 2], (long long)solution.cost, bad ? "false" : "true",
	       peer / seconds[REPEATS / 2]);
	fflush(stdout);
	mcf_solution_free(&solution);
	return bad;
}

static int run_network(const char *name, struct instance_settings settings, bool by_job, bool structured_too)
{
	struct instance *instance = instance_create(&settings);
	struct mcf_problem problem;
	double peer;
	int bad = 0;

	if (!instance ||
	    (by_job ? instance_problem_by_job(instance, &problem) : instance_problem(instance, &problem)) < 0) {
		fprintf(stderr, "no memory for %s\n", name);
		instance_destroy(instance);
		return 1;
	}
	peer = lemon_best(name, &problem);
	for (const struct mcf_algorithm *row = mcf_algorithms; row->name; row++) {
		if (structured_too || row->solve != mcf_algorithm_find("structured")->solve)
			bad += run_algorithm(name, row, &problem, peer);
	}
	instance_problem_free(&problem);
	instance_destroy(instance);
	return bad;
}

int main(void)
{
	struct instance_settings small = instance_defaults(), large = small, still, over;
	int bad;

	large.machines = 12500;
	large.running = 100000;
	large.waiting = 3000;
	still = over = large;
	still.preemption = false;
	over.waiting += 27000; /* about 5 % more tasks than slots */
	bad = run_network("1250_by_task", small, false, true);
	bad += run_network("12500_no_preemption_by_task", still, false, true);
	bad += run_network("12500_by_job", large, true, true);
	bad += run_network("12500_oversubscribed_by_job", over, true, false);
	bad += run_network("12500_by_task", large, false, true);
	return bad > 0;
}
