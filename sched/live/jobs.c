/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs, and the executor's reports on their tasks. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

#include "live_priv.h"

void live_job_free(struct live_job *job)
{
	if (!job)
		return;
	for (uint32_t t = 0; job->tasks && t < job->task_count; t++)
		free(job->tasks[t].name);
	free(job->tasks);
	free(job->id);
	free(job->curve);
	free(job);
}

static bool in_transit(const struct live *live, const struct live_job *job, const struct live_task *task)
{
	int32_t origin;

	return flownet_task_in_transit(live->net, job->number, live_task_number(job, task), &origin);
}

void live_set_state(struct live *live, struct live_job *job, struct live_task *task, enum live_task_state state,
		    double now_s)
{
	task->dirty = true;
	task->state = state;
	task->since_s = now_s;
	live_mark_changed(live, job);
	live_mark_task(live, job, task);
	if (state == LIVE_RUNNING && live_moves_on(live, job))
		live_review_later(live, job);
}

uint32_t live_task_number(const struct live_job *job, const struct live_task *task)
{
	return (uint32_t)(task - job->tasks);
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

/*
 * A decided or moving task is entered as found on its new machine, so that it holds the slot; a move's old slot is
 * released.
 */
static int enter_task(struct live *live, struct live_job *job, struct live_task *task, double now_s)
{
	uint32_t number = live_task_number(job, task);

	switch (task->state) {
	case LIVE_WAITING:
		return task->retry_s > 0 || job->gang != LIVE_GANG_NONE
			       ? 0
			       : flownet_task_arrived(live->net, job->number, number, fmax(0, now_s - task->since_s));
	case LIVE_MOVING:
		task->machine = task->origin;
		task->origin = -1;
		live_set_state(live, job, task, LIVE_RUNNING, now_s);
		/* fall through */
	case LIVE_DECIDED:
	case LIVE_RUNNING:
		return flownet_task_found(live->net, job->number, number, (uint32_t)task->machine,
					  fmax(0, now_s - task->since_s));
	case LIVE_FAILED:
		return number == job->root ? flownet_task_arrived(live->net, job->number, number, 0) : 0;
	default:
		return 0;
	}
}

/* For a root that has ended, its machine is the reference: enters the root as running there, then as ended. */
static int enter_root(struct live *live, struct live_job *job, double now_s)
{
	int code;

	if (job->tasks[job->root].state != LIVE_ENDED || job->reference < 0 ||
	    !live->machines[job->reference].in_network)
		return enter_task(live, job, &job->tasks[job->root], now_s);
	code = flownet_task_found(live->net, job->number, job->root, (uint32_t)job->reference, 0);
	return code == 0 ? flownet_task_ended(live->net, job->number, job->root) : code;
}

int live_enter_job(struct live *live, struct live_job *job, double now_s)
{
	const struct live_curve *curve = live_find_curve(live, job->curve);
	int code = placer_set_job_curve(live->placer, job->number, curve->number);

	if (code == 0)
		code = flownet_job_arrived(live->net, job->number, job->root);
	job->in_moves = false;
	if (live_moves_on(live, job))
		live_review_later(live, job);
	/* The root first, so that the reference is known before the other tasks are entered. */
	if (code == 0)
		code = enter_root(live, job, now_s);
	for (uint32_t t = 0; t < job->task_count && code == 0; t++)
		if (t != job->root)
			code = enter_task(live, job, &job->tasks[t], now_s);
	return code;
}

static struct live_job *make_job(struct live *live, const struct job *job, uint32_t owner, bool may_move, double now_s)
{
	struct live_job *made = calloc(1, sizeof *made);
	bool whole;

	if (!made)
		return NULL;
	*made = (struct live_job){.id = strdup(job->id),
				  .curve = strdup(job->curve),
				  .owner = owner,
				  .root = job->root,
				  .may_move = may_move,
				  .restart_s = -1,
				  .limits = job->limits,
				  .reference = -1,
				  .arrived_s = now_s,
				  .number = flownet_spare_job(live->net),
				  .tasks = calloc(job->task_count, sizeof *made->tasks)};
	whole = made->id && made->curve && made->tasks;
	for (uint32_t t = 0; made->tasks && t < job->task_count; t++) {
		const struct job_task *from = &job->tasks[t];

		made->tasks[t] = (struct live_task){.name = strdup(from->name),
						    .machine = -1,
						    .origin = -1,
						    .came_from = -1,
						    .moved_s = -INFINITY,
						    .started_s = now_s,
						    .gain_since_s = -1,
						    .proposed_to = -1,
						    .advised_to = -1,
						    .dirty = true};
		made->task_count++;
		if (from->machine != JOB_NO_MACHINE) {
			made->tasks[t].machine = (int32_t)from->machine;
			made->tasks[t].state = LIVE_RUNNING;
			made->tasks[t].since_s = made->tasks[t].started_s = now_s - from->running_s;
		} else {
			made->tasks[t].since_s = now_s - from->waited_s;
		}
		whole = whole && made->tasks[t].name;
	}
	if (whole)
		return made;
	live_job_free(made);
	return NULL;
}

static int keep_job(struct live *live, struct live_job *job)
{
	struct live_job **jobs = array_reserve(live->jobs, (size_t)job->number + 1, &live->job_capacity, sizeof *jobs);

	if (!jobs)
		return -ENOMEM;
	live->jobs = jobs;
	while (live->job_count <= job->number)
		jobs[live->job_count++] = NULL;
	if (live_reserve_deadlines(live, job->task_count) < 0 || live_reserve_owner(live, job->owner) < 0 ||
	    hash_table_insert(&live->job_ids, hash_text(job->id), job->number) < 0)
		return -ENOMEM;
	live_count_owner(live, job->owner, job->task_count);
	jobs[job->number] = job;
	live_mark_changed(live, job);
	live_gang_enter(live, job);
	for (uint32_t t = 0; t < job->task_count; t++)
		live_mark_task(live, job, &job->tasks[t]);
	return 0;
}

static int check_job(const struct live *live, const struct job *job, struct error *err)
{
	if (live_find_job(live, job->id))
		return error_set(err, EEXIST, "job '%s' exists", job->id);
	if (!live_find_curve(live, job->curve))
		return error_set(err, ENOENT, "job '%s': unknown curve '%s'", job->id, job->curve);
	if (job->task_count > live->slots)
		return error_set(err, E2BIG, "job '%s': %u tasks, the cluster has %llu slots", job->id, job->task_count,
				 (unsigned long long)live->slots);
	for (uint32_t t = 0; t < job->task_count; t++)
		if (job->tasks[t].machine != JOB_NO_MACHINE && !live->machines[job->tasks[t].machine].in_network)
			return error_set(err, EINVAL, "job '%s': task '%s' runs on machine '%s', which is down",
					 job->id, job->tasks[t].name,
					 live->cluster->machines[job->tasks[t].machine].name);
	return 0;
}

static int enter(struct live *live, struct live_job *made, double now_s, struct error *err)
{
	int code = keep_job(live, made);

	if (code < 0) {
		live_job_free(made);
		return live_out_of_memory(err);
	}
	live->changed = true;
	code = live_enter_job(live, made, now_s);
	return code == 0 ? 0 : error_set(err, -code, "job '%s': %s", made->id, strerror(-code));
}

int live_restore(struct live *live, const struct job *job, uint32_t owner, bool may_move, const struct live_task *tasks,
		 double now_s, struct error *err)
{
	struct live_job *made;
	int code = check_job(live, job, err);

	if (code < 0)
		return code;
	made = make_job(live, job, owner, may_move, now_s);
	if (!made)
		return live_out_of_memory(err);
	for (uint32_t t = 0; t < made->task_count; t++) {
		struct live_task *task = &made->tasks[t];

		task->state = tasks[t].state;
		task->attempts = tasks[t].attempts;
		task->since_s = tasks[t].since_s;
		task->machine = tasks[t].machine;
		task->origin = tasks[t].origin;
		task->came_from = tasks[t].came_from;
		task->moved_s = tasks[t].moved_s;
		task->started_s = tasks[t].started_s;
		task->dirty = false;
		made->ended_count += task->state == LIVE_ENDED;
		if (task->state == LIVE_ENDED) {
			made->reference = t == job->root ? task->machine : made->reference;
			task->machine = -1;
		}
	}
	live_note_job(live, job, owner, may_move, tasks, now_s);
	return enter(live, made, now_s, err);
}

int live_submit(struct live *live, const struct job *job, uint32_t owner, bool may_move, double now_s,
		struct error *err)
{
	struct live_job *made;
	int code = check_job(live, job, err);

	if (code < 0)
		return code;
	made = make_job(live, job, owner, may_move, now_s);
	if (!made)
		return live_out_of_memory(err);
	live_note_job(live, job, owner, may_move, NULL, now_s);
	return enter(live, made, now_s, err);
}

/*
 * Kept until live_take_changes(). If out of memory, the store keeps the removed job; a restart would bring it back, and
 * an executor would end it again.
 */
static void note_removed(struct live *live, struct live_job *job)
{
	struct live_job **removed =
		array_grow(live->removed, live->removed_count, &live->removed_capacity, sizeof(struct live_job *));

	if (!removed) {
		live_job_free(job);
		return;
	}
	live->removed = removed;
	removed[live->removed_count++] = job;
}

static void remove_job(struct live *live, struct live_job *job)
{
	for (uint32_t t = 0; t < job->task_count; t++)
		if (job->tasks[t].state == LIVE_MOVING)
			live_end_move(live, job, &job->tasks[t]);
	flownet_job_ended(live->net, job->number);
	HASH_TABLE_EACH (&live->job_ids, hash_text(job->id), at)
		if (hash_table_value(&live->job_ids, at) == job->number) {
			hash_table_remove(&live->job_ids, at);
			break;
		}
	live->jobs[job->number] = NULL;
	live_unmark_job(live, job);
	live_count_owner(live, job->owner, -(int64_t)job->task_count);
	note_removed(live, job);
	live->changed = true;
}

int live_set_restart(struct live *live, const char *id, double restart_s, struct error *err)
{
	struct live_job *job = (struct live_job *)live_find_job(live, id);

	if (!job)
		return error_set(err, ENOENT, "unknown job '%s'", id);
	job->restart_s = restart_s;
	live_note_report(live, "restart", id, NULL, NULL, restart_s);
	return 0;
}

int live_cancel(struct live *live, const char *id, struct error *err)
{
	const struct live_job *job = live_find_job(live, id);

	if (!job)
		return error_set(err, ENOENT, "unknown job '%s'", id);
	live_note_name(live, "cancel", id);
	remove_job(live, live->jobs[job->number]);
	return 0;
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
		return 0; /* reported twice */
	if (task->state != LIVE_DECIDED && !moved)
		return wrong_state(err, job_id, task, "a decision to start");
	if (strcmp(live->cluster->machines[task->machine].name, machine) != 0)
		return error_set(err, EINVAL, "task '%s' of job '%s' was to start on '%s', not on '%s'", task_name,
				 job_id, live->cluster->machines[task->machine].name, machine);
	/* A decided task that was adopted after a restart holds its slot like a running task. */
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
		return wrong_state(err, job_id, task, "a task that runs or is to start");
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
		remove_job(live, job);
	return 0;
}

/*
 * After a failure the task leaves the network for a pause, or for good after its last attempt. A root stays in the
 * network, because its job's other tasks wait for it there, and its proposals are refused: if it left, the network
 * would treat it as a root that has ended.
 */
static void pause_task(struct live *live, struct live_job *job, struct live_task *task, double now_s)
{
	uint32_t number = live_task_number(job, task);
	bool is_root = number == job->root;

	if (is_root && task->state == LIVE_RUNNING) {
		flownet_task_ended(live->net, job->number, number);
		flownet_task_arrived(live->net, job->number, number, 0);
	} else if (!is_root && flownet_task_present(live->net, job->number, number)) {
		flownet_task_ended(live->net, job->number, number);
	}
	task->machine = task->origin = -1;
	task->attempts++;
	if (task->attempts >= live->settings.attempts_maximum) {
		live_set_state(live, job, task, LIVE_FAILED, now_s);
		return;
	}
	task->retry_s = now_s + live->settings.retry_s *
					(double)(UINT64_C(1) << (task->attempts - 1 < 20 ? task->attempts - 1 : 20));
	live_set_state(live, job, task, LIVE_WAITING, now_s);
}

void live_take_back(struct live *live, struct live_job *job, struct live_task *task, double now_s)
{
	uint32_t number = live_task_number(job, task);

	if (in_transit(live, job, task))
		flownet_fail(live->net, job->number, number);
	if (task->state == LIVE_MOVING) {
		live_end_move(live, job, task);
		task->machine = task->origin;
		task->origin = -1;
		task->moved_s = now_s; /* no further attempt within no_return_s */
		live_set_state(live, job, task, LIVE_RUNNING, now_s);
	} else {
		task->machine = -1;
		live_set_state(live, job, task, LIVE_WAITING, now_s);
	}
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
		live->changed = true;
		return 0;
	default:
		return wrong_state(err, job_id, task, "a task that runs or is to start");
	}
}
