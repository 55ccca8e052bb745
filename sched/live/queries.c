/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries: machines, curves and jobs; limits of a job; the performance of a task on a machine. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sched/explain/performance.h>

#include "live_priv.h"

const struct cluster *live_cluster(const struct live *live)
{
	return live->cluster;
}

const struct latency_view *live_view(const struct live *live)
{
	return live->view;
}

enum live_machine_state live_machine_state_of(const struct live *live, uint32_t machine)
{
	return live->machines[machine].state;
}

uint32_t live_machine_tasks(const struct live *live, uint32_t machine)
{
	return live->machines[machine].in_network ? (uint32_t)flownet_running(live->net, machine) : 0;
}

static void count_slots(const struct live *live, uint32_t *held)
{
	for (uint32_t j = 0; j < live->job_count; j++)
		for (uint32_t t = 0; live->jobs[j] && t < live->jobs[j]->task_count; t++) {
			const struct live_task *task = &live->jobs[j]->tasks[t];

			if (task->state == LIVE_DECIDED || task->state == LIVE_RUNNING || task->state == LIVE_MOVING)
				held[task->machine]++;
			if (task->state == LIVE_MOVING)
				held[task->origin]++;
		}
}

int64_t live_find_mismatch(const struct live *live)
{
	uint32_t count = live->cluster->machine_count, *held = calloc((size_t)count + 1, sizeof *held), m = 0;

	if (!held)
		return -ENOMEM;
	count_slots(live, held);
	while (m < count && held[m] == live_machine_tasks(live, m))
		m++;
	free(held);
	return m < count ? (int64_t)m : LIVE_MATCH;
}

struct live_curve *live_find_curve(const struct live *live, const char *name)
{
	for (size_t c = 0; c < live->curve_count; c++)
		if (live->curves[c].name && strcmp(live->curves[c].name, name) == 0)
			return &live->curves[c];
	return NULL;
}

const char *live_curve_name(const struct live *live, size_t number)
{
	if (number >= live->curve_count)
		return NULL;
	return live->curves[number].name ? live->curves[number].name : "";
}

const struct curve *live_curve(const struct live *live, const char *name)
{
	const struct live_curve *entry = live_find_curve(live, name);

	return entry ? entry->curve : NULL;
}

const char *live_curve_text(const struct live *live, const char *name)
{
	const struct live_curve *curve = live_find_curve(live, name);

	return curve ? curve->text : NULL;
}

const struct live_job *live_find_job(const struct live *live, const char *id)
{
	HASH_TABLE_EACH (&live->job_ids, hash_text(id), at) {
		struct live_job *job = live->jobs[hash_table_value(&live->job_ids, at)];

		if (strcmp(job->id, id) == 0)
			return job;
	}
	return NULL;
}

struct live_job *const *live_jobs(const struct live *live, uint32_t *count)
{
	*count = live->job_count;
	return live->jobs;
}

struct live_task *live_find_task(const struct live *live, const char *job, const char *task, struct live_job **found)
{
	*found = (struct live_job *)live_find_job(live, job);
	for (uint32_t t = 0; *found && t < (*found)->task_count; t++)
		if (strcmp((*found)->tasks[t].name, task) == 0)
			return &(*found)->tasks[t];
	return NULL;
}

bool live_moves_on(const struct live *live, const struct live_job *job)
{
	return job->may_move && live->settings.moves.mode != MIGRATION_OFF && live->settings.policy->preempts;
}

static uint32_t stricter(uint32_t one, uint32_t other)
{
	return one == 0 || (other > 0 && other < one) ? other : one;
}

struct job_limits live_limits(const struct live *live, const struct live_job *job)
{
	const struct live_settings *settings = &live->settings;
	struct job_limits limits = job->limits;

	limits.migrate_gain = fmax(limits.migrate_gain, settings->moves.gain);
	limits.migrate_hold_s = fmax(limits.migrate_hold_s, settings->moves.hold_s);
	limits.migrate_tasks = stricter(limits.migrate_tasks, (uint32_t)settings->moves.per_job);
	return limits;
}

double live_measured_share(const struct live *live, uint32_t machine)
{
	double others = live->up_count > 1 ? live->up_count - 1.0 : 1;

	return fmin(1, latency_view_pairs_of(live->view, machine) / others);
}

void live_predict(const struct live *live, const struct live_job *job, uint32_t machine, double *rtt_us,
		  double *performance, enum latency_origin *origin)
{
	int32_t root = flownet_root_machine(live->net, job->number);

	*rtt_us = latency_view_get(live->view, (uint32_t)root, machine, origin);
	*performance = performance_at(live_find_curve(live, job->curve)->curve, placer_settings(live->placer), *rtt_us);
}

bool live_is_cut_off(const struct live *live, const struct live_job *job, const struct live_task *task, int32_t machine)
{
	int32_t root = flownet_root_machine(live->net, job->number);

	return root != FLOWNET_NONE && live_task_number(job, task) != job->root &&
	       isinf(latency_view_get(live->view, (uint32_t)root, (uint32_t)machine, NULL));
}

/*
 * Only policies that do not use latencies propose a machine that cannot be reached from the root or, if
 * require_measured is set, one whose round trip to the root is not measured. No task is placed on it.
 */
bool live_fit_for(const struct live *live, const struct live_job *job, const struct live_task *task, int32_t to)
{
	double rtt_us, performance;
	enum latency_origin origin;

	if (live_task_number(job, task) == job->root)
		return true;
	if (live_is_cut_off(live, job, task, to))
		return false;
	live_predict(live, job, (uint32_t)to, &rtt_us, &performance, &origin);
	return !live->settings.require_measured || migration_is_measured(origin);
}

struct live_totals live_totals(const struct live *live)
{
	struct live_totals totals = live->totals;

	for (uint32_t j = 0; j < live->job_count; j++) {
		totals.jobs += live->jobs[j] != NULL;
		for (uint32_t t = 0; live->jobs[j] && t < live->jobs[j]->task_count; t++) {
			enum live_task_state state = live->jobs[j]->tasks[t].state;

			totals.waiting += state == LIVE_WAITING;
			if (state == LIVE_WAITING && live->jobs[j]->tasks[t].retry_s > 0)
				totals.waiting_pause++;
			else if (state == LIVE_WAITING && t != live->jobs[j]->root &&
				 flownet_root_machine(live->net, j) == FLOWNET_NONE)
				totals.waiting_root++;
			totals.decided += state == LIVE_DECIDED;
			totals.running += state == LIVE_RUNNING;
			totals.moving += state == LIVE_MOVING;
			totals.failed += state == LIVE_FAILED;
		}
	}
	for (uint32_t m = 0; m < live->cluster->machine_count; m++) {
		if (!live->cluster->machines[m].name)
			continue;
		totals.machines++;
		totals.slots += live->machines[m].in_network ? live->cluster->machines[m].slots : 0;
		totals.free_slots += live->machines[m].in_network ? (uint64_t)flownet_free(live->net, m) : 0;
	}
	totals.measured_pairs = latency_view_pairs(live->view);
	return totals;
}

void live_each_performance(const struct live *live,
			   void (*each)(void *context, const struct live_job *job, uint32_t machine,
					double performance),
			   void *context)
{
	for (uint32_t j = 0; j < live->job_count; j++) {
		const struct live_job *job = live->jobs[j];

		if (!job || flownet_root_machine(live->net, job->number) == FLOWNET_NONE)
			continue;
		for (uint32_t t = 0; t < job->task_count; t++) {
			const struct live_task *task = &job->tasks[t];
			int32_t machine = task->state == LIVE_MOVING ? task->origin : task->machine;
			double rtt_us, performance;
			enum latency_origin origin;

			if (t == job->root || (task->state != LIVE_RUNNING && task->state != LIVE_MOVING))
				continue;
			live_predict(live, job, (uint32_t)machine, &rtt_us, &performance, &origin);
			each(context, job, (uint32_t)machine, performance);
		}
	}
}

struct mean {
	double sum;
	uint64_t count;
};

static void add_to_mean(void *context, const struct live_job *job, uint32_t machine, double performance)
{
	struct mean *mean = context;

	(void)job;
	(void)machine;
	mean->sum += performance;
	mean->count++;
}

double live_performance(const struct live *live)
{
	struct mean mean = {0};

	live_each_performance(live, add_to_mean, &mean);
	return mean.count > 0 ? mean.sum / (double)mean.count : NAN;
}
