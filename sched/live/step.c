/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles time-outs and runs rounds. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "live_priv.h"

static int take_place(struct live *live, const struct flownet_move *move, size_t number, struct live_job *job,
		      struct live_task *task, double now_s)
{
	int code;

	if (task->retry_s > 0 || task->state != LIVE_WAITING || !live_fit_for(live, job, task, move->to))
		return 0;
	code = flownet_reserve(live->net, number);
	live->blocked = live->blocked || code == -EBUSY;
	if (code == -EBUSY || code == -ESTALE)
		return 0; /* the next round proposes this placement again if it is still the best */
	if (code < 0)
		return code;
	task->machine = move->to;
	if (job->gang == LIVE_GANG_NONE)
		return live_place(live, job, task, now_s);
	task->state = LIVE_DECIDED; /* only reserves the slot; live_gangs_settle() makes the decision */
	return 0;
}

/*
 * True for a move that does not wait for a gain: from a draining machine, or from one that is unreachable from the
 * root.
 */
static bool is_urgent(const struct live *live, const struct flownet_move *move)
{
	const struct live_job *job = live->jobs[move->job];

	return move->from != FLOWNET_NONE && (live->machines[move->from].state == LIVE_DRAINING ||
					      live_is_cut_off(live, job, &job->tasks[move->task], move->from));
}

static int take_proposal(struct live *live, const struct flownet_move *move, size_t number, double now_s)
{
	struct live_job *job = live->jobs[move->job];
	struct live_task *task = &job->tasks[move->task];

	if (move->to == FLOWNET_NONE) {
		live_refuse_eviction(live, task);
		return 0;
	}
	if (move->from != FLOWNET_NONE && task->machine != move->from)
		return 0; /* it has moved; a move of its root in this round made this proposal count as not urgent */
	return move->from == FLOWNET_NONE ? take_place(live, move, number, job, task, now_s)
					  : live_take_move(live, move, number, job, task, now_s);
}

/*
 * Carries out or refuses the network's proposals, the urgent moves first, because the number of moves is limited.
 * Refuses every proposal that a running task waits again in favour of a root or of other jobs: running tasks are never
 * evicted.
 */
static int take_proposals(struct live *live, const struct flownet_round *round, double now_s)
{
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < round->move_count; i++) {
			const struct flownet_move *move = &round->moves[i];
			int code = 0;

			if (move->to != move->from && is_urgent(live, move) == (pass == 0))
				code = take_proposal(live, move, i, now_s);
			if (code < 0)
				return code;
		}
	}
	return 0;
}

static int propose(struct live *live, double now_s, struct error *err)
{
	struct flownet_round round;
	int code = flownet_propose(live->net, &round, err);

	live->totals.rounds++;
	live->totals.last_round_s += round.apply_s + round.solve_s + round.extract_s;
	live->totals.solver_s += round.apply_s + round.solve_s + round.extract_s;
	if (code == 0 && placer_order(live->placer, &round) < 0)
		code = live_out_of_memory(err);
	if (code == 0 && take_proposals(live, &round, now_s) < 0)
		code = live_out_of_memory(err);
	return code;
}

/*
 * Call it if a task was not placed because the move that should have freed its slot was refused. Repeats the round
 * without moves of the jobs whose moves were refused, so that the network proposes another slot. A repetition may
 * refuse moves of further jobs, so the number of repetitions is limited.
 */
static int propose_without_moves(struct live *live, double now_s, struct error *err)
{
	enum { TIMES_MOST = 8 };
	int code = 0, released;

	for (int times = 0; times < TIMES_MOST && code == 0 && live->blocked; times++) {
		live->blocked = false;
		code = live_hold_refused(live, true);
		if (code == 0)
			code = propose(live, now_s, err);
	}
	released = live_hold_refused(live, false);
	return code == 0 ? released : code;
}

static void count_machines(struct live *live)
{
	live->up_count = live->draining_count = 0;
	for (uint32_t m = 0; m < live->cluster->machine_count; m++) {
		live->up_count += live->machines[m].in_network;
		live->draining_count += live->machines[m].state == LIVE_DRAINING;
	}
}

/*
 * Runs a round: if the policy places roots first and a root waits, places the waiting roots before the other tasks
 * (NoMora 5.2).
 */
static int run_round(struct live *live, double now_s, struct error *err)
{
	int code, settled;

	live->totals.last_round_s = 0;
	live->blocked = false;
	live->look_again_s = INFINITY;
	live->round++;
	code = live_gangs_try(live, now_s);
	if (code == 0 && live->settings.policy->root_first && flownet_a_root_waits(live->net)) {
		code = flownet_hold_others(live->net, true);
		if (code == 0)
			code = propose(live, now_s, err);
		flownet_hold_others(live->net, false);
	}
	if (code == 0)
		code = propose(live, now_s, err);
	if (code == 0 && live->blocked)
		code = propose_without_moves(live, now_s, err);
	settled = live_gangs_settle(live, code < 0, now_s);
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

/* If nothing has changed, only advances the network's time, and does not record the call. */
static int step(struct live *live, double now_s, struct error *err)
{
	uint64_t before = live->last_decision;
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
	return (int)(live->last_decision - before);
}

int live_step(struct live *live, double now_s, struct error *err)
{
	int made = step(live, now_s, err);

	live->inside = false;
	return made;
}

double live_next_s(const struct live *live, double now_s)
{
	double next = live->changed || live->broken ? now_s : live->look_again_s;

	if (live->deadline_count > 0)
		next = fmin(next, live->deadlines[0].due_s);
	return fmax(0, next - now_s);
}
