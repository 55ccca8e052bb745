/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows of all measured pairs through the live scheduler, in parts as the daemon reads them, at 12,500 machines with
 * 100,000 running tasks in jobs of ten:
 *
 *   take      the entries of the matrix, stored in the view (no round in between)
 *   rounds    the rounds after the window until nothing is left to do
 *   longest   of all calls, the longest: a submission waits for it
 *
 * bench_window CURVE [GAIN] prints a JSON line with moves off and one with moves on, with GAIN as --migrate-gain
 * (default 0.1; with 0 every task takes part); CPU time, medians of windows.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/ns.h>
#include <base/quantile.h>
#include <base/rng.h>
#include <sched/live/live.h>

enum { MACHINES = 12500, PER_RACK = 48, RACKS_PER_POD = 16, SLOTS = 12, JOBS = 10000, PER_JOB = 10, PEERS = 56 };
enum { WINDOWS = 7, PART = 16384 };

struct world {
	struct live *live;
	struct latency_matrix *matrix;
	struct rng rng;
	double now_s;
	int64_t epoch_s;
};

static void need(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "bench_window: %s\n", what);
		exit(1);
	}
}

/* A quarter of the peers are neighbours, the others are all over the cluster. */
static void measure(struct world *world)
{
	for (uint32_t a = 0; a < MACHINES; a++) {
		for (uint32_t step = 1; step <= PEERS; step++) {
			uint32_t b = (a + (step <= PEERS / 4 ? step : step * (MACHINES / (PEERS + 1)))) % MACHINES;
			double base = a / PER_RACK == b / PER_RACK                                       ? 20
				      : a / (PER_RACK * RACKS_PER_POD) == b / (PER_RACK * RACKS_PER_POD) ? 60
													 : 250;
			double rtt_us = base * (0.8 + 0.4 * (double)rng_below(&world->rng, 1000) / 1000);
			struct latency_entry entry = {.source = a,
						      .destination = b,
						      .rtt_p50_us = rtt_us,
						      .rtt_p99_us = rtt_us,
						      .rtt_max_us = rtt_us,
						      .samples = 100,
						      .updated_at = ns_from_us((double)(world->epoch_s * 1000000))};

			need(latency_matrix_set(world->matrix, &entry) == 0, "matrix");
		}
	}
}

/* Runs rounds until nothing is due; returns the longest, and adds to *seconds. */
static double run_rounds(struct world *world, double *seconds, int *rounds)
{
	struct error err = {0};
	double longest = 0;

	while (live_next_s(world->live, world->now_s) <= 0) {
		double begin = ns_to_s(ns_now_cpu()), took;

		need(live_step(world->live, world->now_s, &err) >= 0, err.text);
		took = ns_to_s(ns_now_cpu()) - begin;
		longest = fmax(longest, took);
		*seconds += took;
		++*rounds;
	}
	return longest;
}

/* Returns the longest call. */
static double take_window(struct world *world, double *seconds)
{
	size_t count = latency_matrix_count(world->matrix);
	double longest = 0;

	for (size_t first = 0; first < count; first += PART) {
		struct live_matrix_part part = {.statistic = LATENCY_STATISTIC_P99,
						.first = first,
						.count = count - first < PART ? count - first : PART,
						.wall = ns_from_us((double)(world->epoch_s * 1000000)),
						.now_s = world->now_s};
		struct live_matrix_outcome outcome;
		double begin = ns_to_s(ns_now_cpu()), took;

		need(live_latency_matrix(world->live, world->matrix, &part, &outcome) == 0, "memory");
		if (first + PART >= count)
			live_latency_settle(world->live);
		took = ns_to_s(ns_now_cpu()) - begin;
		longest = fmax(longest, took);
		*seconds += took;
	}
	return longest;
}

static void submit(struct world *world, int number)
{
	struct job_task tasks[PER_JOB];
	char id[24], names[PER_JOB][8];
	struct job job = {.id = id, .curve = (char *)"curve", .tasks = tasks, .task_count = PER_JOB};
	struct error err = {0};

	snprintf(id, sizeof id, "j%d", number);
	for (int t = 0; t < PER_JOB; t++) {
		snprintf(names[t], sizeof names[t], "t%d", t);
		tasks[t] = (struct job_task){.name = names[t], .machine = JOB_NO_MACHINE};
	}
	need(live_submit(world->live, &job, 0, true, world->now_s, &err) == 0, err.text);
}

static void make(struct world *world, const char *curve_file, bool moves, double gain)
{
	struct error err = {0};
	struct curve *curve = curve_load(curve_file, &err);
	struct live_settings settings;
	double seconds = 0;
	int rounds = 0;

	need(curve != NULL, err.text);
	live_settings_default(&settings);
	settings.confirm_at_once = true;
	settings.max_age_s = 0;
	settings.moves.mode = moves ? MIGRATION_ON : MIGRATION_OFF;
	settings.moves.gain = gain;
	*world = (struct world){.live = live_create(&settings, &err),
				.matrix = latency_matrix_create(),
				.now_s = 1000,
				.epoch_s = 1700000000};
	rng_seed(&world->rng, 1);
	need(world->live && world->matrix && live_curve_set(world->live, "curve", curve, &err) == 0, err.text);
	curve_destroy(curve);
	for (int m = 0; m < MACHINES; m++) {
		char name[24], rack[24], pod[24];

		snprintf(name, sizeof name, "m%d", m);
		snprintf(rack, sizeof rack, "r%d", m / PER_RACK);
		snprintf(pod, sizeof pod, "p%d", m / PER_RACK / RACKS_PER_POD);
		need(live_machine_set(world->live, name, rack, pod, SLOTS, LIVE_UP, &err) == 0, err.text);
		need(latency_matrix_add_host(world->matrix, name) == m, "host");
	}
	measure(world);
	take_window(world, &seconds);
	for (int j = 0; j < JOBS; j++) {
		submit(world, j);
		if (j % 500 == 499)
			run_rounds(world, &seconds, &rounds);
	}
}

int main(int argc, char **argv)
{
	for (int moves = 0; moves < 2 && argc >= 2; moves++) {
		double take[WINDOWS], rounds[WINDOWS], longest_take[WINDOWS], longest_round[WINDOWS];
		int count = 0;
		struct world world;

		make(&world, argv[1], moves, argc > 2 ? atof(argv[2]) : 0.1);
		for (int w = 0; w < WINDOWS; w++) {
			world.now_s += 1;
			world.epoch_s += 1;
			measure(&world);
			take[w] = rounds[w] = 0;
			longest_take[w] = take_window(&world, &take[w]);
			longest_round[w] = run_rounds(&world, &rounds[w], &count);
		}
		printf("{\"benchmark\": \"window\", \"moves\": %s, \"pairs\": %zu, \"take_ms\": %.1f, \"rounds_ms\": "
		       "%.1f, "
		       "\"rounds\": %d, \"longest_take_ms\": %.2f, \"longest_round_ms\": %.2f, \"moves_made\": %llu}\n",
		       moves ? "true" : "false", latency_matrix_count(world.matrix),
		       quantile_median(take, WINDOWS) * 1e3, quantile_median(rounds, WINDOWS) * 1e3, count / WINDOWS,
		       quantile_median(longest_take, WINDOWS) * 1e3, quantile_median(longest_round, WINDOWS) * 1e3,
		       (unsigned long long)live_totals(world.live).moves);
		fflush(stdout);
		live_destroy(world.live);
		latency_matrix_destroy(world.matrix);
	}
	return argc >= 2 ? 0 : 2;
}
