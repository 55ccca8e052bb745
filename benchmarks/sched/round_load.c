/* SPDX-License-Identifier: BSD-3-Clause */
#include "round_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void need(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "bench_round: %s\n", what);
		exit(1);
	}
}

/* Reserves space for one more item after `count`: doubles it at each power of two. */
static void *grow(void *items, size_t count, size_t size)
{
	if (count & (count - 1))
		return items;
	items = reallocarray(items, count ? 2 * count : 1, size);
	need(items != NULL, "memory");
	return items;
}

static uint32_t mix(uint32_t x)
{
	x = (x ^ x >> 16) * 0x7feb352dU;
	x = (x ^ x >> 15) * 0x846ca68bU;
	return x ^ x >> 16;
}

/* Columns are machines, except for the padding of the last rack, as PER_RACK is a multiple of COST_LANES. */
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

/*
 * Round trips before any drift: medians of 35, 110 and 260 us within a rack, within a pod and across pods, times 0.5 to
 * 1.5; one in sixteen is worse. The limits of the root's rack and pod divide the columns into five spans.
 */
static void draw_columns(const struct load *load, uint32_t root, uint32_t first, uint32_t end, float *rtt_us)
{
	uint32_t salt = root * 0x9e3779b9U, machines = load->cluster->machine_count;
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
	for (uint32_t c = machines > first ? machines : first; c < end; c++)
		rtt_us[c - first] = -1;
	if (root >= first && root < end)
		rtt_us[root - first] = 5;
}

/* Reads round trips as from a matrix: those within the pod are stored, the others computed. */
static void read_row(const void *context, uint32_t root, uint32_t first, uint32_t count, float *rtt_us)
{
	const struct load *load = context;
	uint32_t pod = root / POD_COLUMNS * POD_COLUMNS, end = first + count;
	uint32_t near = first > pod ? first : pod, near_end = least(end, pod + POD_COLUMNS);

	if (near >= near_end) {
		draw_columns(load, root, first, end, rtt_us);
		return;
	}
	if (first < near)
		draw_columns(load, root, first, near, rtt_us);
	memcpy(rtt_us + (near - first), load->near_us + (size_t)root * POD_COLUMNS + (near - pod),
	       (near_end - near) * sizeof *rtt_us);
	if (near_end < end)
		draw_columns(load, root, near_end, end, rtt_us + (near_end - first));
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
	load->near_us = calloc((size_t)machines * POD_COLUMNS, sizeof *load->near_us);
	load->words = (load->layout->rack_count + 63) / 64;
	load->moved = calloc(machines, sizeof *load->moved);
	load->moved_racks = calloc((size_t)machines * load->words, sizeof *load->moved_racks);
	need(load->moved && load->moved_racks && load->layout && load->epoch && load->roots && load->measured &&
		     load->near_us,
	     "memory");
	for (uint32_t m = 0; m < machines; m++) {
		uint32_t pod = m / POD_COLUMNS * POD_COLUMNS;

		draw_columns(load, m, pod, pod + POD_COLUMNS, load->near_us + (size_t)m * POD_COLUMNS);
	}
}

/* Half of the jobs memcached, a quarter strads, a quarter tensorflow (NoMora 6). */
static uint8_t draw_curve(struct rng *rng)
{
	uint64_t drawn = rng_below(rng, 4);

	return drawn < 2 ? 0 : drawn == 2 ? 1 : 3;
}

static bool has_task(const struct job_notes *job, uint32_t task)
{
	return job->tasks[task / 64] >> task % 64 & 1;
}

static void flip_task(struct job_notes *job, uint32_t task)
{
	job->tasks[task / 64] ^= UINT64_C(1) << task % 64;
}

/* Adds jobs until `tasks` tasks run: roots and tasks on random machines, as after a time under load. */
static void make_jobs(struct load *load, uint32_t tasks)
{
	uint32_t machines = load->cluster->machine_count;

	for (uint32_t placed = 0; placed < tasks; load->job_count++) {
		uint32_t count = 2 + (uint32_t)(rng_exponential(&load->rng) * (JOB_TASKS_MEAN - 2));
		struct job_notes *job;

		count = count > JOB_TASKS_MOST ? JOB_TASKS_MOST : count;
		load->jobs = grow(load->jobs, load->job_count, sizeof *load->jobs);
		job = &load->jobs[load->job_count];
		*job = (struct job_notes){.curve = draw_curve(&load->rng)};
		need(placer_job_arrived(load->placer, load->job_count, job->curve, 0, count) == 0, "job");
		for (uint32_t t = 0; t < count && placed < tasks;) {
			uint32_t machine = (uint32_t)rng_below(&load->rng, machines);

			if (flownet_free(load->net, machine) == 0)
				continue;
			need(flownet_task_found(load->net, load->job_count, t, machine, 0) == 0, "task");
			if (t == 0) {
				job->root = machine;
				load->roots[machine]++;
			}
			flip_task(job, t);
			t++;
			placed++;
		}
	}
}

void load_start(struct load *load, uint32_t machines)
{
	struct policy_settings settings;
	struct error err = {0};
	struct cost_source source = {read_row, load};

	*load = (struct load){0};
	rng_seed(&load->rng, 1);
	make_cluster(load, machines);
	policy_settings_paper(&settings);
	settings.spill = POLICY_SPILL_BEST;
	settings.flow.unscheduled_capacity = 0;
	settings.flow.preemption = true;
	load->placer = placer_create(policy_find("nomora"), load->layout, source, &settings, &err);
	need(load->placer != NULL, err.text);
	load->net = placer_net(load->placer);
	for (int k = 0; k < CURVES; k++) {
		struct curve *curve = paper_curve(k);

		need(curve && placer_add_curve(load->placer, curve) == k, "curve");
		while (lround(100 / curve_eval_nearest(curve, (double)load->arc_us[k] + 1)) <=
		       settings.machine_threshold)
			load->arc_us[k]++;
		curve_destroy(curve);
	}
	for (uint32_t m = 0; m < machines; m++)
		need(flownet_machine_added(load->net, m, (int32_t)load->cluster->machines[m].slots) == 0, "machine");
	make_jobs(load, machines * 8);
}

void load_stop(struct load *load)
{
	placer_destroy(load->placer);
	cost_layout_destroy(load->layout);
	cluster_destroy(load->cluster);
	free(load->near_us);
	free(load->moved);
	free(load->moved_racks);
	free(load->epoch);
	free(load->roots);
	free(load->measured);
	free(load->jobs);
	free(load->racks);
	free(load->pairs);
}

/* True if the task was drawn among the first `count`. */
static bool was_drawn(const struct load *load, int count, uint32_t job, uint32_t task)
{
	for (int i = 0; i < count; i++) {
		if (load->tasks[i].job == job && load->tasks[i].task == task)
			return true;
	}
	return false;
}

/*
 * Draws 300 events of tasks other than roots, arrivals and ends in equal numbers; no task arrives and ends in the same
 * round.
 */
static void draw_tasks(struct load *load)
{
	for (int event = 0; event < EVENTS; event++) {
		uint32_t job = (uint32_t)rng_below(&load->rng, load->job_count), task = 1;
		bool arrives = event % 2 == 0;

		while (arrives && (has_task(&load->jobs[job], task) || was_drawn(load, event, job, task)))
			task++;
		while (!arrives) {
			job = (uint32_t)rng_below(&load->rng, load->job_count);
			task = 1 + (uint32_t)rng_below(&load->rng, JOB_TASKS_MOST);
			if (has_task(&load->jobs[job], task) && !was_drawn(load, event, job, task))
				break;
		}
		need(task < 64 * TASK_WORDS, "a job has grown too large");
		flip_task(&load->jobs[job], task);
		load->tasks[event] = (struct task_event){job, task, arrives};
	}
}

/* The next job from `job` on whose root was not measured in this round. */
static uint32_t next_job(struct load *load, uint32_t job)
{
	for (;; job = (job + 1 + (uint32_t)rng_below(&load->rng, 3)) % load->job_count) {
		uint32_t root = load->jobs[job].root;

		if (load->measured[root] != load->round) {
			load->measured[root] = load->round;
			return job;
		}
	}
}

/* Measures racks again from machines that run roots, until `jobs` jobs have new costs. */
static void draw_racks(struct load *load, uint32_t jobs)
{
	uint32_t job = (uint32_t)rng_below(&load->rng, load->job_count);

	for (uint32_t changed = 0; changed < jobs;) {
		struct rack_measured *measured;
		uint32_t rack;

		job = next_job(load, job);
		load->racks = grow(load->racks, load->rack_count, sizeof *load->racks);
		measured = &load->racks[load->rack_count++];
		measured->root = load->jobs[job].root;
		rack = measured->root / PER_RACK * PER_RACK;
		load->epoch[measured->root]++;
		changed += load->roots[measured->root];
		draw_columns(load, measured->root, rack, rack + PER_RACK, measured->rtt_us);
	}
}

/* Measures pairs again from the roots of `jobs` jobs. The initial values are recomputed, not read from the matrix. */
static void draw_pairs(struct load *load, uint32_t jobs)
{
	uint32_t job = (uint32_t)rng_below(&load->rng, load->job_count);
	float rtt_us[POD_COLUMNS];

	for (uint32_t changed = 0; changed < jobs; changed++) {
		uint32_t root, pod, count;

		job = next_job(load, job);
		root = load->jobs[job].root;
		pod = root / POD_COLUMNS * POD_COLUMNS;
		count = least(POD_COLUMNS, load->cluster->machine_count - pod);
		draw_columns(load, root, pod, pod + count, rtt_us);
		for (uint32_t i = 0; i < count; i++) {
			int32_t drift;

			if (pod + i == root || rtt_us[i] > load->arc_us[load->jobs[job].curve] ||
			    rng_below(&load->rng, 4) != 0)
				continue;
			drift = (int32_t)rng_below(&load->rng, 2 * DRIFT_US + 1) - DRIFT_US;
			load->pairs = grow(load->pairs, load->pair_count, sizeof *load->pairs);
			load->pairs[load->pair_count++] =
				(struct pair_measured){root, pod + i, rtt_us[i] + (float)drift};
		}
	}
}

void load_draw(struct load *load, uint32_t jobs, bool drifting)
{
	load->round++;
	load->rack_count = load->pair_count = 0;
	draw_tasks(load);
	if (drifting)
		draw_pairs(load, jobs);
	else
		draw_racks(load, jobs);
}

static float *near_us(const struct load *load, uint32_t root, uint32_t machine)
{
	return load->near_us + (size_t)root * POD_COLUMNS + machine % POD_COLUMNS;
}

static void note_moved(struct load *load, uint32_t root, uint32_t rack)
{
	if (load->moved_count == 0 || load->moved[load->moved_count - 1] != root) /* a root's pairs are consecutive */
		load->moved[load->moved_count++] = root;
	load->moved_racks[(size_t)root * load->words + rack / 64] |= UINT64_C(1) << rack % 64;
}

void load_happen(struct load *load)
{
	struct cost_moved moved;

	for (int i = 0; i < EVENTS; i++) {
		const struct task_event *event = &load->tasks[i];

		if (event->arrives)
			need(flownet_task_arrived(load->net, event->job, event->task, 0) == 0, "arrival");
		else
			need(flownet_task_ended(load->net, event->job, event->task) == 0, "end");
	}
	for (size_t i = 0; i < load->rack_count; i++) {
		const struct rack_measured *rack = &load->racks[i];

		memcpy(near_us(load, rack->root, rack->root / PER_RACK * PER_RACK), rack->rtt_us, sizeof rack->rtt_us);
		note_moved(load, rack->root, rack->root / PER_RACK);
	}
	for (size_t i = 0; i < load->pair_count; i++) {
		const struct pair_measured *pair = &load->pairs[i];

		*near_us(load, pair->root, pair->machine) = pair->rtt_us;
		note_moved(load, pair->root, pair->machine / PER_RACK);
	}
	moved = (struct cost_moved){load->moved, load->moved_count, load->moved_racks, load->words};
	need(flownet_latency_changed(load->net, &moved) == 0, "memory");
	for (size_t i = 0; i < load->moved_count; i++)
		memset(load->moved_racks + (size_t)load->moved[i] * load->words, 0, load->words * sizeof(uint64_t));
	load->moved_count = 0;
}
