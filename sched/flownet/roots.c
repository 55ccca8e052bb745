/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds that place only waiting roots. The network of such a round can be solved without a solver: a root costs
 * nothing on any free slot, and displacing a movable running task costs gamma minus its cost of staying. The roots with
 * the highest cost of waiting take the free slots. Of the remaining roots, in the same order, the k-th displaces the
 * task with the k-th highest cost of staying, as long as this costs less than the root's waiting. With by_size, roots
 * of small jobs come first among those of equal cost: what is left may suffice for the whole of a small job. Of the
 * first roots, whose jobs' tasks together find free slots, those of large jobs choose first, because small jobs fit
 * into what large ones leave; then the other roots choose. Roots of jobs with running tasks choose before all of them.
 * No other assignment costs less, because costs are additive
 * and any root can take any slot. No more tasks of a job are displaced than its U_J holds. Takes time linear in the
 * number of waiting jobs or, if there are too few slots, in the number of all tasks.
 */
#include <errno.h>
#include <stdlib.h>

#include "flownet_priv.h"

/*
 * Waiting roots, sorted by their cost of waiting, or tasks that may be displaced, sorted by what displacing them saves:
 * a negative cost, the cost of staying minus gamma. All costs have the jobs' weights.
 */
struct candidates {
	struct net_waiter *items;
	size_t count, room;
};

static int add(struct candidates *list, uint32_t job, uint32_t task, int64_t cost, uint32_t after)
{
	if (net_reserve((void **)&list->items, &list->room, list->count + 1, sizeof *list->items) != 0)
		return -ENOMEM;
	list->items[list->count++] =
		(struct net_waiter){.job = job, .number = (int32_t)task, .cost = cost, .after = after};
	return 0;
}

static int dearest_first(const void *left, const void *right)
{
	const struct net_waiter *a = left, *b = right;

	if (a->cost != b->cost)
		return a->cost > b->cost ? -1 : 1;
	if (a->after != b->after)
		return a->after < b->after ? -1 : 1;
	if (a->job != b->job)
		return a->job < b->job ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int largest_first(const void *left, const void *right)
{
	const struct net_waiter *a = left, *b = right;

	if (a->after != b->after)
		return a->after > b->after ? -1 : 1;
	return dearest_first(left, right);
}

static void sort(struct candidates *list)
{
	if (list->count > 1)
		qsort(list->items, list->count, sizeof *list->items, dearest_first);
}

/* The roots are in the order in which they get slots. Sorts the first ones, whose jobs' tasks all find free slots. */
static void sort_for_choice(struct candidates *roots, size_t slots)
{
	size_t fit = 0, tasks = 0;

	while (fit < roots->count && tasks + roots->items[fit].after <= slots)
		tasks += roots->items[fit++].after;
	if (fit > 1)
		qsort(roots->items, fit, sizeof *roots->items, largest_first);
}

bool flownet_a_root_waits(struct flownet *net)
{
	net_clean_waits(net);
	for (size_t i = 0; i < net->waits.count; i++) {
		if (net_root_machine(&net->jobs[net->waits.jobs[i]]) == FLOWNET_NONE)
			return true;
	}
	return false;
}

static int list_roots(struct flownet *net, struct candidates *roots)
{
	int code = 0;

	net_clean_waits(net);
	for (size_t i = 0; i < net->waits.count && code == 0; i++) {
		uint32_t job = net->waits.jobs[i];
		const struct net_job *entry = &net->jobs[job];

		if (net_root_machine(entry) != FLOWNET_NONE)
			continue;
		if (entry->root < entry->task_limit && entry->tasks[entry->root].machine == TASK_WAITING)
			code = add(roots, job, entry->root,
				   (int64_t)net_unscheduled_cost(net, entry, entry->root) * net->ages[job].weight,
				   net->policy.by_size ? flownet_unplaced_tasks(net, job) : 0);
	}
	sort(roots);
	return code;
}

/* Adds to `movable` the job's running tasks with the highest cost of staying, at most as many as its U_J holds. */
static int list_movable(const struct flownet *net, uint32_t job, struct candidates *movable)
{
	const struct net_job *entry = &net->jobs[job];
	struct candidates own = {0};
	bool discounted;
	int code = 0;

	for (uint32_t t = 0; t < entry->task_limit && code == 0; t++) {
		if (net_task_runs(&entry->tasks[t]) && !net_is_pinned(net, entry, t) && net_takes_part(net, entry, t))
			code = add(&own, job, t,
				   ((int64_t)net_running_cost(net, job, t, &discounted) - net->settings.gamma) *
					   net->ages[job].weight,
				   0);
	}
	sort(&own);
	for (size_t i = 0; i < own.count && i < (size_t)net_unscheduled_width(net, entry) && code == 0; i++)
		code = add(movable, job, (uint32_t)own.items[i].number, own.items[i].cost, 0);
	free(own.items);
	return code;
}

static int list_all_movable(const struct flownet *net, struct candidates *movable)
{
	int code = 0;

	for (size_t i = 0; i < net->live.count && code == 0; i++) {
		const struct net_job *entry = &net->jobs[net->live.jobs[i]];

		if (entry->preemptible && entry->running > 0 && net_job_open(net, entry))
			code = list_movable(net, net->live.jobs[i], movable);
	}
	sort(movable);
	return code;
}

/* Placeholder until the policy chooses the root's machine. */
enum { ANY_MACHINE = 0 };

static int plan_root(struct flownet *net, const struct net_waiter *root)
{
	struct net_plan plan = {.column = FLOWNET_NONE};

	plan.move = (struct flownet_move){.job = root->job,
					  .task = (uint32_t)root->number,
					  .from = FLOWNET_NONE,
					  .to = ANY_MACHINE,
					  .arc = FLOWNET_ARC_CLUSTER};
	return net_plan_add(net, &plan);
}

static int plan_departure(struct flownet *net, const struct net_waiter *task)
{
	struct net_plan plan = {.column = FLOWNET_NONE};

	plan.move = (struct flownet_move){.job = task->job,
					  .task = (uint32_t)task->number,
					  .from = net->jobs[task->job].tasks[task->number].machine,
					  .to = FLOWNET_NONE,
					  .arc = FLOWNET_ARC_UNSCHEDULED,
					  .cost = net->settings.gamma};
	return net_plan_add(net, &plan);
}

static int64_t count_free(const struct flownet *net)
{
	int64_t slots = 0;

	for (uint32_t r = 0; r < net->rack_count; r++)
		slots += net->rack_free[r];
	return slots;
}

/* Plans the departures. Keeps in `roots` only those that get a slot. */
static int plan_departures(struct flownet *net, struct candidates *roots, const struct candidates *movable,
			   size_t slots, struct flownet_round *round)
{
	size_t kept = 0;
	int code = 0;

	for (size_t i = 0; i < roots->count && code == 0; i++) {
		const struct net_waiter *root = &roots->items[i];
		const struct net_waiter *leaver =
			i >= slots && i - slots < movable->count ? &movable->items[i - slots] : NULL;

		bool pays = i < slots ? root->cost > 0 : leaver && -leaver->cost < root->cost;

		if (!pays) {
			round->cost += root->cost;
			round->unscheduled++;
			continue;
		}
		if (leaver) {
			round->cost -= leaver->cost;
			round->unscheduled++;
			code = plan_departure(net, leaver);
		}
		roots->items[kept++] = *root;
	}
	roots->count = kept;
	return code;
}

/* A root with running tasks chooses before others: it has the fewest good machines, and its tasks stay where they are.
 */
static bool chooses_later(const struct flownet *net, const struct net_waiter *root)
{
	return net->policy.by_size && net->jobs[root->job].running == 0;
}

static int plan_all(struct flownet *net, struct candidates *roots, const struct candidates *movable, size_t slots,
		    struct flownet_round *round)
{
	int code = plan_departures(net, roots, movable, slots, round);

	sort_for_choice(roots, slots);
	for (int later = 0; later <= 1; later++)
		for (size_t i = 0; i < roots->count && code == 0; i++)
			if (chooses_later(net, &roots->items[i]) == later)
				code = plan_root(net, &roots->items[i]);
	return code;
}

int net_roots_solve(struct flownet *net, struct flownet_round *round, struct error *err)
{
	struct candidates roots = {0}, movable = {0};
	int64_t slots = count_free(net);
	int code = list_roots(net, &roots);

	round->algorithm = "roots";
	if (code == 0 && (int64_t)roots.count > slots && net->preemptible_jobs > 0)
		code = list_all_movable(net, &movable);
	if (code == 0)
		code = plan_all(net, &roots, &movable, (size_t)slots, round);
	free(roots.items);
	free(movable.items);
	if (code != 0)
		return error_set(err, ENOMEM, "out of memory");
	if (net->settings.verify) {
		code = net_general_prove(net, round->cost, err);
		round->verified = code == 0;
	}
	return code;
}
