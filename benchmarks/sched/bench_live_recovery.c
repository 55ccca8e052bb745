/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machines of a live scheduler fail: time of the step that decides where all their tasks with flows go, beside that of
 * the policy alone, with the transfer time of the slowest job after each. 1,000 machines of 4 slots with links of 1 or
 * 10 Gbit/s in racks of 40; 80 jobs of 40 tasks, half of which send to each of the other half: 32,000 flows. Then 10
 * such jobs of 20 tasks, as in the paper: the lost tasks, and not the other jobs, then often determine the slowest one.
 *
 * bench_live_recovery [RUNS] prints one JSON line a figure; elapsed times.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/ns.h>
#include <base/quantile.h>
#include <base/rng.h>
#include <sched/live/change.h>

enum { MACHINES = 1000, PER_RACK = 40, SLOTS = 4, TASKS_MOST = 40, RUNS_MOST = 100 };

struct load {
	int jobs, tasks;
};
static const struct load full = {80, 40}, paper = {10, 20};

static void need(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "bench_live_recovery: %s\n", what);
		exit(1);
	}
}

static struct recovery_scenario *make_network(struct rng *rng)
{
	struct recovery_scenario *network = recovery_create();

	need(network != NULL, "memory");
	for (int m = 0; m < MACHINES; m++) {
		char name[16];
		double MBps = rng_below(rng, 4) ? 125 : 1250;
		struct recovery_server server = {.name = name, .egress_MBps = MBps, .ingress_MBps = MBps};

		snprintf(name, sizeof name, "m%d", m);
		need(recovery_add_server(network, &server) >= 0, "memory");
	}
	return network;
}

static void submit(struct live *live, struct rng *rng, int number, int of)
{
	char names[TASKS_MOST][8], id[16];
	struct job_task tasks[TASKS_MOST];
	struct error err = {0};
	struct json_reader reader = {.file = "bench", .err = &err};
	json_t *edges = json_array();
	struct job job = {.id = id, .curve = (char *)"bench", .tasks = tasks, .task_count = (uint32_t)of};

	snprintf(id, sizeof id, "j%d", number);
	for (int t = 0; t < of; t++) {
		snprintf(names[t], sizeof names[t], "t%d", t);
		tasks[t] = (struct job_task){.name = names[t], .machine = JOB_NO_MACHINE};
	}
	for (int a = 0; a < of / 2; a++)
		for (int b = of / 2; b < of; b++)
			json_array_append_new(edges, json_pack("[i, i, i, f]", a, b, 1, 10 + 90 * rng_uniform(rng)));
	job.graph = job_graph_read(&reader, edges, NULL, (uint32_t)of);
	need(job.graph && live_submit(live, &job, 0, false, 0, &err) == 0, err.text);
	job_graph_destroy(job.graph);
	json_decref(edges);
}

static struct live *make_live(const struct recovery_scenario *network, const struct load *load, uint64_t seed)
{
	struct live_settings settings;
	struct error err = {0};
	double p[101], end_s;
	struct curve *curve;
	struct live *live;
	struct rng rng;

	rng_seed(&rng, seed);
	live_settings_default(&settings);
	settings.network = network;
	settings.max_age_s = 0;
	live = live_create(&settings, &err);
	need(live != NULL, err.text);
	for (int i = 0; i <= 100; i++)
		p[i] = 1 - 0.005 * i;
	curve = curve_from_table("bench", p, 101, &err);
	need(curve && live_curve_set(live, "bench", curve, &err) == 0, err.text);
	curve_destroy(curve);
	for (int m = 0; m < MACHINES; m++) {
		char name[16], rack[16];

		snprintf(name, sizeof name, "m%d", m);
		snprintf(rack, sizeof rack, "r%d", m / PER_RACK);
		need(live_machine_set(live, name, rack, "p", SLOTS, LIVE_UP, &err) == 0, err.text);
	}
	for (int j = 0; j < load->jobs; j++)
		submit(live, &rng, j, load->tasks);
	need(live_settle(live, 1, 0, &end_s, &err) == 0, err.text);
	return live;
}

/* Fails `count` machines from the seed's one on, which has tasks: some at random, or a part of a rack. */
static void fail(struct live *live, uint32_t count, uint64_t seed, bool rack)
{
	struct live_change change = {.kind = LIVE_CHANGE_STATE, .state = LIVE_DOWN};
	struct error err = {0};
	struct rng rng;

	rng_seed(&rng, seed);
	for (uint32_t i = 0, m = 0; i < count; i++) {
		do
			m = rack && i > 0 ? (m + 1) % MACHINES : (uint32_t)rng_below(&rng, MACHINES);
		while (!(rack && i > 0) && live_machine_tasks(live, m) == 0);
		snprintf(change.name, sizeof change.name, "m%u", m);
		need(live_change_apply(live, &change, NULL, NULL, &err) == 0, err.text);
	}
}

struct near {
	const json_t *lost;
	double sum;
	int count;
};

static void add_performance(void *context, const struct live_job *job, uint32_t machine, double performance)
{
	struct near *near = context;
	const json_t *task;
	size_t at;
	bool is_lost = false;

	json_array_foreach (near->lost, at, task)
		is_lost = is_lost || strcmp(json_string_value(json_object_get(task, "job")), job->id) == 0;
	(void)machine;
	if (is_lost) {
		near->sum += performance;
		near->count++;
	}
}

/* Mean predicted performance of the tasks of jobs that lost tasks, which then all run. */
static double performance_of_lost(struct live *live, const json_t *recovery)
{
	struct near near = {.lost = json_object_get(recovery, "tasks")};
	struct error err = {0};
	double end_s;

	need(live_settle(live, 3, 0, &end_s, &err) == 0, err.text);
	live_each_performance(live, add_performance, &near);
	return near.count > 0 ? near.sum / near.count : 0;
}

static void run(const char *figure, const struct load *load, uint32_t count, bool rack, int runs)
{
	double step_s[RUNS_MOST], policy_s[RUNS_MOST], lost = 0, ratio = 0, mine = 0, theirs = 0;
	int optimal = 0, compared = 0;

	for (int r = 0; r < runs; r++) {
		struct rng rng;
		struct recovery_scenario *network;
		struct live *live, *other;
		struct error err = {0};
		json_t *policy, *recovery;
		struct ns begun;

		rng_seed(&rng, (uint64_t)r);
		network = make_network(&rng);
		live = make_live(network, load, (uint64_t)r);
		other = make_live(network, load, (uint64_t)r);
		fail(live, count, (uint64_t)r, rack);
		fail(other, count, (uint64_t)r, rack);
		begun = ns_now_monotonic();
		need(live_step(live, 2, &err) >= 0, err.text);
		step_s[r] = ns_to_s(ns_sub(ns_now_monotonic(), begun));
		begun = ns_now_monotonic();
		policy = live_recovery_by_policy(other, 2, 0, &err);
		policy_s[r] = ns_to_s(ns_sub(ns_now_monotonic(), begun));
		recovery = live_recovery_to_json(live);
		need(policy && recovery, err.text);
		mine += performance_of_lost(live, recovery) / runs;
		theirs += performance_of_lost(other, recovery) / runs;
		lost += (double)json_integer_value(json_object_get(recovery, "lost")) / runs;
		optimal += strcmp(json_string_value(json_object_get(recovery, "status")), "optimal") == 0;
		if (json_number_value(json_object_get(policy, "slowest_s")) > 0) {
			ratio += json_number_value(json_object_get(policy, "slowest_s")) /
				 json_number_value(json_object_get(recovery, "slowest_s"));
			compared++;
		}
		json_decref(policy);
		json_decref(recovery);
		live_destroy(live);
		live_destroy(other);
		recovery_destroy(network);
	}
	quantile_median(step_s, runs); /* sorts */
	quantile_median(policy_s, runs);
	printf("{\"benchmark\": \"live_recovery\", \"figure\": \"%s\", \"machines\": %d, \"runs\": %d, \"lost\": %.1f, "
	       "\"p50_ms\": %.3f, \"max_ms\": %.3f, \"policy_p50_ms\": %.3f, \"optimal\": %d, "
	       "\"slowest_by_policy\": %.3f, \"performance\": %.3f, \"performance_by_policy\": %.3f}\n",
	       figure, MACHINES, runs, lost, step_s[runs / 2] * 1e3, step_s[runs - 1] * 1e3, policy_s[runs / 2] * 1e3,
	       optimal, compared > 0 ? ratio / compared : NAN, mine, theirs);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 20;

	need(runs > 0 && runs <= RUNS_MOST, "expected 1 to 100 runs");
	run("one machine", &full, 1, false, runs);
	run("two machines", &full, 2, false, runs);
	run("20 machines of a rack", &full, 20, true, runs);
	run("one machine, 10 jobs of 20 tasks", &paper, 1, false, runs);
	run("two machines, 10 jobs of 20 tasks", &paper, 2, false, runs);
	run("20 machines of a rack, 10 jobs of 20 tasks", &paper, 20, true, runs);
	return 0;
}
