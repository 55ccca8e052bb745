/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor's reports on tasks. */
#include <errno.h>
#include <string.h>

#include "live_priv.h"

static bool in_transit(const struct live *live, const struct live_job *job, const struct live_task *task)
{
	int32_t origin;

	return flownet_task_in_transit(live->net, job->number, live_task_number(job, task), &origin);
}

static int unknown_task(struct error *err, const char *job, const char *task)
{
	return error_set(err, ENOENT, "unknown task '%s' of job '%s'", task, job);
}

static int wrong_state(struct error *err, const char *job, const struct live_task *task, const char *expected)
{
	return error_set(err, EINVAL, "task '%s' of job '%s' is %s; expected %s", task->name, job,
			 live_task_state_name(task->state), expected);
}

int live_started(struct live *live, const char *job_id, const char *task_name, const char *machine, double now_s,
		 struct error *err)
{
	struct live_job *job;
	struct live_task *task = live_find_task(live, job_id, task_name, &job);
	bool moved;

	if (!task)
		return unknown_task(err, job_id, task_name);
	moved = task->state == LIVE_MOVING;
	if (task->state == LIVE_RUNNING && strcmp(live->cluster->machines[task->machine].name, machine) == 0)
		return 0; /* the start was reported before */
	if (task->state != LIVE_DECIDED && !moved)
		return wrong_state(err, job_id, task, "a decided or moving task");
	if (strcmp(live->cluster->machines[task->machine].name, machine) != 0)
		return error_set(err, EINVAL, "task '%s' of job '%s' was to start on '%s', not on '%s'", task_name,
				 job_id, live->cluster->machines[task->machine].name, machine);
	/*
	 * After a restart, a decided task was entered into the network as running: the network then has no start to
	 * confirm.
	 */
	if (in_transit(live, job, task))
		flownet_confirm(live->net, job->number, live_task_number(job, task));
	if (moved) {
		live_end_move(live, job, task);
		live->totals.moves++;
		task->came_from = task->origin;
		task->moved_s = now_s;
		task->origin = -1;
	}
	task->attempts = 0;
	if (!moved)
		task->started_s = now_s;
	live_set_state(live, job, task, LIVE_RUNNING, now_s);
	live->changed = true;
	live_note_report(live, "started", job_id, task_name, machine, now_s);
	return 0;
}

int live_ended(struct live *live, const char *job_id, const char *task_name, struct error *err)
{
	struct live_job *job;
	struct live_task *task = live_find_task(live, job_id, task_name, &job);

	if (!task)
		return unknown_task(err, job_id, task_name);
	if (task->state == LIVE_ENDED)
		return 0;
	if (task->state == LIVE_WAITING || task->state == LIVE_FAILED)
		return wrong_state(err, job_id, task, "a decided, moving or running task");
	live_note_report(live, "ended", job_id, task_name, NULL, 0);
	if (task->state == LIVE_MOVING)
		live_end_move(live, job, task);
	if (live_task_number(job, task) == job->root)
		job->reference = task->machine;
	task->dirty = true;
	live_mark_changed(live, job);
	if (flownet_task_present(live->net, job->number, live_task_number(job, task)))
		flownet_task_ended(live->net, job->number, live_task_number(job, task));
	task->machine = task->origin = -1;
	task->state = LIVE_ENDED;
	live_mark_task(live, job, task);
	job->ended_count++;
	live->changed = true;
	if (job->ended_count == job->task_count)
		live_remove_job(live, job);
	return 0;
}

/*
 * Takes the task off its machine in the network; it waits there. A task that was decided before a restart is not in
 * transit: it was entered as found on its machine.
 */
static void vacate(struct live *live, struct live_job *job, struct live_task *task)
{
	uint32_t number = live_task_number(job, task);

	if (in_transit(live, job, task)) {
		flownet_fail(live->net, job->number, number);
	} else if (flownet_task_machine(live->net, job->number, number) != FLOWNET_NONE) {
		flownet_task_ended(live->net, job->number, number);
		flownet_task_arrived(live->net, job->number, number, 0);
	}
}

/*
 * After a failure the task leaves the network for a pause, or for good after its last attempt. A root stays in the
 * network as waiting, and take_place() refuses proposals to place it during the pause: if the root left, the network
 * would treat it as ended, while the job's other tasks must wait for it.
 */
static void pause_task(struct live *live, struct live_job *job, struct live_task *task, double now_s)
{
	uint32_t number = live_task_number(job, task);

	if (number == job->root)
		vacate(live, job, task);
	else if (flownet_task_present(live->net, job->number, number))
		flownet_task_ended(live->net, job->number, number);
	task->machine = task->origin = -1;
	task->attempts++;
	if (task->attempts >= live->settings.attempts_maximum) {
		live_set_state(live, job, task, LIVE_FAILED, now_s);
	} else {
		task->retry_s =
			now_s + live->settings.retry_s *
					(double)(UINT64_C(1) << (task->attempts - 1 < 20 ? task->attempts - 1 : 20));
		live_set_state(live, job, task, LIVE_WAITING, now_s);
	}
	live_expect(live, job);
}

void live_take_back(struct live *live, struct live_job *job, struct live_task *task, double now_s)
{
	if (task->state == LIVE_DECIDED)
		vacate(live, job, task);
	else if (in_transit(live, job, task))
		flownet_fail(live->net, job->number, live_task_number(job, task));
	if (task->state == LIVE_MOVING) {
		live_end_move(live, job, task);
		task->came_from = task->machine; /* so that the move is not tried again within no_return_s */
		task->moved_s = now_s;
		task->machine = task->origin;
		task->origin = -1;
		live_set_state(live, job, task, LIVE_RUNNING, now_s);
	} else {
		task->machine = -1;
		live_set_state(live, job, task, LIVE_WAITING, now_s);
	}
	live_expect(live, job);
	live->changed = true;
}

int live_failed(struct live *live, const char *job_id, const char *task_name, double now_s, struct error *err)
{
	struct live_job *job;
	struct live_task *task = live_find_task(live, job_id, task_name, &job);

	if (!task)
		return unknown_task(err, job_id, task_name);
	if (task->state == LIVE_MOVING || task->state == LIVE_DECIDED || task->state == LIVE_RUNNING)
		live_note_report(live, "failed", job_id, task_name, NULL, now_s);
	switch (task->state) {
	case LIVE_MOVING:
		live_take_back(live, job, task, now_s);
		return 0;
	case LIVE_DECIDED:
		live_take_back(live, job, task, now_s);
		/* fall through */
	case LIVE_RUNNING:
		pause_task(live, job, task, now_s);
		live_gang_return(live, job);
		live->changed = true;
		return 0;
	default:
		return wrong_state(err, job_id, task, "a decided, moving or running task");
	}
}
