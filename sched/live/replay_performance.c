/* SPDX-License-Identifier: BSD-3-Clause */
/* Average application performance of the jobs of a replay, second by second, as the simulator computes it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/hash.h>
#include <sched/explain/performance.h>
#include <sched/live/calls.h>

#include "live_priv.h"

/*
 * Sums of a job. Jobs are identified by id, because a job may continue in the next segment, after a restart of the
 * daemon.
 */
struct job_sum {
	char *id;
	struct performance_sum sum;
};

struct replay_performance {
	struct hash_table index; /* hash of the id -> index in jobs[] */
	struct job_sum *jobs;
	size_t job_count, job_capacity;
	double task_sum, task_samples;
	int64_t second; /* the last second that was sampled, in journal time */
	/* Of the current sample: */
	const struct live *live;
	const struct live_job *job;
	float *rtt_us; /* scratch: round trip of each column of the layout */
	double sum, worst, intervals;
	uint32_t count;
	int code;
};

struct replay_performance *replay_performance_create(void)
{
	return calloc(1, sizeof(struct replay_performance));
}

static struct performance_sum *sum_of(struct replay_performance *replay, const char *id)
{
	uint64_t key = hash_text(id);
	struct job_sum *jobs;

	HASH_TABLE_EACH (&replay->index, key, at) {
		struct job_sum *known = &replay->jobs[hash_table_value(&replay->index, at)];

		if (strcmp(known->id, id) == 0)
			return &known->sum;
	}
	jobs = array_grow(replay->jobs, replay->job_count, &replay->job_capacity, sizeof *jobs);
	if (!jobs)
		return NULL;
	replay->jobs = jobs;
	jobs += replay->job_count;
	*jobs = (struct job_sum){.id = strdup(id)};
	if (!jobs->id || hash_table_insert(&replay->index, key, (uint32_t)replay->job_count) != 0) {
		free(jobs->id);
		return NULL;
	}
	replay->job_count++;
	return &jobs->sum;
}

static void end_job(struct replay_performance *replay)
{
	const struct live *live = replay->live;
	const struct live_job *job = replay->job;
	struct performance_sum *sum = job ? sum_of(replay, job->id) : NULL;
	double best;

	if (!job)
		return;
	if (!sum) {
		replay->code = -ENOMEM;
		return;
	}
	best = performance_best(live_find_curve(live, job->curve)->curve, live->placer, live->view, live->layout,
				(uint32_t)flownet_root_machine(live->net, job->number), replay->rtt_us);
	performance_sum_add(sum, replay->sum / replay->count, replay->worst, best, best, (uint64_t)replay->intervals);
	replay->task_sum += replay->sum * replay->intervals;
	replay->task_samples += replay->count * replay->intervals;
}

static void add_task(void *context, const struct live_job *job, uint32_t machine, double performance)
{
	struct replay_performance *replay = context;

	(void)machine;
	if (job != replay->job) {
		end_job(replay);
		replay->job = job;
		replay->sum = replay->count = 0;
		replay->worst = INFINITY;
	}
	replay->sum += performance;
	replay->worst = fmin(replay->worst, performance);
	replay->count++;
}

int replay_performance_sample(struct replay_performance *replay, const struct live *live, int64_t time_us)
{
	int64_t second = time_us / 1000000;

	if (second <= replay->second)
		return 0;
	replay->rtt_us = calloc(live->layout->column_count + 1, sizeof *replay->rtt_us);
	if (!replay->rtt_us)
		return -ENOMEM;
	replay->intervals = replay->second > 0 ? (double)(second - replay->second) : 1;
	replay->second = second;
	replay->live = live;
	replay->job = NULL;
	live_each_performance(live, add_task, replay);
	end_job(replay);
	free(replay->rtt_us);
	return replay->code;
}

void replay_performance_end(struct replay_performance *replay, struct live_replayed *replayed)
{
	double jobs = (double)replay->job_count;

	replayed->area = replayed->area_worst = 0;
	for (size_t j = 0; j < replay->job_count; j++) {
		replayed->area += performance_average(&replay->jobs[j].sum) / jobs;
		replayed->area_worst += performance_worst(&replay->jobs[j].sum) / jobs;
		free(replay->jobs[j].id);
	}
	if (replay->job_count == 0)
		replayed->area = replayed->area_worst = NAN;
	replayed->jobs = replay->job_count;
	replayed->task_mean = replay->task_sum / replay->task_samples;
	hash_table_free(&replay->index);
	free(replay->jobs);
	free(replay);
}
