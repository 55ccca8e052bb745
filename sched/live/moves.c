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

static double gain_of(const struct live *live, const struct live_job *job, const struct live_task *task, int32_t to)
{
	double rtt_us, before, after;
	enum latency_origin origin;

	if (live_task_number(job, task) == job->root || flownet_root_machine(live->net, job->number) < 0)
		return 0;
	live_predict(live, job, (uint32_t)task->machine, &rtt_us, &before, &origin);
	live_predict(live, job, (uint32_t)to, &rtt_us, &after, &origin);
	return after - before;
}

static bool machine_is_busy(const struct live *live, int32_t machine)
{
	uint32_t most = live->settings.migrate_per_machine;

	return most > 0 && live->machines[machine].moving >= most;
}

static enum live_refusal check_limits(const struct live *live, const struct live_job *job, const struct live_task *task,
				      int32_t to)
{
	const struct live_settings *settings = &live->settings;
	struct job_limits limits = live_limits(live, job);

	if (!live_fit_for(live, job, task, to))
		return LIVE_REFUSED_UNREACHABLE;
	if (live->on_the_move >= settings->migrate_rate)
		return LIVE_REFUSED_RATE;
	if (machine_is_busy(live, task->machine) || machine_is_busy(live, to))
		return LIVE_REFUSED_MACHINE;
	if (limits.migrate_tasks > 0 && job->moving >= limits.migrate_tasks)
		return LIVE_REFUSED_JOB;
	return LIVE_REFUSED_NOT;
}

/*
 * A lost measurement is no reason to move. So a task does not leave its machine if the round trip to it was measured
 * but no longer is. Nor does it move from or to a machine for which only the topology's default round trip is known.
 */
static bool gain_is_measured(const struct live *live, const struct live_job *job, struct live_task *task, int32_t to)
{
	enum latency_origin here, there;
	double rtt_us, performance;

	if (live_task_number(job, task) == job->root || flownet_root_machine(live->net, job->number) < 0)
		return true; /* there is no gain to check */
	live_predict(live, job, (uint32_t)task->machine, &rtt_us, &performance, &here);
	live_predict(live, job, (uint32_t)to, &rtt_us, &performance, &there);
	task->was_measured = task->was_measured || live_is_measured(here);
	return here != LATENCY_ORIGIN_TOPOLOGY && there != LATENCY_ORIGIN_TOPOLOGY &&
	       (live_is_measured(here) || !task->was_measured);
}

/*
 * Checks whether the gain justifies a move now. If the move is only too early, sets *again_s to the earliest time at
 * which it may be made.
 */
static enum live_refusal check_gain(const struct live *live, const struct live_job *job, struct live_task *task,
				    int32_t to, double now_s, double *again_s)
{
	const struct live_settings *settings = &live->settings;
	struct job_limits limits = live_limits(live, job);
	double restart_s = job->restart_s >= 0 ? job->restart_s : settings->restart_s;
	bool measured = gain_is_measured(live, job, task, to),
	     cut_off = live_is_cut_off(live, job, task, task->machine);

	if (settings->migration == LIVE_MIGRATE_OFF || !job->may_move)
		return LIVE_REFUSED_FORBIDDEN;
	if (task->gain < limits.migrate_gain && !cut_off)
		return LIVE_REFUSED_GAIN;
	if (!measured && !cut_off)
		return LIVE_REFUSED_UNMEASURED;
	if (to == task->came_from && now_s - task->moved_s < settings->no_return_s) {
		*again_s = task->moved_s + settings->no_return_s;
		return LIVE_REFUSED_RETURN;
	}
	if (now_s - task->gain_since_s < limits.migrate_hold_s) {
		*again_s = task->gain_since_s + limits.migrate_hold_s;
		return LIVE_REFUSED_HOLD;
	}
	/* A task is expected to run for as long again as it has run. */
	if (task->gain * (now_s - task->started_s) < restart_s && !cut_off) {
		*again_s = task->gain > 0 ? task->started_s + restart_s / task->gain : INFINITY;
		return LIVE_REFUSED_RESTART;
	}
	return live->closed ? LIVE_REFUSED_CLOSED : LIVE_REFUSED_NOT;
}

/* True if the machine that was proposed when the gain began would still give it, or the present one is unreachable. */
static bool still_gains(const struct live *live, const struct live_job *job, const struct live_task *task)
{
	return live_is_cut_off(live, job, task, task->machine) ||
	       (live->machines[task->held_to].in_network &&
		fmin(task->gain, gain_of(live, job, task, task->held_to)) >= live_limits(live, job).migrate_gain);
}

/* Decides whether to make a proposed move. Records the proposal in the task, for explanations and migrate_hold_s. */
static enum live_refusal judge(struct live *live, struct live_job *job, struct live_task *task, int32_t to, bool drains,
			       double now_s)
{
	double again_s = INFINITY;
	bool seen = task->proposed_round > 0 && task->proposed_round + 1 >= live->round;

	task->gain = gain_of(live, job, task, to);
	task->proposed_round = live->round;
	task->proposed_to = to;
	task->advised_to = seen ? task->advised_to : -1;
	/* A machine is proposed because it is the best in this window, perhaps by chance; later windows have to confirm
	 * it. */
	if (!seen || task->gain_since_s < 0 || !still_gains(live, job, task)) {
		task->gain_since_s = now_s;
		task->held_to = to;
	}
	task->refusal = drains ? LIVE_REFUSED_NOT : check_gain(live, job, task, to, now_s, &again_s);
	if (task->refusal == LIVE_REFUSED_NOT)
		task->refusal = check_limits(live, job, task, to);
	/*
	 * If rounding has put again_s into the past, the move is checked again after 1 s, not at once, to avoid a busy
	 * loop.
	 */
	live->look_again_s = fmin(live->look_again_s, again_s <= now_s ? now_s + 1 : again_s);
	live->totals.refused[task->refusal]++;
	return task->refusal;
}

static int make_move(struct live *live, size_t number, struct live_job *job, struct live_task *task,
		     const struct live_decision *what, int32_t to)
{
	int code = flownet_reserve(live->net, number);

	if (code < 0)
		return code;
	task->origin = task->machine;
	task->machine = to;
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
	bool drains = live->machines[task->machine].state == LIVE_DRAINING;
	struct live_decision what = {.kind = LIVE_MOVE, .at_s = now_s, .drains = drains};
	int code;

	if (judge(live, job, task, move->to, drains, now_s) != LIVE_REFUSED_NOT)
		return -EPERM;
	what.gain = task->gain;
	if (live->settings.migration != LIVE_MIGRATE_ADVISE || drains)
		return make_move(live, number, job, task, &what, move->to);
	if (task->advised_to == move->to)
		return -EPERM; /* this move was already advised */
	task->advised_to = move->to;
	what.kind = LIVE_ADVICE;
	code = live_decide(live, &what, job, task, move->from, move->to);
	return code == 0 ? -EPERM : code;
}

void live_refuse_eviction(struct live *live, struct live_task *task)
{
	task->proposed_round = live->round;
	task->proposed_to = -1;
	task->gain_since_s = -1;
	task->refusal = LIVE_REFUSED_EVICTION;
	live->totals.refused[task->refusal]++;
}

void live_send_away(struct live *live)
{
	uint32_t leaving = live->on_the_move;

	for (uint32_t j = 0; j < live->job_count && leaving < live->settings.migrate_rate; j++)
		for (uint32_t t = 0; live->jobs[j] && t < live->jobs[j]->task_count; t++) {
			const struct live_task *task = &live->jobs[j]->tasks[t];

			if (task->state != LIVE_RUNNING || live->machines[task->machine].state != LIVE_DRAINING ||
			    !live->jobs[j]->may_move)
				continue;
			flownet_task_leave(live->net, j, t, true);
			if (++leaving >= live->settings.migrate_rate)
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
			refused = job->tasks[t].proposed_round == live->round &&
				  job->tasks[t].refusal != LIVE_REFUSED_NOT;
		if (refused)
			code = flownet_job_moves(live->net, j, !hold, live_limits(live, job).migrate_gain);
	}
	return code;
}
