/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds jobs (new ones, and those known before a restart), enters them into the network, and removes them. */
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
	job_graph_destroy(job->graph);
	live_flows_free(job->flows);
	free(job);
}

/*
 * A decided task is entered as running on its machine, so that it holds the slot. A move in progress is cancelled: the
 * task is entered as running on its origin. A root that pauses after a failure is entered, as pause_task() left it.
 */
static int enter_task(struct live *live, struct live_job *job, struct live_task *task, double now_s)
{
	uint32_t number = live_task_number(job, task);

	switch (task->state) {
	case LIVE_WAITING:
		return (task->retry_s > 0 && number != job->root) || job->is_held
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

/*
 * Enters the root. If the root has ended, its machine is the reference for the job's other tasks: such a root is first
 * entered as running on this machine, then reported as ended.
 */
static int enter_root(struct live *live, struct live_job *job, double now_s)
{
	int code;

	if (job->tasks[job->root].state != LIVE_ENDED || job->reference < 0 ||
	    !live->machines[job->reference].in_network)
		return enter_task(live, job, &job->tasks[job->root], now_s);
	code = flownet_task_found(live->net, job->number, job->root, (uint32_t)job->reference, 0);
	return code == 0 ? flownet_task_ended(live->net, job->number, job->root) : code;
}

static uint32_t open_tasks(const struct live_job *job)
{
	uint32_t open = 0;

	for (uint32_t t = 0; t < job->task_count; t++)
		open += job->tasks[t].state != LIVE_ENDED && job->tasks[t].state != LIVE_FAILED;
	return open;
}

int live_expect(struct live *live, const struct live_job *job)
{
	return flownet_job_expects(live->net, job->number, open_tasks(job));
}

int live_enter_job(struct live *live, struct live_job *job, double now_s)
{
	const struct live_curve *curve = live_find_curve(live, job->curve);
	int code = placer_job_arrived(live->placer, job->number, curve->number, job->root, job->task_count);

	if (code == 0)
		placer_job_graph(live->placer, job->number, job->graph);
	job->in_moves = false;
	if (live_moves_on(live, job))
		live_review_later(live, job);
	/* Enters the root first, so that its machine is known before the other tasks are entered. */
	if (code == 0)
		code = enter_root(live, job, now_s);
	for (uint32_t t = 0; t < job->task_count && code == 0; t++)
		if (t != job->root)
			code = enter_task(live, job, &job->tasks[t], now_s);
	return code == 0 ? live_expect(live, job) : code;
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
	if (job->graph)
		made->graph = job_graph_copy(job->graph);
	whole = made->id && made->curve && made->tasks && (made->graph || !job->graph);
	for (uint32_t t = 0; made->tasks && t < job->task_count; t++) {
		const struct job_task *from = &job->tasks[t];

		made->tasks[t] = (struct live_task){.name = strdup(from->name),
						    .machine = -1,
						    .origin = -1,
						    .came_from = -1,
						    .lost_on = -1,
						    .moved_s = -INFINITY,
						    .started_s = now_s,
						    .move = MIGRATION_NOT_PROPOSED,
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
		task->lost_on = task->state == LIVE_WAITING ? tasks[t].lost_on : -1;
		live->lost = live->lost || task->lost_on >= 0;
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
	uint32_t waiting = 0;
	struct live_job *made;
	int code = check_job(live, job, err);

	if (code < 0)
		return code;
	for (uint32_t t = 0; t < job->task_count; t++)
		waiting += job->tasks[t].machine == JOB_NO_MACHINE;
	if (waiting > live->slots)
		return error_set(err, E2BIG, "job '%s': %u tasks, the cluster has %llu slots", job->id, waiting,
				 (unsigned long long)live->slots);
	made = make_job(live, job, owner, may_move, now_s);
	if (!made)
		return live_out_of_memory(err);
	live_note_job(live, job, owner, may_move, NULL, now_s);
	return enter(live, made, now_s, err);
}

/*
 * Keeps a removed job until live_take_changes() reports it. If out of memory, the job is not reported, so that it stays
 * on disk: after a restart of the daemon it exists again, and the executor must report its tasks as ended again.
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

void live_take_changes(struct live *live, void (*changed)(void *context, const struct live_job *job),
		       void (*removed)(void *context, const struct live_job *job), void *context)
{
	struct live_job *job;

	for (size_t r = 0; r < live->removed_count; r++) {
		removed(context, live->removed[r]);
		live_job_free(live->removed[r]);
	}
	live->removed_count = 0;
	while ((job = TAILQ_FIRST(&live->changed_jobs))) {
		TAILQ_REMOVE(&live->changed_jobs, job, changed);
		changed(context, job);
		job->dirty = false;
		for (uint32_t t = 0; t < job->task_count; t++)
			job->tasks[t].dirty = false;
	}
}

void live_remove_job(struct live *live, struct live_job *job)
{
	for (uint32_t t = 0; t < job->task_count; t++)
		if (job->tasks[t].state == LIVE_MOVING)
			live_end_move(live, job, &job->tasks[t]);
	placer_job_graph(live->placer, job->number, NULL);
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
	live_remove_job(live, live->jobs[job->number]);
	return 0;
}
