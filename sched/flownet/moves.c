/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out proposals: at once, or first as a reservation that is later confirmed or fails. */
#include <errno.h>

#include "flownet_priv.h"

/*
 * Closes a proposal that is not carried out. The solver still has the unit at the proposed machine, so the next round
 * visits the job again.
 */
static void close_plan(struct flownet *net, struct net_plan *entry)
{
	entry->open = false;
	net->open_plans--;
	(void)net_touch(net, entry->move.job); /* if out of memory, the solver repeats its proposal later */
}

void net_moves_strike(struct flownet *net, uint32_t job, uint32_t task)
{
	for (size_t i = 0; net->open_plans > 0 && i < net->plan_count; i++) {
		struct net_plan *entry = &net->plans[i];

		if (entry->open && entry->move.job == job && entry->move.task == task)
			close_plan(net, entry);
	}
}

static void carried_out(struct flownet *net, struct net_plan *entry)
{
	entry->open = false;
	net->open_plans--;
}

static bool is_root(const struct flownet *net, const struct flownet_move *move)
{
	return net->policy.root_first && move->task == net->jobs[move->job].root;
}

/* Returns NULL if the move was carried out, or if its task or machine has changed since. */
static struct net_plan *open_plan(const struct flownet *net, size_t number)
{
	struct net_plan *entry = number < net->plan_count ? &net->plans[number] : NULL;
	const struct net_task *task = entry && entry->open ? net_task_at(net, entry->move.job, entry->move.task) : NULL;

	if (!task || task->machine != entry->move.from)
		return NULL;
	if (entry->move.to != FLOWNET_NONE && !net->machines[entry->move.to].present)
		return NULL;
	return entry;
}

static int depart(struct flownet *net, const struct net_plan *entry)
{
	const struct flownet_move *move = &entry->move;
	int code = 0;

	net->settled = entry->settled;
	if (move->from != FLOWNET_NONE)
		code = net_task_move(net, move->job, move->task, FLOWNET_NONE, FLOWNET_TASK_PREEMPTED);
	net->settled = false;
	return code;
}

/*
 * Places the task as planned. Its unit is removed from the solver's column if the task is no longer in the solver
 * (`gone`, a root, or a task that may not move), or if it was placed on another machine than that column.
 */
static int arrive(struct flownet *net, const struct net_plan *entry, bool gone)
{
	const struct flownet_move *move = &entry->move;
	bool root = is_root(net, move);
	bool settled = entry->settled && entry->cost_epoch == net->jobs[move->job].cost_epoch;
	int code;

	if (gone || root || !net->jobs[move->job].preemptible || move->to != entry->column)
		net_class_unit_gone(net, move->job, move->task, entry->column);
	net->following = net->solver && move->arc != FLOWNET_ARC_RACK && move->arc != FLOWNET_ARC_CLUSTER;
	net->settled = settled;
	code = net_task_move(net, move->job, move->task, move->to, root ? FLOWNET_ROOT_PLACED : FLOWNET_TASK_PLACED);
	net->following = net->settled = false;
	if (settled)
		net_running_cost_known(net, move->job, move->task, move->cost);
	return code;
}

int flownet_apply(struct flownet *net, size_t number)
{
	struct net_plan *entry = open_plan(net, number);
	int code;

	if (!entry)
		return -ESTALE;
	if (entry->move.to != FLOWNET_NONE && flownet_free(net, (uint32_t)entry->move.to) == 0)
		return -EBUSY;
	carried_out(net, entry);
	code = depart(net, entry);
	return code == 0 && entry->move.to != FLOWNET_NONE ? arrive(net, entry, false) : code;
}

static bool may_be_anywhere(const struct net_plan *entry)
{
	return entry && entry->move.from == FLOWNET_NONE && entry->move.to != FLOWNET_NONE;
}

bool flownet_alike(const struct flownet *net, size_t a, size_t b)
{
	const struct net_plan *left = open_plan(net, a), *right = open_plan(net, b);
	const struct net_job *job;

	if (!may_be_anywhere(left) || !may_be_anywhere(right) || left->move.job != right->move.job ||
	    is_root(net, &left->move) || is_root(net, &right->move))
		return false;
	job = &net->jobs[left->move.job];
	return net_unscheduled_cost(net, job, left->move.task) == net_unscheduled_cost(net, job, right->move.task);
}

int flownet_exchange(struct flownet *net, size_t a, size_t b)
{
	uint32_t task;

	if (!flownet_alike(net, a, b))
		return -EINVAL;
	task = net->plans[a].move.task;
	net->plans[a].move.task = net->moves[a].task = net->plans[b].move.task;
	net->plans[b].move.task = net->moves[b].task = task;
	return 0;
}

int flownet_apply_all(struct flownet *net)
{
	int code = 0;

	for (size_t i = 0; i < net->plan_count && code == 0; i++) {
		const struct net_plan *entry = open_plan(net, i);

		if (entry)
			code = depart(net, entry);
	}
	for (size_t i = 0; i < net->plan_count && code == 0; i++) {
		struct net_plan *entry = &net->plans[i];
		const struct flownet_move *move = &entry->move;
		const struct net_task *task = entry->open ? net_task_at(net, move->job, move->task) : NULL;

		if (!task || task->machine != FLOWNET_NONE)
			continue;
		if (move->to != FLOWNET_NONE && flownet_free(net, (uint32_t)move->to) == 0) {
			close_plan(net, entry);
			continue;
		}
		carried_out(net, entry);
		if (move->to != FLOWNET_NONE)
			code = arrive(net, entry, false);
	}
	return code;
}

int flownet_reserve(struct flownet *net, size_t number)
{
	struct net_plan *entry = open_plan(net, number);
	const struct flownet_move *move;
	struct net_job *job;
	double since_s;
	int code;

	if (!entry)
		return -ESTALE;
	move = &entry->move;
	job = &net->jobs[move->job];
	if (move->to == FLOWNET_NONE)
		return -EINVAL;
	if (flownet_free(net, (uint32_t)move->to) == 0)
		return -EBUSY;
	carried_out(net, entry);
	since_s = job->since_s ? job->since_s[move->task] : 0;
	code = arrive(net, entry, true);
	if (code == 0)
		code = net_task_set_origin(net, move->job, move->task, move->from, FLOWNET_TASK_PLACED);
	if (job->since_s)
		job->since_s[move->task] = since_s;
	return code;
}

int flownet_confirm(struct flownet *net, uint32_t job, uint32_t task)
{
	const struct net_task *entry = net_task_at(net, job, task);

	if (!entry || !net_task_in_transit(entry))
		return -EINVAL;
	net_task_began(net, &net->jobs[job], task, 0);
	return net_task_set_origin(net, job, task, ORIGIN_SETTLED, FLOWNET_TASK_STARTED);
}

int flownet_fail(struct flownet *net, uint32_t job, uint32_t task)
{
	const struct net_task *entry = net_task_at(net, job, task);
	double since_s;
	int32_t origin;
	int code;

	if (!entry || !net_task_in_transit(entry))
		return -EINVAL;
	since_s = net->jobs[job].since_s ? net->jobs[job].since_s[task] : 0;
	origin = entry->origin;
	code = net_task_move(net, job, task, FLOWNET_NONE, FLOWNET_TASK_FAILED);
	if (code == 0 && origin != FLOWNET_NONE)
		code = net_task_move(net, job, task, origin, FLOWNET_TASK_FAILED);
	if (net->jobs[job].since_s)
		net->jobs[job].since_s[task] = since_s;
	return code;
}

int flownet_task_leave(struct flownet *net, uint32_t job, uint32_t task, bool leaves)
{
	const struct net_task *entry = net_task_at(net, job, task);

	if (!entry || !net_task_runs(entry) || net_task_in_transit(entry))
		return -EINVAL;
	net_moves_strike(net, job, task);
	return net_task_set_origin(net, job, task, leaves ? ORIGIN_LEAVES : ORIGIN_SETTLED, FLOWNET_MOVES_CHANGED);
}
