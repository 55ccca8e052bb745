/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts the solver's answer, the number of each class's units on each machine (a "column" of the solver), to
 * proposed moves of tasks. The tasks of a class are interchangeable: a task whose machine has a unit of the class stays
 * there, and the other tasks get the remaining units. A unit routed through a rack or the cluster may take any free
 * slot there; the policy chooses the slot after all other moves are planned, when the free slots are known.
 */
#include <errno.h>

#include "flownet_priv.h"

const char *flownet_arc_name(enum flownet_arc arc)
{
	static const char *const names[] = {"unscheduled", "cluster", "rack", "machine", "running", "none"};

	return names[arc];
}

static void cheaper(enum flownet_arc *best, int32_t *best_cost, enum flownet_arc arc, int32_t cost)
{
	if (cost != COST_ABSENT && (*best == FLOWNET_ARC_NONE || cost < *best_cost)) {
		*best = arc;
		*best_cost = cost;
	}
}

enum flownet_arc flownet_arc_to(const struct flownet *net, uint32_t job, uint32_t task, int32_t machine, int32_t *cost)
{
	const struct net_job *entry = &net->jobs[job];
	enum flownet_arc best = FLOWNET_ARC_NONE;
	bool root = net->policy.root_first && task == entry->root;
	bool runs_there = machine != FLOWNET_NONE && entry->tasks[task].machine == machine &&
			  entry->tasks[task].origin != ORIGIN_LEAVES;
	const struct cost_row *row;
	int32_t direct;
	uint32_t rack;
	bool discounted;

	*cost = 0;
	if (runs_there)
		cheaper(&best, cost, FLOWNET_ARC_RUNNING, net_running_cost(net, job, task, &discounted));
	if (net_is_pinned(net, entry, task) || !net_takes_part(net, entry, task))
		return best;
	if (machine == FLOWNET_NONE) {
		*cost = net_unscheduled_cost(net, entry, task);
		return FLOWNET_ARC_UNSCHEDULED;
	}
	if (root) {
		cheaper(&best, cost, FLOWNET_ARC_CLUSTER, 0);
		return best;
	}
	if (net->others_held)
		return best;
	row = net->policy.row(net->policy.context, job, net_root_machine(entry));
	if (!row)
		return best;
	rack = net->machines[machine].rack;
	direct = cost_row_machine(row, rack, (uint32_t)machine);
	if (direct != COST_ABSENT) {
		cheaper(&best, cost, FLOWNET_ARC_MACHINE, direct);
		return best; /* the path through the rack or the cluster costs no less */
	}
	cheaper(&best, cost, FLOWNET_ARC_RACK, cost_row_rack_cost(row, rack));
	cheaper(&best, cost, FLOWNET_ARC_CLUSTER, row->cluster_cost);
	return best;
}

/*
 * True if the move leaves the job's classes and running arcs unchanged. That is so if costs of staying are not reduced
 * (no beta, no gain), the task is in the class of the running tasks, and it moves to a machine to which the row has an
 * arc, from another such machine or from waiting.
 */
static bool is_settled(const struct flownet *net, const struct net_member *member, const struct flownet_move *move,
		       int32_t machine_limit)
{
	const struct net_job *job = &net->jobs[move->job];

	return net->solver && job->preemptible && job->gain <= 0 && net->settings.beta_per_s <= 0 &&
	       move->arc == FLOWNET_ARC_MACHINE && member->unscheduled_cost == net->settings.gamma &&
	       member->running_cost <= machine_limit && job->tasks[move->task].origin == ORIGIN_SETTLED;
}

int net_plan_add(struct flownet *net, const struct net_plan *plan)
{
	if (net_reserve((void **)&net->plans, &net->plan_room, net->plan_count + 1, sizeof *net->plans) != 0)
		return -ENOMEM;
	net->plans[net->plan_count++] = *plan;
	return 0;
}

/*
 * Plans a member's move to `share`, or to waiting if that is NULL. A task that should leave its machine stays there as
 * long as it gets no other slot.
 */
static int plan(struct flownet *net, uint32_t job, const struct net_member *member,
		const struct structured_share *share, int32_t machine_limit)
{
	int32_t to = share ? share->column : FLOWNET_NONE;
	struct net_plan plan = {.column = to, .cost_epoch = net->jobs[job].cost_epoch};

	if (!share && net->jobs[job].tasks[member->task].origin == ORIGIN_LEAVES)
		return 0;
	plan.move = (struct flownet_move){.job = job, .task = member->task, .from = member->machine, .to = to};
	if (share && !member->root && share->cost <= machine_limit) {
		plan.move.arc = FLOWNET_ARC_MACHINE;
		plan.move.cost = share->cost;
	} else {
		plan.move.arc = flownet_arc_to(net, job, member->task, to, &plan.move.cost);
	}
	plan.settled = is_settled(net, member, &plan.move, machine_limit);
	if (member->machine != FLOWNET_NONE)
		__builtin_prefetch(&net->machines[member->machine], 1);
	if (to != FLOWNET_NONE)
		__builtin_prefetch(&net->machines[to], 1);
	return net_plan_add(net, &plan);
}

/*
 * Fills net->share_at, which gives the share of a machine without a search: a search would cause branch mispredictions.
 */
static void note_shares(struct flownet *net, int32_t share_count)
{
	for (int32_t i = 0; i < share_count; i++)
		net->share_at[net->shares[i].column] = i;
}

static void forget_shares(struct flownet *net, int32_t share_count)
{
	for (int32_t i = 0; i < share_count; i++)
		net->share_at[net->shares[i].column] = FLOWNET_NONE;
}

/* True if the task stays: its machine still has a unit, which the task takes. */
static bool stays(struct flownet *net, int32_t machine)
{
	int32_t place = machine < 0 ? FLOWNET_NONE : net->share_at[machine];

	if (place == FLOWNET_NONE || net->shares[place].units == 0)
		return false;
	net->shares[place].units--;
	return true;
}

/* Assigns the remaining shares to tasks that must leave their machine, then to tasks that wait. */
static int plan_members(struct flownet *net, uint32_t job, const struct net_member *members, size_t count,
			int32_t share_count, int32_t machine_limit)
{
	int32_t next = 0;

	for (int pass = 0; pass < 2 && count > 0; pass++) {
		for (size_t i = 0; i < count; i++) {
			if ((members[i].machine == FLOWNET_NONE) != (pass == 1))
				continue;
			while (next < share_count && net->shares[next].units == 0)
				next++;
			if (next < share_count)
				net->shares[next].units--;
			else if (pass == 1)
				return 0;
			if (plan(net, job, &members[i], next < share_count ? &net->shares[next] : NULL,
				 machine_limit) != 0)
				return -ENOMEM;
		}
	}
	return 0;
}

int net_extract_class(struct flownet *net, uint32_t job, size_t first, size_t count, int32_t share_count,
		      int32_t machine_limit)
{
	struct net_member *members = net->members + first;
	size_t left = 0;

	note_shares(net, share_count);
	for (size_t i = 0; i < count; i++) {
		if (!stays(net, members[i].machine))
			members[left++] = members[i];
	}
	forget_shares(net, share_count);
	return plan_members(net, job, members, left, share_count, machine_limit);
}

int net_extract_uniform(struct flownet *net, uint32_t job, int32_t share_count, int32_t machine_limit)
{
	const struct net_job *entry = &net->jobs[job];
	uint32_t limit = entry->task_limit, root = net->policy.root_first ? entry->root : limit;
	size_t left = 0;

	if (net_reserve((void **)&net->members, &net->member_room, limit, sizeof *net->members) != 0)
		return -ENOMEM;
	note_shares(net, share_count);
	for (uint32_t t = 0; t < limit; t++) {
		int32_t machine = entry->tasks[t].machine;

		if (machine != TASK_ABSENT && t != root && !stays(net, machine))
			net_member_set(net, job, t, &net->members[left++]);
	}
	forget_shares(net, share_count);
	return plan_members(net, job, net->members, left, share_count, machine_limit);
}

static bool is_loose(const struct net_plan *entry)
{
	return entry->move.arc == FLOWNET_ARC_RACK || entry->move.arc == FLOWNET_ARC_CLUSTER;
}

static bool any_loose(const struct flownet *net)
{
	size_t i = 0;

	while (i < net->plan_count && !is_loose(&net->plans[i]))
		i++;
	return i < net->plan_count;
}

static int32_t first_free(const struct flownet *net, int32_t rack)
{
	int32_t machine = 0;

	while (flownet_free(net, (uint32_t)machine) == 0 ||
	       (rack != FLOWNET_NONE && net->machines[machine].rack != (uint32_t)rack))
		machine++;
	return machine;
}

/* Counts the planned task at its destination; sign -1 reverts this. */
static void count_arrival(struct flownet *net, const struct net_plan *entry, int32_t sign)
{
	if (entry->move.to != FLOWNET_NONE)
		net_machine_try(net, entry->move.to, sign);
}

static void count_departures(struct flownet *net, int32_t sign)
{
	for (size_t i = 0; i < net->plan_count; i++) {
		if (net->plans[i].move.from != FLOWNET_NONE)
			net_machine_try(net, net->plans[i].move.from, -sign);
	}
}

/* Lets the policy choose a slot. */
static int32_t choose_slot(struct flownet *net, const struct flownet_move *move, int32_t rack)
{
	if (!net->policy.choose)
		return first_free(net, rack);
	return (int32_t)net->policy.choose(net->policy.context, net, move->job, move->task, rack);
}

/*
 * For each planned move over an arc of this kind, lets the policy choose among the free slots to which the arc leads.
 */
static void choose_loose(struct flownet *net, enum flownet_arc arc)
{
	for (size_t i = 0; i < net->plan_count; i++) {
		struct flownet_move *move = &net->plans[i].move;
		int32_t rack = FLOWNET_NONE;

		if (move->arc != arc)
			continue;
		if (arc == FLOWNET_ARC_RACK)
			rack = (int32_t)net->machines[move->to].rack;
		move->to = choose_slot(net, move, rack);
		count_arrival(net, &net->plans[i], 1);
	}
}

/* Counts the direct moves first, so that choose() sees only the slots that these leave free. */
static void choose_all(struct flownet *net)
{
	count_departures(net, 1);
	for (size_t i = 0; i < net->plan_count; i++) {
		if (!is_loose(&net->plans[i]))
			count_arrival(net, &net->plans[i], 1);
	}
	choose_loose(net, FLOWNET_ARC_RACK);
	choose_loose(net, FLOWNET_ARC_CLUSTER);
	for (size_t i = 0; i < net->plan_count; i++)
		count_arrival(net, &net->plans[i], -1);
	count_departures(net, -1);
}

/* The policy chose the machine where the task runs: the next round corrects the solver's state. */
static int note_stay(struct flownet *net, uint32_t job)
{
	net->jobs[job].recount = true;
	return net_change_job(net, job, FLOWNET_CHANGE_UNITS, FLOWNET_TASK_PLACED);
}

int net_extract_finish(struct flownet *net)
{
	size_t left = 0;
	int code = 0;

	if (any_loose(net))
		choose_all(net);
	if (net_reserve((void **)&net->moves, &net->move_room, net->plan_count, sizeof *net->moves) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < net->plan_count; i++) {
		if (net->plans[i].move.to == net->plans[i].move.from) {
			code = code == 0 ? note_stay(net, net->plans[i].move.job) : code;
			continue;
		}
		if (left != i)
			net->plans[left] = net->plans[i];
		net->plans[left].open = true;
		net->moves[left] = net->plans[i].move;
		left++;
	}
	net->plan_count = net->open_plans = left;
	return code;
}
