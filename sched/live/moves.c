/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes or refuses the moves that the network proposes, and records the reason of a refusal. */
#include <errno.h>
#include <math.h>

#include "live_priv.h"

void live_open_moves(struct live *live, bool open)
{
	if (live->closed != open)
		return;
	live_note_number(live, "open", open);
	live->changed = live->changed || open;
	live->closed = !open;
}

/* False: no gain can be predicted, because the task is the root, or the root's machine is not known. */
static bool has_gain(const struct live *live, const struct live_job *job, const struct live_task *task)
{
	return live_task_number(job, task) != job->root && flownet_root_machine(live->net, job->number) >= 0;
}

static double gain_of(const struct live *live, const struct live_job *job, const struct live_task *task, int32_t to)
{
	double rtt_us, before, after;
	enum latency_origin origin;

	if (!has_gain(live, job, task))
		return 0;
	live_predict(live, job, (uint32_t)task->machine, &rtt_us, &before, &origin);
	live_predict(live, job, (uint32_t)to, &rtt_us, &after, &origin);
	return after - before;
}

/* What the rules must know of a proposed move of the task to machine `to`. */
static struct migration_proposal describe(const struct live *live, const struct live_job *job,
					  const struct live_task *task, int32_t to, double now_s)
{
	const struct migration_settings *settings = &live->settings.moves;
	const struct job_limits limits = live_limits(live, job);
	const struct migration_task *before = &task->move;
	struct migration_proposal proposal = {
		.round = live->round,
		.now_s = now_s,
		.to = to,
		.gain = gain_of(live, job, task, to),
		.held_gain = before->gain_since_s >= 0 && live->machines[before->held_to].in_network
				     ? gain_of(live, job, task, before->held_to)
				     : -INFINITY,
		.has_gain = has_gain(live, job, task),
		.is_cut_off = live_is_cut_off(live, job, task, task->machine),
		.is_fit = live_fit_for(live, job, task, to),
		.is_allowed = job->may_move,
		.is_closed = live->closed,
		.drains = live->machines[task->machine].state == LIVE_DRAINING,
		.is_moving = task->moved_s >= now_s,
		.started_s = task->started_s,
		.came_from = task->came_from,
		.moved_s = task->moved_s,
		.minimum_gain = limits.migrate_gain,
		.hold_s = limits.migrate_hold_s,
		.restart_s = job->restart_s >= 0 ? job->restart_s : settings->restart_s,
		.job_limit = limits.migrate_tasks,
		.moving = live->on_the_move,
		.moving_here = live->machines[task->machine].moving,
		.moving_there = live->machines[to].moving,
		.moving_of_job = job->moving,
	};
	double rtt_us, performance;

	if (proposal.has_gain) {
		live_predict(live, job, (uint32_t)task->machine, &rtt_us, &performance, &proposal.here);
		live_predict(live, job, (uint32_t)to, &rtt_us, &performance, &proposal.there);
	}
	return proposal;
}

/* Decides whether to make a proposed move. */
static enum migration_refusal judge(struct live *live, const struct migration_proposal *proposal,
				    struct live_task *task)
{
	double again_s;

	if (task->move.round + 1 < live->round)
		task->advised_to = -1; /* a new series of proposals */
	migration_judge(&live->settings.moves, &task->move, proposal, &again_s);
	live->look_again_s = fmin(live->look_again_s, again_s);
	if (task->move.refusal != MIGRATION_ALLOWED)
		live->totals.refused[task->move.refusal]++;
	return task->move.refusal;
}

static int make_move(struct live *live, size_t number, struct live_job *job, struct live_task *task,
		     const struct live_decision *what, int32_t to)
{
	int code = flownet_reserve(live->net, number);

	if (code < 0)
		return code;
	task->origin = task->machine;
	task->machine = to;
	task->recovery = LIVE_RECOVERY_NONE;
	live->on_the_move++;
	live->machines[task->origin].moving++;
	live->machines[to].moving++;
	job->moving++;
	live_set_state(live, job, task, LIVE_MOVING, what->at_s);
	code = live_decide(live, what, job, task, task->origin, to);
	if (code == 0 && live->settings.confirm_at_once)
		code = live_started(live, job->id, task->name, live->cluster->machines[to].name, what->at_s, NULL);
	return code;
}

int live_take_move(struct live *live, const struct flownet_move *move, size_t number, struct live_job *job,
		   struct live_task *task, double now_s)
{
	const struct migration_proposal proposal = describe(live, job, task, move->to, now_s);
	struct live_decision what = {
		.kind = LIVE_MOVE, .at_s = now_s, .gain = proposal.gain, .drains = proposal.drains};
	int code;

	if (judge(live, &proposal, task) != MIGRATION_ALLOWED)
		return -EPERM;
	if (live->settings.moves.mode != MIGRATION_ADVISE || proposal.drains) {
		code = make_move(live, number, job, task, &what, move->to);
		live->totals.refused[MIGRATION_ALLOWED] += code == 0;
		return code;
	}
	live->totals.refused[MIGRATION_ALLOWED]++;
	if (task->advised_to == move->to)
		return -EPERM; /* this move was already advised */
	task->advised_to = move->to;
	what.kind = LIVE_ADVICE;
	code = live_decide(live, &what, job, task, move->from, move->to);
	return code == 0 ? -EPERM : code;
}

void live_refuse_eviction(struct live *live, struct live_task *task)
{
	migration_refuse_eviction(&task->move, live->round);
	live->totals.refused[task->move.refusal]++;
}

void live_send_away(struct live *live)
{
	uint32_t leaving = live->on_the_move;

	for (uint32_t j = 0; j < live->job_count && leaving < live->settings.moves.rate; j++)
		for (uint32_t t = 0; live->jobs[j] && t < live->jobs[j]->task_count; t++) {
			const struct live_task *task = &live->jobs[j]->tasks[t];

			if (task->state != LIVE_RUNNING || live->machines[task->machine].state != LIVE_DRAINING ||
			    !live->jobs[j]->may_move)
				continue;
			flownet_task_leave(live->net, j, t, true);
			if (++leaving >= live->settings.moves.rate)
				break;
		}
}

int live_hold_refused(struct live *live, bool hold)
{
	int code = 0;

	for (uint32_t j = 0; j < live->job_count && code == 0; j++) {
		const struct live_job *job = live->jobs[j];
		bool refused = false;

		for (uint32_t t = 0; job && t < job->task_count && !refused && job->in_moves; t++)
			refused = job->tasks[t].move.round == live->round &&
				  job->tasks[t].move.refusal != MIGRATION_ALLOWED;
		if (refused)
			code = flownet_job_moves(live->net, j, !hold, live_limits(live, job).migrate_gain);
	}
	return code;
}
