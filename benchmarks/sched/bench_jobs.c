/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds that each place 300 jobs of 2 to 50 tasks with their roots, by the default policy: 12 % of the slots are free,
 * the simulator's round trips, three of the paper's curves. The jobs of a round end before the next one, and all round
 * trips change. The first round is a warm-up.
 *
 * bench_jobs CURVES [MACHINES [ROUNDS]]: CURVES is the folder of the curves. One JSON line; CPU time. `answer` is a
 * hash of all moves: two programs with the same hash decide alike.
 */
#include <base/hash.h>
#include <base/ns.h>
#include <base/quantile.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/rng.h>
#include <sched/round/round.h>
#include <sched/sim/latency.h>

enum { JOBS = 300, PER_RACK = 48, RACKS_PER_POD = 16, SLOTS = 12, CURVES = 3 };

static struct cluster *cluster;
static struct cost_layout *layout;
static struct sim_latency latency;
static struct placer *placer;
static struct round_outcome outcome;

static void need(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "bench_jobs: %s\n", what);
		exit(1);
	}
}

static void make_cluster(uint32_t machines)
{
	struct sim_latency_settings settings;

	sim_latency_settings_default(&settings);
	cluster = cluster_create();
	need(cluster != NULL, "memory");
	for (uint32_t m = 0; m < machines; m++) {
		char name[24], rack[24], pod[24];

		snprintf(name, sizeof name, "m%u", m);
		snprintf(rack, sizeof rack, "r%u", m / PER_RACK);
		snprintf(pod, sizeof pod, "p%u", m / PER_RACK / RACKS_PER_POD);
		need(cluster_add_machine(cluster, name, rack, pod, SLOTS, NULL) >= 0, "machine");
	}
	layout = cost_layout_create(cluster);
	need(layout && sim_latency_start(&latency, &settings, layout, NULL) == 0, "memory");
}

/* Each slot is free with a probability of 12 %. */
static void make_placer(const char *folder, struct rng *rng)
{
	static const char *const names[CURVES] = {"memcached", "strads", "tensorflow"};
	struct policy_settings settings;
	struct error err = {0};

	policy_settings_default(&settings);
	placer = placer_create(policy_find("nomora"), layout, sim_latency_source(&latency), &settings, &err);
	need(placer != NULL, err.text);
	for (int c = 0; c < CURVES; c++) {
		char path[4096];
		struct curve *curve;

		snprintf(path, sizeof path, "%s/%s.json", folder, names[c]);
		curve = curve_load(path, &err);
		need(curve && placer_add_curve(placer, curve) == c, err.text);
		curve_destroy(curve);
	}
	for (uint32_t m = 0; m < cluster->machine_count; m++) {
		int32_t slots = 0;

		for (int s = 0; s < SLOTS; s++)
			slots += rng_below(rng, 100) < 12;
		sim_latency_set_present(&latency, m, true);
		need(flownet_machine_added(placer_net(placer), m, slots) == 0, "memory");
	}
}

static void add_jobs(struct rng *rng)
{
	for (uint32_t j = 0; j < JOBS; j++) {
		uint32_t tasks = 2 + (uint32_t)rng_below(rng, rng_below(rng, 4) == 0 ? 49 : 15);

		need(placer_job_arrived(placer, j, (int32_t)rng_below(rng, CURVES), 0, tasks) == 0, "memory");
		for (uint32_t t = 0; t < tasks; t++)
			need(flownet_task_arrived(placer_net(placer), j, t, 0) == 0, "memory");
	}
}

static uint64_t hash_moves(uint64_t hash)
{
	for (size_t i = 0; i < outcome.move_count; i++) {
		const struct flownet_move *move = &outcome.moves[i];

		hash = hash_mix(hash ^ ((uint64_t)move->job << 40 | (uint64_t)move->task << 20 | (uint32_t)move->to));
	}
	return hash;
}

int main(int argc, char **argv)
{
	uint32_t machines = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 12500;
	int rounds = argc > 3 ? atoi(argv[3]) : 20;
	const struct round_options options = {0};
	double *seconds = calloc((size_t)rounds + 1, sizeof *seconds);
	uint64_t answer = 0, tasks = 0;
	struct error err = {0};
	struct rng rng;

	need(argc > 1 && machines > 0 && rounds > 0 && seconds, "usage: bench_jobs CURVES [MACHINES [ROUNDS]]");
	rng_seed(&rng, 1);
	make_cluster(machines);
	make_placer(argv[1], &rng);
	for (int i = 0; i <= rounds; i++) {
		struct ns begin;
		bool moved;

		add_jobs(&rng);
		begin = ns_now_cpu();
		need(round_run(placer, &options, &outcome, &err) == 0, err.text);
		seconds[i] = ns_to_s(ns_sub(ns_now_cpu(), begin));
		tasks += outcome.move_count;
		answer = hash_moves(answer);
		for (uint32_t j = 0; j < JOBS; j++)
			need(flownet_job_ended(placer_net(placer), j) == 0, "memory");
		need(sim_latency_next_second(&latency, 0, &moved) == 0 &&
			     flownet_latency_changed(placer_net(placer), NULL) == 0,
		     "memory");
	}
	quantile_median(seconds + 1, rounds); /* sorts */
	printf("{\"benchmark\": \"jobs\", \"machines\": %u, \"jobs\": %d, \"tasks\": %.0f, \"rounds\": %d, \"p50_ms\": "
	       "%.2f, \"max_ms\": %.2f, \"answer\": \"%016llx\"}\n",
	       machines, JOBS, (double)tasks / (rounds + 1), rounds, seconds[1 + rounds / 2] * 1e3,
	       seconds[rounds] * 1e3, (unsigned long long)answer);
	free(seconds);
	round_outcome_free(&outcome);
	placer_destroy(placer);
	sim_latency_end(&latency);
	cost_layout_destroy(layout);
	cluster_destroy(cluster);
	return 0;
}
