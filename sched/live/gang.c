/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts jobs that have a minimum number of tasks to start with. The tasks of such a job are not in the network until
 * the cluster has this many free slots. The next round then reserves the slots that the network proposes for the tasks.
 * If the root and the minimum number of tasks get slots, these placements become decisions. Otherwise all slots are
 * released, and the job is tried again after a pause.
 */
#include <math.h>

#include <base/array.h>

#include "live_priv.h"

int live_gangs_list(struct live *live, double now_s)
{
	struct live_job *job;

	live->ready_count = 0;
	TAILQ_FOREACH(job, &live->gangs, of_gangs)
	{
		struct round_gang *ready;

		if (job->try_again_s > now_s) {
			live->look_again_s = fmin(live->look_again_s, job->try_again_s);
			continue;
		}
		ready = array_grow(live->ready, live->ready_count, &live->ready_capacity, sizeof *ready);
		if (!ready)
			return -ENOMEM;
		live->ready = ready;
		ready[live->ready_count++] = (struct round_gang){
			.job = job->number, .tasks = job->task_count, .minimum = job->limits.minimum_tasks};
	}
	return 0;
}

/* Makes the decisions of a job, that of the root first. */
static int decide_all(struct live *live, struct live_job *job, double now_s)
{
	int code;

	live_gang_leave(live, job);
	code = live_place(live, job, &job->tasks[job->root], now_s);
	for (uint32_t t = 0; t < job->task_count && code == 0; t++)
		if (t != job->root && job->tasks[t].state == LIVE_DECIDED)
			code = live_place(live, job, &job->tasks[t], now_s);
	return code;
}

/* The round has released the slots. */
static void try_later(struct live *live, struct live_job *job, double now_s)
{
	for (uint32_t t = 0; t < job->task_count; t++) {
		live->changed = live->changed || job->tasks[t].state == LIVE_DECIDED; /* others may take the slot */
		job->tasks[t].state = LIVE_WAITING;
		job->tasks[t].machine = -1;
	}
	job->try_again_s = now_s + fmax(1, live->settings.retry_s);
	live->look_again_s = fmin(live->look_again_s, job->try_again_s);
}

int live_gangs_settle(struct live *live, double now_s)
{
	int code = 0;

	for (size_t g = 0; g < live->ready_count && code == 0; g++) {
		struct live_job *job = live->jobs[live->ready[g].job];

		if (live->ready[g].started)
			code = decide_all(live, job, now_s);
		else if (live->ready[g].tried)
			try_later(live, job, now_s);
	}
	return code;
}
