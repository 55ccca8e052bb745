/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles time-outs and runs rounds. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "live_priv.h"

/* The context of a round's functions. */
struct round {
	struct live *live;
	double now_s;
};

static int take_place(struct live *live, const struct flownet_move *move, size_t number, struct live_job *job,
		      struct live_task *task, double now_s)
{
	int code;

	if (task->retry_s > 0 || task->state != LIVE_WAITING || !live_fit_for(live, job, task, move->to))
		return -EPERM;
	code = flownet_reserve(live->net, number);
	if (code < 0)
		return code;
	task->machine = move->to;
	if (!job->is_held)
		return live_place(live, job, task, now_s);
	task->state = LIVE_DECIDED; /* only reserves the slot; live_gangs_settle() makes the decision */
	return 0;
}

/*
 * True for a move that does not wait for a gain: from a draining machine, or from one that is unreachable from the
 * root.
 */
static bool is_urgent(void *context, const struct flownet_move *move)
{
	const struct live *live = ((struct round *)context)->live;
	const struct live_job *job = live->jobs[move->job];

	return move->from != FLOWNET_NONE && (live->machines[move->from].state == LIVE_DRAINING ||
					      live_is_cut_off(live, job, &job->tasks[move->task], move->from));
}

/*
 * Carries out or refuses a proposal. Refuses every proposal that a running task waits again in favour of a root or of
 * other jobs: running tasks are never evicted.
 */
static int take(void *context, const struct flownet_move *move, size_t number)
{
	const struct round *round = context;
	struct live *live = round->live;
	struct live_job *job = live->jobs[move->job];
	struct live_task *task = &job->tasks[move->task];

	if (move->from == FLOWNET_NONE)
		return take_place(live, move, number, job, task, round->now_s);
	if (move->to != FLOWNET_NONE)
		return live_take_move(live, move, number, job, task, round->now_s);
	live_refuse_eviction(live, task);
	return -EPERM;
}

static double waited_s(void *context, uint32_t job, uint32_t task)
{
	const struct round *round = context;

	return fmax(0, round->now_s - round->live->jobs[job]->tasks[task].since_s);
}

static int hold_refused(void *context, bool hold)
{
	return live_hold_refused(((struct round *)context)->live, hold);
}

static void count_machines(struct live *live)
{
	live->up_count = live->draining_count = 0;
	for (uint32_t m = 0; m < live->cluster->machine_count; m++) {
		live->up_count += live->machines[m].in_network;
		live->draining_count += live->machines[m].state == LIVE_DRAINING;
	}
}

static int run_round(struct live *live, double now_s, struct error *err)
{
	struct round round = {live, now_s};
	struct round_options options = {.context = &round,
					.take = take,
					.is_urgent = is_urgent,
					.hold_refused = hold_refused,
					.waited_s = waited_s,
					.bound = live->settings.bound};
	int code, settled;

	live->look_again_s = INFINITY;
	live->round++;
	if (live_gangs_list(live, now_s) < 0)
		return live_out_of_memory(err);
	options.gangs = live->ready;
	options.gang_count = live->ready_count;
	code = round_run(live->placer, &options, &live->outcome, err);
	live->totals.rounds += live->outcome.solves;
	live->totals.last_round_s = live->outcome.seconds;
	live->totals.solver_s += live->outcome.seconds;
	live->totals.cost += code == 0 ? live->outcome.bound.cost : 0;
	live->totals.cost_bound += code == 0 ? live->outcome.bound.bound : 0;
	settled = live_gangs_settle(live, now_s);
	return code == 0 && settled < 0 ? live_out_of_memory(err) : code;
}

/* Handles a deadline: a missing confirmation counts as a failure; otherwise the task's pause ends. */
static int meet_deadline(struct live *live, struct live_job *job, uint32_t number, double now_s)
{
	struct live_task *task = &job->tasks[number];

	if (task->state != LIVE_WAITING) {
		live->totals.timeouts++;
		return live_failed(live, job->id, task->name, now_s, NULL);
	}
	task->retry_s = 0;
	live_mark_task(live, job, task);
	live_mark_changed(live, job);
	live->changed = true;
	return number == job->root ? 0 : flownet_task_arrived(live->net, job->number, number, now_s - task->since_s);
}

static int watch_tasks(struct live *live, double now_s)
{
	int code = 0;

	while (code == 0 && live->deadline_count > 0 && live->deadlines[0].due_s <= now_s)
		code = meet_deadline(live, live->deadlines[0].job, live->deadlines[0].task, now_s);
	live->changed = live->changed || live->look_again_s <= now_s;
	return code;
}

/* Returns 0 or -errno. If nothing has changed, only advances the network's time, and does not record the call. */
static int step(struct live *live, double now_s, struct error *err)
{
	int code;

	live->inside = true;
	code = watch_tasks(live, now_s);
	live->inside = false;
	if (live->changed)
		live_note_number(live, "step", now_s);
	live->inside = true;
	if (live->broken && code == 0)
		code = live_build(live, now_s, err);
	live->broken = live->broken && code < 0;
	if (code == 0 && now_s > live->network_s) {
		code = flownet_time_passed(live->net, now_s - live->network_s);
		live->network_s = now_s;
	}
	if (code < 0)
		return error_set(err, -code, "%s", strerror(-code));
	if (!live->changed)
		return 0;
	live->changed = false;
	count_machines(live);
	if (live->draining_count > 0)
		live_send_away(live);
	code = live_review(live);
	code = code < 0 ? error_set(err, -code, "%s", strerror(-code)) : run_round(live, now_s, err);
	live->changed = live->changed || !TAILQ_EMPTY(&live->reviews);
	if (code < 0) {
		live->totals.solver_errors++;
		live->broken = live->changed = true;
		return code;
	}
	return 0;
}

int live_step(struct live *live, double now_s, struct error *err)
{
	uint64_t before = live->last_decision;
	int made;

	if (live->lost && isinf(live->lost_s))
		live->lost_s = now_s;
	if (live_loses(live)) {
		if (live_recovery_wait_s(live, now_s) > 0)
			return 0;
		made = live_recover(live, now_s, err);
		live->inside = false;
		if (made < 0) {
			live->broken = true;
			return made;
		}
	}
	made = step(live, now_s, err);
	live->inside = false;
	return made < 0 ? made : (int)(live->last_decision - before);
}

double live_next_s(const struct live *live, double now_s)
{
	double next = live->changed || live->broken ? now_s : live->look_again_s;

	if (live_loses(live) && !isinf(live->lost_s))
		return live_recovery_wait_s(live, now_s);
	if (live->deadline_count > 0)
		next = fmin(next, live->deadlines[0].due_s);
	return fmax(0, next - now_s);
}
