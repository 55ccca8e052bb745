/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work of a live scheduler besides placing new tasks, at 12,500 machines with 100,000 running tasks:
 *
 *   nothing changed   a round of two solves (roots first), with preemption on and nothing to do
 *   beta              the same, 1 s later, beta 1 per second, tasks that have run for hours
 *   window            712,500 measured pairs, each with another value than before, stored and handed to the network
 *                     (next_round_ms: the round after it), running tasks pinned, or free to move
 *   insensitive       1,616 jobs with an almost flat curve: one task of each arrives
 *
 * bench_live prints one JSON line a figure; CPU time, medians.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <base/ns.h>
#include <base/quantile.h>
#include <base/rng.h>
#include <sched/policy/policy.h>

enum { MACHINES = 12500, PER_RACK = 48, RACKS_PER_POD = 16, SLOTS = 12, TASKS = 100000, PER_JOB = 10, PEERS = 57 };
enum { REPEATS = 9, INSENSITIVE = 1616 };

struct world {
	struct cluster *cluster;
	struct cost_layout *layout;
	struct latency_view *view;
	struct placer *placer;
	struct flownet *net;
	struct latency_sample *samples;
	size_t sample_count;
	struct rng rng;
};

static void need(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "bench_live: %s\n", what);
		exit(1);
	}
}

static void report(const char *figure, double *seconds, int count, const char *more)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	quantile_median(seconds, count); /* sorts */
	printf("{\"benchmark\": \"live\", \"figure\": \"%s\", \"machines\": %d, \"p50_ms\": %.3f, \"max_ms\": %.3f, "
	       "\"peak_MB\": %.0f%s}\n",
	       figure, MACHINES, seconds[count / 2] * 1e3, seconds[count - 1] * 1e3, (double)usage.ru_maxrss / 1024,
	       more);
	fflush(stdout);
}

/* Each machine measures 57 others, a third of them in its rack. */
static void make_samples(struct world *world)
{
	world->samples = calloc((size_t)MACHINES * PEERS, sizeof *world->samples);
	need(world->samples != NULL, "memory");
	for (uint32_t m = 0; m < MACHINES; m++) {
		for (uint32_t i = 0; i < PEERS; i++) {
			uint32_t step = i < PEERS / 3 ? i + 1 : (i + 1) * (MACHINES / (PEERS + 1));

			world->samples[world->sample_count++] = (struct latency_sample){
				m, (m + step) % MACHINES, 20 + (float)rng_below(&world->rng, 200)};
		}
	}
}

static void make_world(struct world *world, const struct policy_settings *settings, double steepness)
{
	struct error err = {0};
	struct curve *curve;
	double p[101];

	*world = (struct world){.cluster = cluster_create()};
	rng_seed(&world->rng, 1);
	need(world->cluster != NULL, "memory");
	for (int m = 0; m < MACHINES; m++) {
		char name[24], rack[24], pod[24];

		snprintf(name, sizeof name, "m%d", m);
		snprintf(rack, sizeof rack, "r%d", m / PER_RACK);
		snprintf(pod, sizeof pod, "p%d", m / PER_RACK / RACKS_PER_POD);
		need(cluster_add_machine(world->cluster, name, rack, pod, SLOTS, &err) >= 0, err.text);
	}
	world->layout = cost_layout_create(world->cluster);
	world->view = world->layout ? latency_view_create(world->layout) : NULL;
	need(world->view != NULL, "memory");
	make_samples(world);
	need(latency_view_update(world->view, world->samples, world->sample_count, 0) == 0, "memory");
	latency_view_moved_clear(world->view);
	world->placer =
		placer_create(policy_find("nomora"), world->layout, cost_source_from_view(world->view), settings, &err);
	need(world->placer != NULL, err.text);
	world->net = placer_net(world->placer);
	for (int i = 0; i <= 100; i++)
		p[i] = 1 - steepness * i;
	curve = curve_from_table("bench", p, 101, &err);
	need(curve && placer_add_curve(world->placer, curve) == 0, "curve");
	curve_destroy(curve);
	for (uint32_t m = 0; m < MACHINES; m++)
		need(flownet_machine_added(world->net, m, SLOTS) == 0, "machine");
}

static void add_job(struct world *world, uint32_t job, uint32_t tasks, double running_s)
{
	need(placer_job_arrived(world->placer, job, 0, 0, tasks) == 0, "job");
	for (uint32_t t = 0; t < tasks;) {
		uint32_t machine = (uint32_t)rng_below(&world->rng, MACHINES);

		if (flownet_free(world->net, machine) == 0)
			continue;
		need(flownet_task_found(world->net, job, t++, machine, running_s) == 0, "task");
	}
}

static void free_world(struct world *world)
{
	placer_destroy(world->placer);
	latency_view_destroy(world->view);
	cost_layout_destroy(world->layout);
	cluster_destroy(world->cluster);
	free(world->samples);
}

static void round_of_two(struct world *world)
{
	struct flownet_round round;
	struct error err = {0};

	flownet_hold_others(world->net, true);
	need(flownet_solve(world->net, &round, &err) == 0, err.text);
	flownet_hold_others(world->net, false);
	need(flownet_solve(world->net, &round, &err) == 0, err.text);
}

static void run_running(double beta_per_s)
{
	struct policy_settings settings;
	struct world world;
	double seconds[REPEATS];

	policy_settings_paper(&settings);
	settings.flow.unscheduled_capacity = 0;
	settings.flow.preemption = true;
	settings.flow.beta_per_s = beta_per_s;
	make_world(&world, &settings, 0.008);
	for (uint32_t job = 0; job < TASKS / PER_JOB; job++)
		add_job(&world, job, PER_JOB, beta_per_s > 0 ? 7200 : 0);
	round_of_two(&world);
	round_of_two(&world);
	for (int i = 0; i < 3; i++) {
		flownet_time_passed(world.net, beta_per_s > 0 ? 1500 : 0);
		round_of_two(&world);
	}
	for (int i = 0; i < REPEATS; i++) {
		double begin = ns_to_s(ns_now_cpu());

		flownet_time_passed(world.net, 1);
		round_of_two(&world);
		seconds[i] = ns_to_s(ns_now_cpu()) - begin;
	}
	report(beta_per_s > 0 ? "beta" : "nothing changed", seconds, REPEATS, "");
	free_world(&world);
}

static void run_window(bool preemption)
{
	struct policy_settings settings;
	struct world world;
	double seconds[REPEATS], next[REPEATS];
	char more[80];

	policy_settings_paper(&settings);
	settings.flow.unscheduled_capacity = 0;
	settings.flow.preemption = preemption;
	make_world(&world, &settings, 0.008);
	for (uint32_t job = 0; job < TASKS / PER_JOB; job++)
		add_job(&world, job, PER_JOB, 0);
	round_of_two(&world);
	for (int i = 0; i < REPEATS; i++) {
		struct cost_moved moved;
		double begin;

		for (size_t s = 0; s < world.sample_count; s++)
			world.samples[s].rtt_us = 20 + (float)rng_below(&world.rng, 200);
		begin = ns_to_s(ns_now_cpu());
		need(latency_view_update(world.view, world.samples, world.sample_count, (uint32_t)i) == 0, "memory");
		moved = latency_view_moved(world.view);
		need(flownet_latency_changed(world.net, &moved) == 0, "memory");
		latency_view_moved_clear(world.view);
		seconds[i] = ns_to_s(ns_now_cpu()) - begin;
		begin = ns_to_s(ns_now_cpu());
		round_of_two(&world);
		next[i] = ns_to_s(ns_now_cpu()) - begin;
	}
	quantile_median(next, REPEATS); /* sorts */
	snprintf(more, sizeof more, ", \"pairs\": %zu, \"next_round_ms\": %.3f", world.sample_count,
		 next[REPEATS / 2] * 1e3);
	report(preemption ? "window, tasks may move" : "window", seconds, REPEATS, more);
	free_world(&world);
}

static void run_insensitive(void)
{
	struct policy_settings settings;
	struct world world;
	double seconds[REPEATS];
	char more[120];

	policy_settings_default(&settings);
	make_world(&world, &settings, 0.0004);
	for (uint32_t job = 0; job < INSENSITIVE; job++)
		add_job(&world, job, 1, 0);
	round_of_two(&world);
	for (int i = 0; i < REPEATS; i++) {
		double begin;

		for (uint32_t job = 0; job < INSENSITIVE; job++)
			need(flownet_task_arrived(world.net, job, (uint32_t)(i + 1), 0) == 0, "task");
		begin = ns_to_s(ns_now_cpu());
		round_of_two(&world);
		seconds[i] = ns_to_s(ns_now_cpu()) - begin;
	}
	snprintf(more, sizeof more, ", \"jobs\": %d, \"first_round_ms\": %.3f, \"solver_MB\": %.1f", INSENSITIVE,
		 seconds[0] * 1e3, (double)flownet_memory_bytes(world.net) * 1e-6);
	report("insensitive", seconds, REPEATS, more);
	free_world(&world);
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : "";

	if (!only[0] || strcmp(only, "nothing") == 0)
		run_running(0);
	if (!only[0] || strcmp(only, "beta") == 0)
		run_running(1);
	for (int preemption = 0; preemption < 2 && (!only[0] || strcmp(only, "window") == 0); preemption++)
		run_window(preemption != 0);
	if (!only[0] || strcmp(only, "insensitive") == 0)
		run_insensitive();
	return 0;
}
