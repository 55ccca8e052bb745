/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole loop of a round through the flow network: events, rows of costs, delta, solve, tasks extracted and moved.
 * Machines in racks of 48 and pods of 16 racks, 8 to 12 slots, about 8 running tasks a machine in jobs of about 10;
 * the paper's four curves; policy nomora with preemption, beta 0. Each round 300 tasks arrive or end, and a share of
 * the jobs gets new costs, in one of two ways:
 *
 *   redrawn   all latencies in the root's rack are drawn anew: most arcs of the job change, and most of its tasks move
 *   drifting  each latency to a machine that the job has an arc to (p_m) is measured anew with chance 1/4, and then
 *             lies within 10 us of what it was at first: each cost moves by a few units
 *
 * bench_round [MACHINES [SHARE ROUNDS [drifting]]]: without arguments 1,250 and 12,500 machines. One JSON line a
 * figure; CPU time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <base/rng.h>
#include <policy/policy.h>

enum { PER_RACK = 48, RACKS_PER_POD = 16, EVENTS = 300, JOB_TASKS_MEAN = 10, JOB_TASKS_MOST = 60 };
enum { POD_COLUMNS = PER_RACK * RACKS_PER_POD, DRIFT_US = 10, CURVES = 4 };

struct load {
	struct cluster *cluster;
	struct cost_layout *layout;
	struct placer *placer;
	struct flownet *net;
	uint32_t *epoch;    /* [machines] how often its rack was measured */
	uint32_t *roots;    /* [machines] jobs with their root there */
	uint64_t *measured; /* [machines] in which round last */
	int8_t *drift;      /* [machines][POD_COLUMNS] us on top of the pair's round trip; NULL when redrawn */
	uint32_t jobs;
	uint8_t *curve_of_job; /* [jobs] */
	float arc_us[CURVES];  /* round trips up to here cost at most p_m */
	struct pair *pairs;    /* to be measured anew in this round, when drifting */
	size_t pair_count;
	struct rng rng;
};

/* What is measured anew between a root and a machine. */
struct pair {
	uint32_t root, machine;
	uint32_t told; /* the pair's other end in the event */
	int8_t drift;
};

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint32_t mix(uint32_t x)
{
	x = (x ^ x >> 16) * 0x7feb352dU;
	x = (x ^ x >> 15) * 0x846ca68bU;
	return x ^ x >> 16;
}

/* Columns are machines but for the last rack's padding, as PER_RACK is a multiple of COST_LANES. */
__attribute__((target_clones("avx512f", "avx2", "default"))) static void
draw_span(uint32_t salt, uint32_t first, uint32_t end, float base, float *rtt_us)
{
	for (uint32_t c = first; c < end; c++) {
		uint32_t hash = mix(salt + c);

		rtt_us[c - first] =
			base * (0.5f + (float)(int32_t)(hash & 0xffff) * 0x1p-16f) * ((hash >> 28) == 0 ? 4.0f : 1.0f);
	}
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Round trips: medians of 35, 110 and 260 us in a rack, a pod and beyond, times 0.5 to 1.5, one in sixteen worse. */
static void draw_row(const void *context, uint32_t root, uint32_t first, uint32_t count, float *rtt_us)
{
	const struct load *load = context;
	uint32_t machines = load->cluster->machine_count, end = first + count, salt = root * 0x9e3779b9U;
	uint32_t rack = root / PER_RACK * PER_RACK, pod = root / POD_COLUMNS * POD_COLUMNS;
	const uint32_t limits[] = {pod, rack, rack + PER_RACK, pod + POD_COLUMNS, UINT32_MAX};
	static const float medians[] = {260, 110, 35, 110, 260};

	for (uint32_t column = first, span = 0; column < end; span++) {
		uint32_t last = least(end, limits[span]);

		if (last <= column)
			continue;
		draw_span(salt + (span == 2 ? load->epoch[root] * 0x85ebca6bU : 0), column, last, medians[span],
			  rtt_us + (column - first));
		column = last;
	}
	for (uint32_t c = pod > first ? pod : first; load->drift && c < least(end, pod + POD_COLUMNS); c++)
		rtt_us[c - first] += load->drift[(size_t)root * POD_COLUMNS + (c - pod)];
	for (uint32_t c = machines > first ? machines : first; c < end; c++)
		rtt_us[c - first] = -1;
	if (root >= first && root < end)
		rtt_us[root - first] = 5;
}

static struct curve *paper_curve(int number)
{
	static const double coefficients[CURVES][5] = {
		{40, 1.067, -3.093e-3, 4.084e-6, -1.898e-9},
		{20, 1.009, -2.095e-3, 2.571e-6, -1.232e-9},
		{200, 1.0199, -1.161e-4, 0, 0},
		{40, 1.005, -5.146e-4, 5.837e-7, -3.46e-10},
	};
	const double *c = coefficients[number];
	double p[101];

	for (int i = 0; i <= 100; i++) {
		double x = i * 10;

		p[i] = x < c[0] ? 1 : c[1] + x * (c[2] + x * (c[3] + x * c[4]));
	}
	return curve_from_table("paper", p, 101, NULL);
}

static void need(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "bench_round: %s\n", what);
		exit(1);
	}
}

/* Room for one more item behind `count`: doubled at each power of two. */
static void *grow(void *items, size_t count, size_t size)
{
	if (count & (count - 1))
		return items;
	items = reallocarray(items, count ? 2 * count : 1, size);
	need(items != NULL, "memory");
	return items;
}

static void make_cluster(struct load *load, uint32_t machines)
{
	load->cluster = cluster_create();
	need(load->cluster != NULL, "memory");
	for (uint32_t m = 0; m < machines; m++) {
		char name[24], rack[24], pod[24];

		snprintf(name, sizeof name, "m%u", m);
		snprintf(rack, sizeof rack, "r%u", m / PER_RACK);
		snprintf(pod, sizeof pod, "p%u", m / PER_RACK / RACKS_PER_POD);
		need(cluster_add_machine(load->cluster, name, rack, pod, 8 + (int64_t)rng_below(&load->rng, 5), NULL) >=
			     0,
		     "machine");
	}
	load->layout = cost_layout_create(load->cluster);
	load->epoch = calloc(machines, sizeof *load->epoch);
	load->roots = calloc(machines, sizeof *load->roots);
	load->measured = calloc(machines, sizeof *load->measured);
	need(load->layout && load->epoch && load->roots && load->measured, "memory");
}

/* Half of the jobs memcached, a quarter strads, a quarter tensorflow (NoMora 6). */
static uint8_t draw_curve(struct rng *rng)
{
	uint64_t drawn = rng_below(rng, 4);

	return drawn < 2 ? 0 : drawn == 2 ? 1 : 3;
}

/* Jobs until so many tasks run: each root somewhere, its tasks where they landed at random, as after a while of load.
 */
static void make_jobs(struct load *load, uint32_t tasks)
{
	uint32_t machines = load->cluster->machine_count;

	for (uint32_t placed = 0; placed < tasks; load->jobs++) {
		uint32_t count = 2 + (uint32_t)(rng_exponential(&load->rng) * (JOB_TASKS_MEAN - 2));

		count = count > JOB_TASKS_MOST ? JOB_TASKS_MOST : count;
		load->curve_of_job = grow(load->curve_of_job, load->jobs, 1);
		load->curve_of_job[load->jobs] = draw_curve(&load->rng);
		need(placer_set_job_curve(load->placer, load->jobs, load->curve_of_job[load->jobs]) == 0, "curve");
		need(flownet_job_arrived(load->net, load->jobs, 0) == 0, "job");
		for (uint32_t t = 0; t < count && placed < tasks;) {
			uint32_t machine = (uint32_t)rng_below(&load->rng, machines);

			if (flownet_task_found(load->net, load->jobs, t, machine, 0) != 0)
				continue;
			load->roots[machine] += t == 0;
			t++;
			placed++;
		}
	}
}

static void start(struct load *load, uint32_t machines, bool preemption, bool verify)
{
	struct policy_settings settings;
	struct error err = {0};
	struct cost_source source = {draw_row, load};

	*load = (struct load){0};
	rng_seed(&load->rng, 1);
	make_cluster(load, machines);
	policy_settings_default(&settings);
	settings.reference = LATENCY_REFERENCE_ABSOLUTE;
	settings.flow.preemption = preemption;
	settings.flow.verify = verify;
	load->placer = placer_create(policy_find("nomora"), load->layout, source, &settings, &err);
	need(load->placer != NULL, err.text);
	load->net = placer_net(load->placer);
	for (int k = 0; k < CURVES; k++) {
		struct curve *curve = paper_curve(k);

		need(curve && placer_add_curve(load->placer, curve) == k, "curve");
		while (curve_cost(curve, (double)load->arc_us[k] + 1) <= (uint32_t)settings.machine_threshold)
			load->arc_us[k]++;
		curve_destroy(curve);
	}
	for (uint32_t m = 0; m < machines; m++)
		need(flownet_machine_added(load->net, m, (int32_t)load->cluster->machines[m].slots) == 0, "machine");
}

static void stop(struct load *load)
{
	placer_destroy(load->placer);
	cost_layout_destroy(load->layout);
	cluster_destroy(load->cluster);
	free(load->epoch);
	free(load->roots);
	free(load->measured);
	free(load->drift);
	free(load->curve_of_job);
	free(load->pairs);
}

/* 300 arrivals or ends, in equal numbers, of tasks that are no roots. */
static void task_events(struct load *load)
{
	for (int event = 0; event < EVENTS; event++) {
		uint32_t job = (uint32_t)rng_below(&load->rng, load->jobs), task;

		if (event % 2 == 0) {
			for (task = 1; flownet_task_present(load->net, job, task); task++)
				;
			need(flownet_task_arrived(load->net, job, task, 0) == 0, "arrival");
			continue;
		}
		do {
			job = (uint32_t)rng_below(&load->rng, load->jobs);
			task = 1 + (uint32_t)rng_below(&load->rng, JOB_TASKS_MOST);
		} while (!flownet_task_present(load->net, job, task));
		need(flownet_task_ended(load->net, job, task) == 0, "end");
	}
}

/* The next job with a root that was not measured in this round, from `job` on. */
static uint32_t next_job(struct load *load, uint32_t job)
{
	for (;; job = (job + 1 + (uint32_t)rng_below(&load->rng, 3)) % load->jobs) {
		int32_t root = flownet_root_machine(load->net, job);

		if (root != FLOWNET_NONE && load->measured[root] != flownet_rounds(load->net) + 1) {
			load->measured[root] = flownet_rounds(load->net) + 1;
			return job;
		}
	}
}

/* Racks are measured anew from machines with roots, until so many jobs have new costs. */
static void latencies_redrawn(struct load *load, uint32_t jobs)
{
	uint32_t job = (uint32_t)rng_below(&load->rng, load->jobs);

	for (uint32_t changed = 0; changed < jobs;) {
		uint32_t root;

		job = next_job(load, job);
		root = (uint32_t)flownet_root_machine(load->net, job);
		load->epoch[root]++;
		changed += load->roots[root];
		flownet_latency_changed(load->net, root, root, LATENCY_MOVED_PAIR);
	}
}

/* A machine of the rack that is nobody's root, if there is one: jobs at the other end are not re-costed as well. */
static uint32_t neighbour_without_root(const struct load *load, uint32_t machine)
{
	uint32_t first = machine / PER_RACK * PER_RACK;

	for (uint32_t m = first; m < least(first + PER_RACK, load->cluster->machine_count); m++) {
		if (load->roots[m] == 0)
			return m;
	}
	return machine;
}

/* What so many jobs will be told. */
static void choose_pairs(struct load *load, uint32_t jobs)
{
	uint32_t job = (uint32_t)rng_below(&load->rng, load->jobs);
	float rtt_us[POD_COLUMNS];

	load->pair_count = 0;
	for (uint32_t changed = 0; changed < jobs; changed++) {
		uint32_t root, pod, count;
		const int8_t *drift;

		job = next_job(load, job);
		root = (uint32_t)flownet_root_machine(load->net, job);
		pod = root / POD_COLUMNS * POD_COLUMNS;
		count = least(POD_COLUMNS, load->cluster->machine_count - pod);
		drift = load->drift + (size_t)root * POD_COLUMNS;
		draw_row(load, root, pod, count, rtt_us);
		for (uint32_t i = 0; i < count; i++) {
			if (pod + i == root || rtt_us[i] - drift[i] > load->arc_us[load->curve_of_job[job]] ||
			    rng_below(&load->rng, 4) != 0)
				continue;
			load->pairs = grow(load->pairs, load->pair_count, sizeof *load->pairs);
			load->pairs[load->pair_count++] =
				(struct pair){root, pod + i, neighbour_without_root(load, pod + i),
					      (int8_t)(rng_below(&load->rng, 2 * DRIFT_US + 1) - DRIFT_US)};
		}
	}
}

static void latencies_drift(struct load *load)
{
	for (size_t i = 0; i < load->pair_count; i++) {
		const struct pair *pair = &load->pairs[i];

		load->drift[(size_t)pair->root * POD_COLUMNS + pair->machine % POD_COLUMNS] = pair->drift;
		flownet_latency_changed(load->net, pair->root, pair->told, LATENCY_MOVED_PAIR);
	}
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static void report(const char *figure, const struct load *load, double share, double *seconds, int rounds,
		   const double *parts, uint64_t moves, uint64_t changes)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	qsort(seconds, (size_t)rounds, sizeof *seconds, compare);
	printf("{\"benchmark\": \"round\", \"figure\": \"%s\", \"machines\": %u, \"jobs\": %u, \"recosted\": %.2f, "
	       "\"rounds\": %d, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f, \"events_ms\": %.3f, "
	       "\"apply_ms\": "
	       "%.3f, \"solve_ms\": %.3f, \"extract_ms\": %.3f, \"changes\": %.1f, \"moves\": %.1f, \"peak_MB\": "
	       "%.0f}\n",
	       figure, load->cluster->machine_count, load->jobs, share, rounds, seconds[rounds / 2] * 1e3,
	       seconds[(int)(rounds * 0.99)] * 1e3, seconds[rounds - 1] * 1e3, parts[0] / rounds * 1e3,
	       parts[1] / rounds * 1e3, parts[2] / rounds * 1e3, parts[3] / rounds * 1e3, (double)changes / rounds,
	       (double)moves / rounds, (double)usage.ru_maxrss / 1024);
	fflush(stdout);
}

static void run_rounds(struct load *load, double share, int rounds)
{
	double *seconds = calloc((size_t)rounds, sizeof *seconds), parts[4] = {0};
	struct flownet_round round;
	struct error err = {0};
	uint64_t moves = 0, changes = 0;

	need(seconds != NULL, "memory");
	for (int i = 0; i < rounds; i++) {
		double begin, after_events;

		if (load->drift)
			choose_pairs(load, (uint32_t)(share * load->jobs));
		begin = cpu_seconds();
		task_events(load);
		if (load->drift)
			latencies_drift(load);
		else
			latencies_redrawn(load, (uint32_t)(share * load->jobs));
		after_events = cpu_seconds();
		need(flownet_solve(load->net, &round, &err) == 0, err.text);
		seconds[i] = cpu_seconds() - begin;
		parts[0] += after_events - begin;
		parts[1] += round.apply_s;
		parts[2] += round.solve_s;
		parts[3] += round.extract_s;
		moves += round.move_count;
		changes += round.changes;
	}
	report(load->drift ? "incremental, drifting" : "incremental", load, share, seconds, rounds, parts, moves,
	       changes);
	free(seconds);
}

static void run_first(struct load *load)
{
	double begin = cpu_seconds(), seconds, parts[4] = {0};
	struct flownet_round round;
	struct error err = {0};

	need(flownet_solve(load->net, &round, &err) == 0, err.text);
	seconds = cpu_seconds() - begin;
	parts[1] = round.apply_s;
	parts[2] = round.solve_s;
	parts[3] = round.extract_s;
	report("first round", load, 1, &seconds, 1, parts, round.move_count, round.changes);
}

static void start_rounds(struct load *load, uint32_t machines)
{
	start(load, machines, true, false);
	make_jobs(load, machines * 8);
	run_first(load);
}

/* From here on latencies drift. */
static void let_drift(struct load *load)
{
	load->drift = calloc(load->cluster->machine_count, POD_COLUMNS);
	need(load->drift != NULL, "memory");
}

static void run_all(uint32_t machines)
{
	struct load load;

	start_rounds(&load, machines);
	run_rounds(&load, 0.02, 200);
	run_rounds(&load, 0.80, 40);
	let_drift(&load);
	run_rounds(&load, 0.02, 200);
	stop(&load);
}

static void run_one(uint32_t machines, double share, int rounds, bool drifting)
{
	struct load load;

	start_rounds(&load, machines);
	if (drifting)
		let_drift(&load);
	run_rounds(&load, share, rounds);
	stop(&load);
}

int main(int argc, char **argv)
{
	uint32_t machines = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1250;

	need(machines > 0, "usage: bench_round [MACHINES [SHARE ROUNDS [drifting]]]");
	if (argc > 3)
		run_one(machines, strtod(argv[2], NULL), atoi(argv[3]), argc > 4);
	else
		run_all(machines);
	if (argc == 1)
		run_all(12500);
	return 0;
}
