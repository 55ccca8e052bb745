/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The structured solver on generated NoMora rounds: from scratch, compared with LEMON on the same arrays, then round
 * after round. One JSON line per figure, in CPU seconds including building the network and reading the answer; the time
 * to compute the rows of costs is separate (rows_p50_ms). Jobs have arcs to machines of the root's rack and to racks of
 * its pod; in the rounds with wide rows, to machines and racks anywhere: 25 million arcs at 12,500 machines. Arguments:
 * largest number of machines; a substring of the names of the figures to run.
 */
#include <base/ns.h>
#include <base/quantile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sched/mcf/structured.h>
#include <sched/mcf/verify.h>

#include "instance.h"
#include "structured_load.h"
#include "structured_rounds.h"
#ifdef HAVE_LEMON
#include "lemon_peer.h"
#endif

enum {
	REPEATS = 5,
	ROUNDS = 200,
	TURNOVER = 300 /* units that end and arrive per round at 12,500 machines */
};

static const char *wanted_part = "";

static void lemon(const char *name, const char *network, const struct mcf_problem *problem, int64_t cost)
{
#ifdef HAVE_LEMON
	static const char *const algorithms[] = {"network_simplex", "cost_scaling"};

	for (int32_t i = 0; i < 2; i++) {
		struct lemon_answer answer = lemon_solve((enum lemon_algorithm)i, problem);

		if (answer.optimal)
			printf("{\"figure\": \"%s\", \"solver\": \"lemon_%s\", \"network\": \"%s\", \"arcs\": %d, "
			       "\"cpu_ms\": %.1f, \"same_optimum\": %s}\n",
			       name, algorithms[i], network, problem->arc_count, 1e3 * (answer.build_s + answer.run_s),
			       answer.cost == cost ? "true" : "false");
		fflush(stdout);
	}
#else
	(void)name, (void)network, (void)problem, (void)cost;
#endif
}

/*
 * Solvers to compare with: none, LEMON on the network with one node per job, or LEMON on that and on the network with
 * one node per task.
 */
enum peers { NO_PEERS, PEERS_COLLAPSED, PEERS_ALL };

static void scratch(const char *name, const struct instance_settings *settings, enum peers peers)
{
	if (!strstr(name, wanted_part))
		return;
	struct instance *instance = instance_create(settings);
	struct load *load = instance ? load_create(instance) : NULL;
	struct structured_result result = {0};
	struct mcf_problem problem;
	double seconds[REPEATS];
	uint64_t bytes = 0;

	for (int32_t i = 0; load && i < REPEATS; i++) {
		double start = ns_to_s(ns_now_cpu());
		struct structured *state = load_state(load);

		if (!state)
			break;
		structured_solve(state, &result);
		load_read(load, state);
		seconds[i] = ns_to_s(ns_now_cpu()) - start;
		bytes = structured_memory_bytes(state);
		structured_destroy(state);
	}
	if (result.cost > 0) {
		quantile_median(seconds, REPEATS); /* sorts */
		printf("{\"figure\": \"%s\", \"solver\": \"structured\", \"machines\": %d, \"tasks\": %d, "
		       "\"unscheduled\": %lld, \"cpu_ms\": %.2f, \"scans\": %llu, \"state_mb\": %.1f}\n",
		       name, settings->machines, settings->running + settings->waiting, (long long)result.unscheduled,
		       1e3 * seconds[REPEATS / 2], (unsigned long long)result.scans, 1e-6 * (double)bytes);
		fflush(stdout);
		if (peers >= PEERS_COLLAPSED && !instance_problem_by_job(instance, &problem)) {
			lemon(name, "collapsed", &problem, result.cost);
			instance_problem_free(&problem);
		}
		if (peers >= PEERS_ALL && !instance_problem(instance, &problem)) {
			lemon(name, "per_task", &problem, result.cost);
			instance_problem_free(&problem);
		}
	}
	load_destroy(load);
	instance_destroy(instance);
}

/* Jobs that lie beyond the first `tasks` tasks are spare: they arrive in later rounds. */
static int32_t first_spare(const struct instance *instance, int32_t tasks)
{
	int32_t job = 0;

	for (int64_t units = 0; job < instance->job_count && units < tasks; job++)
		units += instance->jobs[job].waiting + instance->jobs[job].running_count;
	return job;
}

static bool certified(const struct structured *state)
{
	struct structured_export out;
	struct mcf_verdict verdict;

	if (structured_export(state, &out))
		return false;
	bool right = mcf_verify(&out.problem, &out.solution, &verdict);

	structured_export_free(&out);
	return right;
}

static void rounds(const char *name, struct instance_settings settings, double recost, bool peers)
{
	if (!strstr(name, wanted_part))
		return;
	int32_t tasks = settings.running + settings.waiting;
	double rows_ms[ROUNDS], solver_ms[ROUNDS], scans = 0, moves = 0;
	struct structured_result result;
	struct structured_export out;

	int32_t turnover = TURNOVER * settings.machines / 12500;

	settings.waiting += (ROUNDS + 4) * turnover;
	bool wide = settings.wide;
	int32_t restarts = 0;

	settings.wide = false; /* the rounds compute their own rows, so the instance need not store them */
	struct instance *instance = instance_create(&settings);

	if (instance)
		instance->settings.wide = wide;
	struct rounds *cluster = instance ? rounds_create(instance, first_spare(instance, tasks), 7) : NULL;

	if (!cluster) {
		instance_destroy(instance);
		return;
	}
	double start_ms = 1e3 * rounds_start(cluster, &result);

	printf("{\"figure\": \"%s\", \"solver\": \"structured\", \"step\": \"from scratch\", \"machines\": %d, "
	       "\"unscheduled\": %lld, \"cpu_ms\": %.2f, \"scans\": %llu}\n",
	       name, settings.machines, (long long)result.unscheduled, start_ms, (unsigned long long)result.scans);
	if (peers && !structured_export(rounds_state(cluster), &out)) {
		lemon(name, "collapsed", &out.problem, out.solution.cost);
		structured_export_free(&out);
	}
	for (int32_t i = 0; i < ROUNDS; i++) {
		struct round_seconds seconds = rounds_next(cluster, turnover, recost, &result);

		rows_ms[i] = 1e3 * seconds.rows;
		solver_ms[i] = 1e3 * seconds.solver;
		restarts += result.started_over;
		scans += (double)result.scans / ROUNDS; /* arcs scanned: unlike a time, the same on every machine */
		moves += (double)rounds_moves(cluster) / ROUNDS;
	}
	quantile_median(rows_ms, ROUNDS);   /* sorts */
	quantile_median(solver_ms, ROUNDS); /* sorts */
	printf("{\"figure\": \"%s\", \"solver\": \"structured\", \"step\": \"round\", \"machines\": %d, \"tasks\": "
	       "%lld, "
	       "\"recosted\": %.2f, \"p50_ms\": %.2f, \"p99_ms\": %.2f, \"rows_p50_ms\": %.2f, \"unscheduled\": %lld, "
	       "\"from_nothing\": %d, \"scans\": %.0f, \"moves\": %.1f, \"certified\": %s, \"state_mb\": %.1f}\n",
	       name, settings.machines, (long long)rounds_units(cluster), recost, solver_ms[ROUNDS / 2],
	       solver_ms[ROUNDS * 99 / 100], rows_ms[ROUNDS / 2], (long long)result.unscheduled, restarts, scans, moves,
	       certified(rounds_state(cluster)) ? "true" : "false",
	       1e-6 * (double)structured_memory_bytes(rounds_state(cluster)));
	fflush(stdout);
	rounds_destroy(cluster);
	instance_destroy(instance);
}

static struct instance_settings sized(int32_t machines, bool preemption)
{
	struct instance_settings settings = instance_defaults();

	settings.machines = machines;
	settings.running = 8 * machines;
	settings.waiting = machines / 4;
	settings.preemption = preemption;
	return settings;
}

int main(int argc, char **argv)
{
	static const int32_t sizes[] = {1250, 12500, 50000};
	int32_t largest = argc > 1 ? atoi(argv[1]) : 12500;
	int32_t machines = largest < 12500 ? largest : 12500;

	if (argc > 2)
		wanted_part = argv[2];
	for (int32_t i = 0; i < 3 && sizes[i] <= largest; i++) {
		struct instance_settings settings = sized(sizes[i], true);

		enum peers peers = sizes[i] <= 12500 ? PEERS_ALL : NO_PEERS;

		scratch("scratch, preemption", &settings, peers);
		settings = sized(sizes[i], false);
		scratch("scratch, no preemption", &settings, peers);
	}
	rounds("rounds, 2 %", sized(machines, true), 0.02, false);
	rounds("rounds, 80 %", sized(machines, true), 0.8, false);
	struct instance_settings full = sized(machines, true), over = full;

	full.waiting = (int32_t)(1.5 * machines); /* 10 slots a machine on average */
	scratch("scratch, 95 % full", &full, PEERS_COLLAPSED);
	full.waiting = (int32_t)(1.9 * machines);
	scratch("scratch, 99 % full", &full, PEERS_COLLAPSED);
	over.waiting = (int32_t)(2.5 * machines);
	scratch("scratch, 5 % oversubscribed, running anywhere", &over, PEERS_COLLAPSED);
	rounds("rounds, 5 % oversubscribed", over, 0.02, true);
	over.wide = true;
	rounds("rounds, wide rows, 5 % oversubscribed", over, 0.02, false);
	return 0;
}
