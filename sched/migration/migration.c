/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/migration/migration.h>

#include <math.h>
#include <stddef.h>

const char *const migration_mode_names[] = {"off", "advise", "on", NULL};

static const char *const refusal_names[] = {
	[MIGRATION_ALLOWED] = "none",
	[MIGRATION_REFUSED_FORBIDDEN] = "forbidden",
	[MIGRATION_REFUSED_CLOSED] = "window",
	[MIGRATION_REFUSED_GAIN] = "gain",
	[MIGRATION_REFUSED_HOLD] = "hold",
	[MIGRATION_REFUSED_RESTART] = "restart",
	[MIGRATION_REFUSED_RETURN] = "return",
	[MIGRATION_REFUSED_RATE] = "rate",
	[MIGRATION_REFUSED_MACHINE] = "machine",
	[MIGRATION_REFUSED_JOB] = "job",
	[MIGRATION_REFUSED_UNREACHABLE] = "unreachable",
	[MIGRATION_REFUSED_UNMEASURED] = "unmeasured",
	[MIGRATION_REFUSED_EVICTION] = "eviction",
};

const char *migration_refusal_name(enum migration_refusal refusal)
{
	return refusal_names[refusal];
}

bool migration_is_measured(enum latency_origin origin)
{
	return origin == LATENCY_ORIGIN_MEASURED || origin == LATENCY_ORIGIN_SAME_MACHINE;
}

/*
 * A lost measurement is no reason to move. So a task does not leave its machine if the round trip to it was measured
 * but no longer is. Nor does it move from or to a machine for which only the topology's default round trip is known.
 */
static bool gain_is_measured(struct migration_task *task, const struct migration_proposal *proposal)
{
	if (!proposal->has_gain)
		return true; /* there is no gain to check */
	task->was_measured = task->was_measured || migration_is_measured(proposal->here);
	return proposal->here != LATENCY_ORIGIN_TOPOLOGY && proposal->there != LATENCY_ORIGIN_TOPOLOGY &&
	       (migration_is_measured(proposal->here) || !task->was_measured);
}

static enum migration_refusal check_gain(const struct migration_settings *settings, struct migration_task *task,
					 const struct migration_proposal *proposal, double *again_s)
{
	bool measured = gain_is_measured(task, proposal), cut_off = proposal->is_cut_off;
	double now_s = proposal->now_s;

	if (settings->mode == MIGRATION_OFF || !proposal->is_allowed)
		return MIGRATION_REFUSED_FORBIDDEN;
	if (task->gain < proposal->minimum_gain && !cut_off)
		return MIGRATION_REFUSED_GAIN;
	if (!measured && !cut_off)
		return MIGRATION_REFUSED_UNMEASURED;
	if (proposal->to == proposal->came_from && now_s - proposal->moved_s < settings->no_return_s) {
		*again_s = proposal->moved_s + settings->no_return_s;
		return MIGRATION_REFUSED_RETURN;
	}
	if (now_s - task->gain_since_s < proposal->hold_s) {
		*again_s = task->gain_since_s + proposal->hold_s;
		return MIGRATION_REFUSED_HOLD;
	}
	if (task->gain * (now_s - proposal->started_s) < proposal->restart_s && !cut_off) {
		*again_s = task->gain > 0 ? proposal->started_s + proposal->restart_s / task->gain : INFINITY;
		return MIGRATION_REFUSED_RESTART;
	}
	return proposal->is_closed ? MIGRATION_REFUSED_CLOSED : MIGRATION_ALLOWED;
}

static enum migration_refusal check_limits(const struct migration_settings *settings,
					   const struct migration_proposal *proposal)
{
	int64_t most = settings->per_machine;

	if (!proposal->is_fit)
		return MIGRATION_REFUSED_UNREACHABLE;
	if (proposal->is_moving || proposal->moving >= settings->rate)
		return MIGRATION_REFUSED_RATE;
	if (most > 0 && (proposal->moving_here >= most || proposal->moving_there >= most))
		return MIGRATION_REFUSED_MACHINE;
	if (proposal->job_limit > 0 && proposal->moving_of_job >= proposal->job_limit)
		return MIGRATION_REFUSED_JOB;
	return MIGRATION_ALLOWED;
}

enum migration_refusal migration_judge(const struct migration_settings *settings, struct migration_task *task,
				       const struct migration_proposal *proposal, double *again_s)
{
	bool seen = task->round > 0 && task->round + 1 >= proposal->round;
	bool held = seen && task->gain_since_s >= 0 &&
		    (proposal->is_cut_off || fmin(proposal->gain, proposal->held_gain) >= proposal->minimum_gain);

	*again_s = INFINITY;
	task->gain = proposal->gain;
	task->round = proposal->round;
	task->to = proposal->to;
	if (!held) {
		task->gain_since_s = proposal->now_s;
		task->held_to = proposal->to;
	}
	task->refusal = proposal->drains ? MIGRATION_ALLOWED : check_gain(settings, task, proposal, again_s);
	if (task->refusal == MIGRATION_ALLOWED)
		task->refusal = check_limits(settings, proposal);
	/*
	 * If rounding has put again_s into the past, the move is checked again after 1 s, not at once, to avoid a busy
	 * loop.
	 */
	*again_s = *again_s <= proposal->now_s ? proposal->now_s + 1 : *again_s;
	return task->refusal;
}

void migration_refuse_eviction(struct migration_task *task, uint64_t round)
{
	task->round = round;
	task->to = -1;
	task->gain_since_s = -1;
	task->refusal = MIGRATION_REFUSED_EVICTION;
}
