/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks at rest: with beta, tasks that have run so long that rounds need not examine them.
 *
 * A running task whose discount is at least the cost of its machine costs 0 there. Its other arcs, except the one to
 * U_J, cost at least the policy's least cost L. While at rest, the task belongs to no class. The tasks at rest on a
 * machine form a group of the solver whose units have three arcs: to the machine at cost 0, to X at L, and to the sink
 * at gamma.
 *
 * The result is still optimal. In the network of table 2, a unit that moves to another machine uses its own arc, its
 * rack or the cluster; here it can move through X at L, which costs no more, and it can wait, too. So the optimum of
 * this network costs at most as much as that of table 2. An answer in which all units at rest stay is also a flow of
 * table 2 at the same cost, so it is optimal there. If some units leave, the tasks at rest on their machines are woken:
 * they become members of their classes again, and the solver repairs its answer. Each repetition wakes a task, so this
 * terminates.
 *
 * The discount grows, but so may the cost: when the job's costs change, its tasks at rest are checked, and those whose
 * cost is no longer 0 are woken. With a discount of COST_MAXIMUM or more this cannot happen.
 *
 * It is always correct not to put a task to rest. A task is put to rest when a round updates its job and, at the node
 * prices of the last answer, its unit would stay: the price of its machine is at most L above the price of X (the
 * solver's aggregator), and below gamma.
 */
#include <errno.h>
#include <math.h>

#include "flownet_priv.h"

/*
 * A task is put to rest only if its discount exceeds its cost by 1/4 of the cost: round trips vary, and each woken task
 * costs a search. If they vary by a tenth, rounds take 190 ms without this margin instead of 55 (12,477 machines, beta
 * 1, 200 s after the start).
 */
enum { MARGIN_PART = 4 };

static void note_machine(struct flownet *net, uint32_t machine, int32_t sign)
{
	struct net_machine *entry = &net->machines[machine];

	entry->resting += sign;
	if (!entry->resting_changed)
		net->resting_changed[net->resting_changed_count++] = machine;
	entry->resting_changed = true;
}

/* Adds a task to the list of those at rest on the machine; 0 or -ENOMEM. */
static int list_add(struct flownet *net, struct net_machine *machine, uint32_t job, uint32_t task)
{
	uint32_t place = net->spare_rest;

	if (place != 0) {
		net->spare_rest = net->rests[place - 1].next;
	} else {
		if (net_reserve((void **)&net->rests, &net->rest_room, net->rest_count + 1, sizeof *net->rests) != 0)
			return -ENOMEM;
		place = (uint32_t)++net->rest_count;
	}
	net->rests[place - 1] = (struct net_rest){job, task, machine->first_rest};
	machine->first_rest = place;
	return 0;
}

static void list_remove(struct flownet *net, struct net_machine *machine, uint32_t job, uint32_t task)
{
	uint32_t *link = &machine->first_rest, place;

	while (net->rests[*link - 1].job != job || net->rests[*link - 1].task != task)
		link = &net->rests[*link - 1].next;
	place = *link;
	*link = net->rests[place - 1].next;
	net->rests[place - 1].next = net->spare_rest;
	net->spare_rest = place;
}

void net_wake(struct flownet *net, uint32_t job, uint32_t task)
{
	struct net_task *state = &net->jobs[job].tasks[task];

	if (!state->rests)
		return;
	state->rests = false;
	net->ages[job].resting--;
	list_remove(net, &net->machines[state->machine], job, task);
	/*
	 * structured_end_unit() fails if the solver has moved the unit elsewhere. apply_machine() then passes a smaller
	 * supply, which removes the unit.
	 */
	if (net->machines[state->machine].resting_group != FLOWNET_NONE)
		(void)structured_end_unit(net->solver, net->machines[state->machine].resting_group, state->machine);
	note_machine(net, (uint32_t)state->machine, -1);
}

void net_wake_job(struct flownet *net, uint32_t job)
{
	for (uint32_t t = 0; net->ages[job].resting > 0 && t < net->jobs[job].task_limit; t++)
		net_wake(net, job, t);
}

/* The highest price of a machine at which a unit at rest stays there. */
static int32_t resting_price(const struct flownet *net)
{
	int32_t over_cluster = structured_aggregator_price(net->solver) + net->policy.least_cost;

	return over_cluster < net->settings.gamma ? over_cluster : net->settings.gamma - 1;
}

/*
 * True if a unit at rest would stay on the machine at the machine's price. If the price is too high, lets the solver
 * search for a lower one. The price that is found is at most the cost that some task would save by moving to the
 * machine. This saving falls by at most beta per second, so the next search is made only after the price can have
 * fallen to the limit.
 */
static bool stays_at_rest(struct flownet *net, int32_t machine)
{
	struct net_machine *entry = &net->machines[machine];
	int32_t most = resting_price(net), price = structured_column_price(net->solver, machine);

	if (price <= most || net->now_s < entry->lower_s)
		return price <= most;
	price = structured_lower_price(net->solver, machine);
	entry->lower_s = net->now_s + (price - most) / net->settings.beta_per_s;
	return price <= most;
}

/* True if the running task costs 0 on its machine. */
static bool is_free(struct flownet *net, const struct net_job *job, uint32_t task)
{
	bool discounted;

	return net_running_cost(net, (uint32_t)(job - net->jobs), task, &discounted) == 0;
}

/* True if the task costs 0 on its machine and probably will for long. */
static bool is_free_for_long(struct flownet *net, const struct net_job *job, uint32_t task)
{
	int32_t discount = net_discount(net, job, task), cost;

	if (discount >= COST_MAXIMUM)
		return true;
	if (discount < net->policy.least_cost || !is_free(net, job, task))
		return false;
	cost = job->tasks[task].cost;
	return discount >= cost + cost / MARGIN_PART;
}

static bool may_rest(struct flownet *net, const struct net_job *job, uint32_t task)
{
	const struct net_task *state = &job->tasks[task];

	return net_task_runs(state) && !state->rests && state->origin == ORIGIN_SETTLED &&
	       is_free_for_long(net, job, task) && !net_is_pinned(net, job, task) && stays_at_rest(net, state->machine);
}

static void watch_task(struct flownet *net, const struct net_job *job, uint32_t task)
{
	struct net_age *age = &net->ages[job - net->jobs];

	age->watched_until_s = fmax(age->watched_until_s, job->since_s[task] + COST_MAXIMUM / net->settings.beta_per_s);
}

bool net_rest_is_watched(const struct flownet *net, uint32_t job)
{
	return net->ages[job].resting > 0 && net->ages[job].watched_until_s > net->now_s;
}

/* Wakes the job's tasks whose costs have risen above their discounts. */
static void wake_dearer(struct flownet *net, uint32_t job)
{
	const struct net_job *entry = &net->jobs[job];

	net->ages[job].watched_until_s = 0;
	for (uint32_t t = 0; t < entry->task_limit; t++) {
		if (!entry->tasks[t].rests)
			continue;
		if (is_free(net, entry, t))
			watch_task(net, entry, t);
		else
			net_wake(net, job, t);
	}
}

/* Puts all tasks of the job to rest that may rest. 0 or -ENOMEM. */
static int rest_tasks(struct flownet *net, uint32_t job)
{
	const struct net_job *entry = &net->jobs[job];

	for (uint32_t t = 0; t < entry->task_limit; t++) {
		if (!may_rest(net, entry, t))
			continue;
		if (list_add(net, &net->machines[entry->tasks[t].machine], job, t) != 0)
			return -ENOMEM;
		net_class_unit_gone(net, job, t, entry->tasks[t].machine);
		entry->tasks[t].rests = true;
		net->ages[job].resting++;
		watch_task(net, entry, t);
		note_machine(net, (uint32_t)entry->tasks[t].machine, 1);
	}
	return 0;
}

/*
 * If the job's costs have changed, wakes the tasks whose costs are no longer 0. Puts tasks to rest only if the
 * discounts can have grown by 1 since this function last examined the job for that.
 */
int net_rest_job(struct flownet *net, uint32_t job)
{
	const struct net_job *entry = &net->jobs[job];
	struct net_age *age = &net->ages[job];

	if (net->settings.beta_per_s <= 0 || net->policy.least_cost <= 0 || !entry->preemptible)
		return 0;
	if (entry->pending_arcs != 0 && net_rest_is_watched(net, job))
		wake_dearer(net, job);
	if (!net_job_active(net, entry) || (net->now_s - age->rested_s) * net->settings.beta_per_s < 1)
		return 0;
	age->rested_s = net->now_s;
	return rest_tasks(net, job);
}

/*
 * Passes the number of tasks at rest on the machine to the solver, as the supply of their group. If it is 0, gives the
 * group back.
 */
static int apply_machine(struct flownet *net, uint32_t number)
{
	struct net_machine *machine = &net->machines[number];
	struct structured_running stay = {.column = (int32_t)number, .cost = 0, .units = machine->resting};
	struct structured_row row = {
		.aggregator_cost = net->policy.least_cost,
		.unscheduled_cost = net->settings.gamma,
		.unscheduled_capacity = machine->resting,
		.running_count = 1,
		.running = &stay,
	};
	int code;

	machine->resting_changed = false;
	if (machine->resting == 0) {
		code = machine->resting_group == FLOWNET_NONE ? 0 : net_group_give_back(net, machine->resting_group);
		machine->resting_group = FLOWNET_NONE;
		return code;
	}
	if (machine->resting_group == FLOWNET_NONE &&
	    net_group_take(net, GROUP_RESTS | number, &machine->resting_group) != 0)
		return -ENOMEM;
	code = structured_set_row(net->solver, machine->resting_group, &row);
	return code == 0 ? structured_set_supply(net->solver, machine->resting_group, machine->resting) : code;
}

int net_resting_apply(struct flownet *net)
{
	int code = 0;

	for (uint32_t i = 0; i < net->resting_changed_count && code == 0; i++)
		code = apply_machine(net, net->resting_changed[i]);
	net->resting_changed_count = 0;
	return code;
}

/* True if all units of the machine's group stay there. */
static bool all_stay(const struct flownet *net, uint32_t machine, int32_t group)
{
	struct structured_share share;

	return structured_read(net->solver, group, &share, 1) == 1 && share.column == (int32_t)machine &&
	       share.units == net->machines[machine].resting;
}

/* Wakes all tasks at rest on the machine and adds their jobs to net->changed. 0 or -ENOMEM. */
static int wake_machine(struct flownet *net, struct net_machine *machine)
{
	while (machine->first_rest != 0) {
		struct net_rest rest = net->rests[machine->first_rest - 1];

		net_wake(net, rest.job, rest.task);
		if (net->ages[rest.job].woken)
			continue;
		if (net_walk_add(&net->changed, rest.job) != 0)
			return -ENOMEM;
		net->ages[rest.job].woken = true;
	}
	return 0;
}

/*
 * Wakes the tasks at rest on each machine whose price is so high that its units at rest would leave if the price rose
 * further.
 */
static int wake_next(struct flownet *net)
{
	int32_t price = resting_price(net);
	int code = 0;

	for (uint32_t m = 0; m < net->machine_count && code == 0; m++)
		if (net->machines[m].resting > 0 && structured_column_price(net->solver, (int32_t)m) >= price)
			code = wake_machine(net, &net->machines[m]);
	return code;
}

int net_wake_left(struct flownet *net, bool next)
{
	const int32_t *groups;
	int32_t count = structured_changed(net->solver, &groups);
	int code = 0;

	net->changed.count = 0;
	for (int32_t i = 0; i < count && code == 0; i++) {
		uint32_t owner = net->job_of_group[groups[i]], machine = owner & ~GROUP_RESTS;

		if ((owner & GROUP_RESTS) != 0 && net->machines[machine].resting_group == groups[i] &&
		    !all_stay(net, machine, groups[i]))
			code = wake_machine(net, &net->machines[machine]);
	}
	if (next && net->changed.count > 0 && code == 0)
		code = wake_next(net);
	for (size_t i = 0; i < net->changed.count; i++)
		net->ages[net->changed.jobs[i]].woken = false;
	return code == 0 ? net->changed.count > 0 : code;
}
