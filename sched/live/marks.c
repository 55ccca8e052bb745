/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps lists of the tasks and jobs that need work, so that no function must search all of them:
 *
 * - a heap of the tasks with a deadline; each task stores its index in the heap. Space for the task's entry is reserved
 *   when its job is added.
 * - lists of the jobs that have changed, that are to be reviewed, and that wait for a minimum number of slots.
 *
 * Also counts the tasks of each user and the moving tasks.
 */
#include <errno.h>
#include <math.h>

#include <base/array.h>

#include "live_priv.h"

int live_reserve_deadlines(struct live *live, uint32_t tasks)
{
	struct live_deadline *deadlines =
		array_reserve(live->deadlines, live->task_count + tasks, &live->deadline_capacity, sizeof *deadlines);

	if (!deadlines)
		return -ENOMEM;
	live->deadlines = deadlines;
	return 0;
}

/*
 * Returns the time of the task's deadline: if it is decided or moving, the time by which its start must have been
 * reported; if it waits after a failure, the end of its pause. INFINITY: none.
 */
static double due_s(const struct live *live, const struct live_task *task)
{
	if (task->state == LIVE_DECIDED || task->state == LIVE_MOVING)
		return task->since_s + live->settings.start_timeout_s;
	return task->state == LIVE_WAITING && task->retry_s > 0 ? task->retry_s : INFINITY;
}

/* This is a total order, so that deadlines of equal time expire in the same order whatever the order of insertion. */
static bool is_earlier(const struct live_deadline *a, const struct live_deadline *b)
{
	if (a->due_s < b->due_s || a->due_s > b->due_s)
		return a->due_s < b->due_s;
	if (a->job->number != b->job->number)
		return a->job->number < b->job->number;
	return a->task < b->task;
}

static void put(struct live *live, size_t at, struct live_deadline deadline)
{
	live->deadlines[at] = deadline;
	deadline.job->tasks[deadline.task].deadline = (uint32_t)at + 1;
}

/* Stores a deadline in the heap, in place of the entry at index `at`, and moves it up or down as its time requires. */
static void sift(struct live *live, size_t at, struct live_deadline deadline)
{
	const struct live_deadline *deadlines = live->deadlines;

	for (; at > 0 && is_earlier(&deadline, &deadlines[(at - 1) / 2]); at = (at - 1) / 2)
		put(live, at, deadlines[(at - 1) / 2]);
	for (size_t child = 2 * at + 1; child < live->deadline_count; at = child, child = 2 * at + 1) {
		if (child + 1 < live->deadline_count && is_earlier(&deadlines[child + 1], &deadlines[child]))
			child++;
		if (!is_earlier(&deadlines[child], &deadline))
			break;
		put(live, at, deadlines[child]);
	}
	put(live, at, deadline);
}

static void remove_deadline(struct live *live, struct live_task *task)
{
	size_t at = task->deadline - 1;

	task->deadline = 0;
	if (at != --live->deadline_count)
		sift(live, at, live->deadlines[live->deadline_count]);
}

void live_mark_task(struct live *live, struct live_job *job, struct live_task *task)
{
	struct live_deadline deadline = {due_s(live, task), job, live_task_number(job, task)};

	if (isinf(deadline.due_s) && task->deadline > 0)
		remove_deadline(live, task);
	else if (!isinf(deadline.due_s))
		sift(live, task->deadline > 0 ? task->deadline - 1 : live->deadline_count++, deadline);
}

void live_mark_changed(struct live *live, struct live_job *job)
{
	if (!job->dirty)
		TAILQ_INSERT_TAIL(&live->changed_jobs, job, changed);
	job->dirty = true;
}

void live_gang_enter(struct live *live, struct live_job *job)
{
	bool all_wait = true;

	for (uint32_t t = 0; t < job->task_count; t++)
		all_wait = all_wait && job->tasks[t].state == LIVE_WAITING;
	if (job->limits.minimum_tasks <= 1 || !all_wait)
		return;
	job->is_held = true;
	TAILQ_INSERT_TAIL(&live->gangs, job, of_gangs);
}

void live_gang_return(struct live *live, struct live_job *job)
{
	if (job->is_held)
		return;
	live_gang_enter(live, job);
	for (uint32_t t = 0; t < job->task_count && job->is_held; t++) {
		struct live_task *task = &job->tasks[t];

		if (flownet_task_present(live->net, job->number, t))
			flownet_task_ended(live->net, job->number, t);
		job->try_again_s = fmax(job->try_again_s, task->retry_s);
		task->retry_s = 0;
		live_mark_task(live, job, task);
	}
}

void live_gang_leave(struct live *live, struct live_job *job)
{
	if (job->is_held)
		TAILQ_REMOVE(&live->gangs, job, of_gangs);
	job->is_held = false;
}

void live_review_later(struct live *live, struct live_job *job)
{
	if (!job->review)
		TAILQ_INSERT_TAIL(&live->reviews, job, of_reviews);
	job->review = true;
}

void live_review_leave(struct live *live, struct live_job *job)
{
	if (job->review)
		TAILQ_REMOVE(&live->reviews, job, of_reviews);
	job->review = false;
}

void live_set_state(struct live *live, struct live_job *job, struct live_task *task, enum live_task_state state,
		    double now_s)
{
	task->dirty = true;
	task->state = state;
	task->since_s = now_s;
	task->lost_on = -1;
	live_mark_changed(live, job);
	live_mark_task(live, job, task);
	if (state == LIVE_RUNNING && live_moves_on(live, job))
		live_review_later(live, job);
}

void live_unmark_job(struct live *live, struct live_job *job)
{
	for (uint32_t t = 0; t < job->task_count; t++)
		if (job->tasks[t].deadline > 0)
			remove_deadline(live, &job->tasks[t]);
	live_gang_leave(live, job);
	live_review_leave(live, job);
	if (job->dirty)
		TAILQ_REMOVE(&live->changed_jobs, job, changed);
	job->dirty = false;
}

/* Searches linearly, because there are few users. A user's entry is never removed. */
static struct live_owner *find_owner(const struct live *live, uint32_t uid)
{
	for (size_t o = 0; o < live->owner_count; o++)
		if (live->owners[o].uid == uid)
			return &live->owners[o];
	return NULL;
}

int live_reserve_owner(struct live *live, uint32_t uid)
{
	struct live_owner *owners = live->owners;

	if (find_owner(live, uid))
		return 0;
	owners = array_grow(owners, live->owner_count, &live->owner_capacity, sizeof *owners);
	if (!owners)
		return -ENOMEM;
	live->owners = owners;
	owners[live->owner_count++] = (struct live_owner){.uid = uid};
	return 0;
}

void live_count_owner(struct live *live, uint32_t uid, int64_t tasks)
{
	find_owner(live, uid)->tasks += tasks;
	live->task_count = (size_t)((int64_t)live->task_count + tasks);
}

uint64_t live_owner_tasks(const struct live *live, uint32_t uid)
{
	const struct live_owner *owner = find_owner(live, uid);

	return owner ? (uint64_t)owner->tasks : 0;
}

void live_end_move(struct live *live, struct live_job *job, const struct live_task *task)
{
	live->on_the_move--;
	job->moving--;
	live->machines[task->origin].moving--;
	live->machines[task->machine].moving--;
}
