/* SPDX-License-Identifier: BSD-3-Clause */
/* Time-outs, rounds, decisions, explanations. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

#include "live_priv.h"

void live_decision_clear(struct live_decision *decision)
{
	free(decision->job);
	free(decision->task);
	free(decision->from);
	free(decision->to);
}

/*
 * When there are twice as many as are kept, the oldest are dropped, so that dropping takes constant time per decision.
 */
static int make_space(struct live *live)
{
	struct live_decision *decisions;

	if (live->decision_count >= 2 * (size_t)live->settings.decisions_kept) {
		size_t drop = live->decision_count - live->settings.decisions_kept;

		for (size_t d = 0; d < drop; d++)
			live_decision_clear(&live->decisions[d]);
		memmove(live->decisions, live->decisions + drop,
			(live->decision_count - drop) * sizeof *live->decisions);
		live->decision_count -= drop;
	}
	decisions = array_grow(live->decisions, live->decision_count, &live->decision_capacity, sizeof *decisions);
	if (!decisions)
		return -ENOMEM;
	live->decisions = decisions;
	return 0;
}

int live_decide(struct live *live, const struct live_decision *what, const struct live_job *job, struct live_task *task,
		int32_t from, int32_t to)
{
	struct live_decision *decision;

	if (make_space(live) < 0)
		return -ENOMEM;
	decision = &live->decisions[live->decision_count];
	*decision = *what;
	decision->sequence = live->last_decision + 1;
	decision->job = strdup(job->id);
	decision->task = strdup(task->name);
	decision->is_root = live_task_number(job, task) == job->root;
	decision->rtt_us = decision->performance = decision->measured = NAN;
	decision->from = from >= 0 ? strdup(live->cluster->machines[from].name) : NULL;
	decision->to = strdup(live->cluster->machines[to].name);
	if (!decision->job || !decision->task || !decision->to || (from >= 0 && !decision->from)) {
		live_decision_clear(decision);
		return -ENOMEM;
	}
	if (!decision->is_root) {
		live_predict(live, job, (uint32_t)to, &decision->rtt_us, &decision->performance, &decision->origin);
		if (what->kind != LIVE_ADVICE)
			task->was_measured = live_is_measured(decision->origin);
		decision->measured = live_measured_share(live, (uint32_t)flownet_root_machine(live->net, job->number));
	}
	live->decision_count++;
	live->last_decision++;
	live->totals.decisions++;
	task->decision = live->last_decision;
	return 0;
}

/*
 * A machine that cannot be reached from the root gets no task, even if the network proposes one: a flow through a rack
 * may end on any of its machines. Neither does a machine without a measurement, if one is required.
 */
bool live_fit_for(const struct live *live, const struct live_job *job, const struct live_task *task, int32_t to)
{
	double rtt_us, performance;
	enum latency_origin origin;

	if (live_task_number(job, task) == job->root)
		return true;
	live_predict(live, job, (uint32_t)to, &rtt_us, &performance, &origin);
	if (isinf(rtt_us))
		return false;
	return !live->settings.require_measured || live_is_measured(origin);
}

int live_place(struct live *live, struct live_job *job, struct live_task *task, double now_s)
{
	const struct live_decision what = {
		.kind = LIVE_PLACE, .at_s = now_s, .waited_s = fmax(0, now_s - task->since_s)};
	int code;

	live_set_state(live, job, task, LIVE_DECIDED, now_s);
	code = live_decide(live, &what, job, task, -1, task->machine);
	if (code == 0 && live->settings.confirm_at_once)
		code = live_started(live, job->id, task->name, live->cluster->machines[task->machine].name, now_s,
				    NULL);
	return code;
}

static int take_place(struct live *live, const struct flownet_move *move, size_t number, struct live_job *job,
		      struct live_task *task, double now_s)
{
	int code;

	if (task->retry_s > 0 || task->state != LIVE_WAITING || !live_fit_for(live, job, task, move->to))
		return 0;
	code = flownet_reserve(live->net, number);
	live->blocked = live->blocked || code == -EBUSY;
	if (code == -EBUSY || code == -ESTALE)
		return 0; /* the next round proposes it again, if it is still best */
	if (code < 0)
		return code;
	task->machine = move->to;
	if (job->gang == LIVE_GANG_NONE)
		return live_place(live, job, task, now_s);
	task->state = LIVE_DECIDED; /* only reserved: live_gangs_settle() decides */
	return 0;
}

/* Proposals to wait (displaced by a root or by other jobs) are refused: running tasks are never evicted. */
static int take_proposals(struct live *live, const struct flownet_round *round, double now_s)
{
	for (size_t i = 0; i < round->move_count; i++) {
		const struct flownet_move *move = &round->moves[i];
		struct live_job *job = live->jobs[move->job];
		struct live_task *task = &job->tasks[move->task];
		int code = 0;

		if (move->to == move->from)
			continue;
		if (move->to == FLOWNET_NONE) {
			live_refuse_eviction(live, task);
			continue;
		}
		code = move->from == FLOWNET_NONE ? take_place(live, move, i, job, task, now_s)
						  : live_take_move(live, move, i, job, task, now_s);
		if (code < 0)
			return code;
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
	if (code == 0 && take_proposals(live, &round, now_s) < 0)
		code = live_out_of_memory(err);
	return code;
}

/*
 * A refused move that was to free a slot leaves another task without one: repeats the round without moves of such jobs.
 * The slots of other jobs may then be needed; the number of repetitions is limited.
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

/* Waiting roots first, then the others (NoMora 5.2). */
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

/* A missing confirmation counts as a failure; a pause ends. */
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

/* A step without anything to do changes only the time. */
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

const struct live_decision *live_decisions(const struct live *live, uint64_t after, size_t *count)
{
	uint64_t first = live->last_decision - live->decision_count; /* number before the oldest kept */
	size_t skip = after > first ? (size_t)(after - first) : 0;

	*count = skip < live->decision_count ? live->decision_count - skip : 0;
	return *count > 0 ? live->decisions + skip : NULL;
}

uint64_t live_last_decision(const struct live *live)
{
	return live->last_decision;
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

void live_number_decisions(struct live *live, uint64_t last)
{
	live->last_decision = last;
	live_note_number(live, "number", (double)last);
}
