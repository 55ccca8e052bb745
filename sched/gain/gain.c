/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/gain/gain.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/number.h>
#include <sched/policy/policy.h>

/* A gain below this is rounding. */
#define GAIN_LEAST 1e-9

/* What the run of a placement gave for one task that is not a root. */
struct estimate {
	int64_t machine;
	double rtt_us, performance;
};

struct comparison {
	const struct gain_settings *settings;
	struct gain *gain;
	struct error *err;
	int64_t *machines;                     /* [task_count] at present */
	struct estimate *today, *best, *trial; /* [task_count] */
	double *random;                        /* [task_count] sum over the random placements */
};

static int find_policy(const char *name)
{
	int policy = 0;

	while (strcmp(policies[policy]->name, name) != 0)
		policy++;
	return policy;
}

/* Sets the machines of all tasks: the present ones, or none. */
static void set_machines(struct comparison *comparison, bool present)
{
	const struct jobs *jobs = comparison->gain->world.jobs;
	size_t at = 0;

	for (size_t j = 0; j < jobs->count; j++)
		for (uint32_t t = 0; t < jobs->items[j].task_count; t++, at++)
			jobs->items[j].tasks[t].machine = present ? comparison->machines[at] : JOB_NO_MACHINE;
}

/* Runs a round. Returns 1 and estimates[], 0 if the placement left a task waiting, or -errno with err set. */
static int estimate(struct comparison *comparison, const struct place_settings *settings, bool present,
		    struct estimate *estimates)
{
	struct place_world *world = &comparison->gain->world;
	struct place_outcome outcome = {0};
	int code;

	set_machines(comparison, present);
	code = place_world_restart(world, settings, comparison->err);
	if (code == 0)
		code = place_run(world, &outcome, comparison->err);
	if (code == 0)
		code = outcome.explanation.totals.waiting == 0;
	for (size_t i = 0; code > 0 && i < outcome.explanation.task_count; i++) {
		const struct explain_task *task = &outcome.explanation.tasks[i];

		estimates[i] = (struct estimate){task->taken.machine, task->taken.rtt_us, task->taken.performance};
		if (task->state == PLACEMENT_ROOT)
			estimates[i].rtt_us = estimates[i].performance = NAN;
	}
	place_outcome_free(&outcome);
	return code;
}

static double mean_performance(const struct comparison *comparison, const struct estimate *estimates)
{
	double sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < comparison->gain->task_count; i++) {
		if (isnan(estimates[i].performance))
			continue;
		sum += estimates[i].performance;
		count++;
	}
	return sum / (double)count;
}

/* Takes the placement of this kind if it is better than the best one so far. */
static int try_placement(struct comparison *comparison, bool present, bool preemption)
{
	struct place_settings settings = comparison->settings->place;
	struct estimate *swap = comparison->best;
	int code;

	settings.policy = find_policy("nomora");
	settings.preemption = preemption;
	code = estimate(comparison, &settings, present, comparison->trial);
	if (code <= 0 ||
	    mean_performance(comparison, comparison->trial) < mean_performance(comparison, swap) + GAIN_LEAST)
		return code < 0 ? code : 0;
	comparison->best = comparison->trial;
	comparison->trial = swap;
	return 0;
}

static int add_random(struct comparison *comparison)
{
	struct place_settings settings = comparison->settings->place;
	int code = 1;

	settings.policy = find_policy("random");
	for (int64_t seed = 1; seed <= comparison->settings->seeds && code > 0; seed++) {
		settings.seed = seed;
		code = estimate(comparison, &settings, false, comparison->trial);
		for (size_t i = 0; i < comparison->gain->task_count; i++)
			comparison->random[i] += comparison->trial[i].performance / (double)comparison->settings->seeds;
	}
	return code == 0 ? error_set(comparison->err, EINVAL, "a random placement found no slot for a task") : code;
}

static struct gain_share share_of(const struct comparison *comparison, const struct curve *curve,
				  const struct estimate *estimate)
{
	struct gain_share share = {.performance = estimate->performance};
	double x_us = comparison->settings->place.reference == LATENCY_REFERENCE_ADDED
			      ? curve_added_rtt_us(curve, estimate->rtt_us)
			      : estimate->rtt_us;

	curve_band_at(curve, x_us, &share.low, &share.high);
	return share;
}

static void add_share(struct gain_share *sum, struct gain_share share, double weight)
{
	sum->performance += weight * share.performance;
	sum->low += weight * share.low;
	sum->high += weight * share.high;
}

/* Adds `weight` times a row's figures to a mean; its gains are absolute until finish_row(). */
static void add_row(struct gain_row *sum, const struct gain_row *row, double weight)
{
	add_share(&sum->today, row->today, weight);
	add_share(&sum->best, row->best, weight);
	sum->random += weight * row->random;
	sum->gain_low += weight * row->gain_low;
	sum->gain_high += weight * row->gain_high;
	sum->tasks += row->tasks;
}

static void finish_row(struct gain_row *row)
{
	row->gain = (row->best.performance - row->today.performance) / row->today.performance;
	row->gain_low /= row->today.performance;
	row->gain_high /= row->today.performance;
}

/* Makes the row of a task; its gains are absolute. */
static struct gain_row row_of_task(const struct comparison *comparison, const struct curve *curve, size_t at)
{
	const struct estimate *today = &comparison->today[at], *best = &comparison->best[at];
	struct gain_row row = {.today = share_of(comparison, curve, today),
			       .best = share_of(comparison, curve, best),
			       .random = comparison->random[at],
			       .tasks = 1};
	bool same = today->rtt_us == best->rtt_us;

	row.gain_low = same ? 0 : row.best.low - row.today.high;
	row.gain_high = same ? 0 : row.best.high - row.today.low;
	return row;
}

static void fill_rows(const struct comparison *comparison)
{
	struct gain *gain = comparison->gain;
	const struct jobs *jobs = gain->world.jobs;
	size_t at = 0, all = gain->task_count - gain->job_count;

	for (size_t j = 0; j < gain->job_count; j++) {
		const struct job *job = &jobs->items[j];
		struct gain_row *row = &gain->rows[j];

		*row = (struct gain_row){.job = job->id, .curve = job->curve};
		for (uint32_t t = 0; t < job->task_count; t++, at++) {
			const struct estimate *today = &comparison->today[at], *best = &comparison->best[at];

			gain->tasks[at] = (struct gain_task){t == job->root, comparison->machines[at], best->machine,
							     today->rtt_us, best->rtt_us};
			gain->moved += best->machine != comparison->machines[at];
			if (t != job->root) {
				struct gain_row task = row_of_task(comparison, gain->world.curve_of_job[j], at);

				add_row(row, &task, 1.0 / (job->task_count - 1));
			}
		}
		add_row(&gain->mean_of_jobs, row, 1.0 / (double)gain->job_count);
		add_row(&gain->mean_of_tasks, row, (double)row->tasks / (double)all);
		finish_row(row);
	}
	finish_row(&gain->mean_of_jobs);
	finish_row(&gain->mean_of_tasks);
}

static int allocate(struct comparison *comparison)
{
	struct gain *gain = comparison->gain;
	size_t count = gain->task_count + 1;

	gain->rows = calloc(gain->job_count + 1, sizeof *gain->rows);
	gain->tasks = calloc(count, sizeof *gain->tasks);
	comparison->machines = calloc(count, sizeof *comparison->machines);
	comparison->today = calloc(count, sizeof *comparison->today);
	comparison->best = calloc(count, sizeof *comparison->best);
	comparison->trial = calloc(count, sizeof *comparison->trial);
	comparison->random = calloc(count, sizeof *comparison->random);
	return gain->rows && gain->tasks && comparison->machines && comparison->today && comparison->best &&
			       comparison->trial && comparison->random
		       ? 0
		       : error_set(comparison->err, ENOMEM, "out of memory");
}

int gain_compare(const struct gain_settings *settings, struct gain *gain, struct error *err)
{
	struct comparison comparison = {.settings = settings, .gain = gain, .err = err};
	const struct jobs *jobs = gain->world.jobs;
	size_t at = 0;
	int code;

	gain->job_count = jobs->count;
	for (size_t j = 0; j < jobs->count; j++)
		gain->task_count += jobs->items[j].task_count;
	code = allocate(&comparison);
	for (size_t j = 0; code == 0 && j < jobs->count; j++)
		for (uint32_t t = 0; t < jobs->items[j].task_count; t++)
			comparison.machines[at++] = jobs->items[j].tasks[t].machine;
	if (code == 0)
		code = estimate(&comparison, &settings->place, true, comparison.today);
	if (code > 0) {
		memcpy(comparison.best, comparison.today, gain->task_count * sizeof *comparison.best);
		code = try_placement(&comparison, true, true);
	}
	if (code == 0)
		code = try_placement(&comparison, false, false);
	if (code == 0)
		code = add_random(&comparison);
	if (code > 0)
		fill_rows(&comparison);
	gain->world.settings = &settings->place;
	free(comparison.machines);
	free(comparison.today);
	free(comparison.best);
	free(comparison.trial);
	free(comparison.random);
	return code < 0 ? code : 0;
}

void gain_free(struct gain *gain)
{
	place_world_free(&gain->world);
	free(gain->rows);
	free(gain->tasks);
	json_decref(gain->left_out);
	json_decref(gain->foreign);
	*gain = (struct gain){0};
}
