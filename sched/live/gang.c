/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts jobs that have a minimum number of tasks to start with. The tasks of such a job are not in the network until
 * the cluster has this many free slots. The next round then reserves the slots that the network proposes for the tasks.
 * If the root and the minimum number of tasks get slots, these placements become decisions. Otherwise all slots are
 * released, and the job is tried again after a pause.
 */
#include <math.h>

#include "live_priv.h"

static uint64_t free_slots(const struct live *live)
{
	uint64_t slots = 0;

	for (uint32_t m = 0; m < live->cluster->machine_count; m++)
		if (live->machines[m].in_network && live->machines[m].state == LIVE_UP)
			slots += (uint64_t)flownet_free(live->net, m);
	return slots;
}

int live_gangs_try(struct live *live, double now_s)
{
	uint64_t slots = TAILQ_EMPTY(&live->gangs) ? 0 : free_slots(live);
	struct live_job *job;
	int code = 0;

	TAILQ_FOREACH(job, &live->gangs, of_gangs)
	{
		if (job->limits.minimum_tasks > slots)
			continue;
		if (job->try_again_s > now_s) {
			live->look_again_s = fmin(live->look_again_s, job->try_again_s);
			continue;
		}
		slots -= job->limits.minimum_tasks;
		job->gang = LIVE_GANG_TRIED;
		for (uint32_t t = 0; t < job->task_count && code == 0; t++)
			code = flownet_task_arrived(live->net, job->number, t, fmax(0, now_s - job->tasks[t].since_s));
	}
	return code;
}

/* Makes the decisions of a job, that of the root first. */
static int decide_all(struct live *live, struct live_job *job, double now_s)
{
	int code = live_place(live, job, &job->tasks[job->root], now_s);

	for (uint32_t t = 0; t < job->task_count && code == 0; t++)
		if (t != job->root && job->tasks[t].state == LIVE_DECIDED)
			code = live_place(live, job, &job->tasks[t], now_s);
	return code;
}

static void give_back(struct live *live, struct live_job *job, double now_s)
{
	for (uint32_t t = 0; t < job->task_count; t++) {
		struct live_task *task = &job->tasks[t];

		if (task->state == LIVE_DECIDED) {
			flownet_fail(live->net, job->number, t);
			live->changed = true; /* other tasks may take the slot */
		}
		if (flownet_task_present(live->net, job->number, t))
			flownet_task_ended(live->net, job->number, t);
		task->state = LIVE_WAITING;
		task->machine = -1;
	}
	job->gang = LIVE_GANG_HELD;
	job->try_again_s = now_s + fmax(1, live->settings.retry_s);
}

int live_gangs_settle(struct live *live, bool failed, double now_s)
{
	struct live_job *job, *next;
	int code = 0;

	for (job = TAILQ_FIRST(&live->gangs); job; job = next) {
		uint32_t placed = 0;

		next = TAILQ_NEXT(job, of_gangs);
		if (job->gang != LIVE_GANG_TRIED)
			continue;
		for (uint32_t t = 0; t < job->task_count; t++)
			placed += job->tasks[t].state == LIVE_DECIDED;
		if (failed || code < 0 || job->tasks[job->root].state != LIVE_DECIDED ||
		    placed < job->limits.minimum_tasks) {
			give_back(live, job, now_s);
			live->look_again_s = fmin(live->look_again_s, job->try_again_s);
			continue;
		}
		live_gang_leave(live, job);
		code = decide_all(live, job, now_s);
	}
	return code;
}
