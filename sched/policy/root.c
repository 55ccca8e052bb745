/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the machine of a root. In the flow network, all free slots cost 0 for a root. The choice is that of the
 * machine with which the rest of the job costs least: its running tasks where they are, and the others on the cheapest
 * free slots (policy_priv.h). The candidates are the machines with a free slot in these racks:
 * - racks with free slots for all of the job's tasks that have no machine yet, whether they have arrived or not
 * - racks in which tasks of the job run
 * - if there are none of the first kind, or if tasks of the job run, all racks, of which only the machines with the
 * most free slots: if the root of a job fails, a rack beside its tasks that is nearly full is better than a distant one
 * A machine that no other one reaches is a candidate only if there is no other: a job that fits on it whole would look
 * as if it cost nothing there.
 * Of equal machines, the one in the fuller rack is taken, so that the emptier ones remain for larger jobs. Jobs of
 * LARGE_JOB tasks and more take it also if that costs up to 1 % more.
 *
 * Some jobs have a root but their other tasks still wait for this round's second solve. The cheapest slots for these
 * tasks are reserved: they do not count as free. The roots of a round are chosen in descending order of their jobs'
 * sizes (flownet/roots.c).
 */
#include <stdlib.h>
#include <string.h>

#include "policy_priv.h"

/*
 * Machines of each rack that are candidates if the job fits into no rack, those with the most free slots. On the first
 * four hours of Google's trace, 4 of all racks give the mean over tasks that 48 of 64 racks give, in half the time.
 */
enum { LARGE_MACHINES = 4 };

/*
 * Smaller jobs get the cheapest rack in any case. On the day of docs/reproduction.md, the mean over jobs is 97.3 % with
 * 51 tasks, 97.2 % with 13, 97.1 % with 0 (in classes of half a percent), and 97.0 % if no job is large.
 */
enum { LARGE_JOB = 51 };

/* A rack, or a machine, that the root may get. */
struct root_candidate {
	int64_t cost;    /* cost of the rest of the job: exact if `known`, else a lower bound */
	int64_t running; /* of a machine: the part of the cost that is that of the job's running tasks, exact */
	int64_t room;    /* free slots of the rack that are not reserved */
	uint32_t number; /* of the rack or of the machine */
	uint32_t order;  /* ascending by column; racks into which the job does not fit come last */
	int32_t free;    /* of a rack: INT32_MAX, as no machine of it has more */
	bool known;      /* only of a machine */
};

/* No item is better than its parent. */
struct heap {
	struct root_candidate *items;
	uint32_t count;
};

/* A waiting root for which a machine is chosen. */
struct root_search {
	struct placer *placer;
	const struct flownet *net;
	uint32_t job;
	int64_t tasks;              /* the job's tasks without a machine, with the root */
	uint32_t siblings;          /* machines with running tasks of the job */
	int64_t running;            /* running tasks of the job */
	struct root_candidate best; /* the best machine so far; known: there is one */
};

size_t policy_candidate_bytes(void)
{
	return sizeof(struct root_candidate);
}

static void reserve_for_open_jobs(struct placer *placer, const struct flownet *net)
{
	size_t count;
	const uint32_t *jobs = flownet_waiting_jobs(net, &count);

	memset(placer->reserved, 0, placer->layout->rack_count * sizeof *placer->reserved);
	memset(placer->claimed, 0, placer->layout->machine_count * sizeof *placer->claimed);
	for (size_t i = 0; i < count; i++) {
		int32_t root = flownet_root_machine(net, jobs[i]);

		if (root != FLOWNET_NONE)
			rest_claim(placer, net, jobs[i], (uint32_t)root, 0, flownet_unplaced_tasks(net, jobs[i]));
	}
	placer->reserved_round = flownet_rounds(net);
}

/* Counts the job's running tasks by machine, in placer->siblings[] and placer->sibling_list[]. */
static void list_siblings(struct root_search *search)
{
	struct placer *placer = search->placer;
	uint32_t limit = flownet_task_limit(search->net, search->job);

	for (uint32_t t = 0; t < limit; t++) {
		int32_t machine = flownet_task_machine(search->net, search->job, t);

		if (machine < 0)
			continue;
		search->running++;
		if (placer->siblings[machine]++ == 0)
			placer->sibling_list[search->siblings++] = (uint32_t)machine;
	}
}

static void forget_siblings(const struct root_search *search)
{
	for (uint32_t i = 0; i < search->siblings; i++)
		search->placer->siblings[search->placer->sibling_list[i]] = 0;
}

static bool has_sibling(const struct root_search *search, uint32_t rack)
{
	const struct cluster_machine *machines = search->placer->layout->cluster->machines;
	uint32_t i = 0;

	while (i < search->siblings && machines[search->placer->sibling_list[i]].rack != rack)
		i++;
	return i < search->siblings;
}

static int64_t room_of(const struct root_search *search, uint32_t rack)
{
	return flownet_free_in_rack(search->net, rack) - search->placer->reserved[rack];
}

static bool fits(const struct root_search *search, const struct root_candidate *rack)
{
	return rack->room >= search->tasks;
}

/* Returns the cost of the job's running tasks with the root on the machine. */
static int64_t cost_of_running(const struct root_search *search, uint32_t root)
{
	struct placer *placer = search->placer;
	int64_t cost = 0;

	for (uint32_t i = 0; i < search->siblings; i++) {
		uint32_t machine = placer->sibling_list[i];

		cost += (int64_t)placer->siblings[machine] *
			placer->policy->at(placer, search->job, (int32_t)root, machine);
	}
	return cost;
}

/*
 * Lists the rack's machines with a free slot; those with a reserved one only if all free slots of the rack are
 * reserved.
 */
static void list_machines(const struct root_search *search, const struct root_candidate *rack, struct heap *list)
{
	struct placer *placer = search->placer;
	const struct cost_layout *layout = placer->layout;
	uint32_t first = layout->rack_first[rack->number];

	for (uint32_t c = 0; c < layout->rack_used[rack->number]; c++) {
		uint32_t machine = layout->machine_of_column[first + c];
		int32_t unclaimed = machine == COST_NO_MACHINE ? 0 : rest_unclaimed(placer, search->net, machine);

		if (unclaimed == 0 &&
		    (machine == COST_NO_MACHINE || rack->room > 0 || flownet_free(search->net, machine) == 0))
			continue;
		if (cost_rows_silent(placer->rows, machine))
			continue;
		list->items[list->count] = (struct root_candidate){
			.running = cost_of_running(search, machine),
			.room = rack->room,
			.number = machine,
			.order = rack->order + c,
			.free = unclaimed,
		};
		list->items[list->count].cost =
			list->items[list->count].running +
			rest_cost_bound(placer, search->net, search->job, machine, search->tasks - 1);
		list->count++;
	}
}

static int most_free_first(const void *left, const void *right)
{
	const struct root_candidate *a = left, *b = right;

	if (a->free != b->free)
		return a->free > b->free ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void list_racks(const struct root_search *search, struct heap *list)
{
	const struct cost_layout *layout = search->placer->layout;
	bool any_fits = false;

	for (uint32_t r = 0; r < layout->rack_count; r++)
		any_fits |= room_of(search, r) >= search->tasks;
	for (uint32_t r = 0; r < layout->rack_count; r++) {
		struct root_candidate rack = {.room = room_of(search, r), .number = r, .free = INT32_MAX};
		bool near = fits(search, &rack) || has_sibling(search, r);

		if (flownet_free_in_rack(search->net, r) == 0 || (any_fits && !near && search->running == 0))
			continue;
		rack.order = layout->rack_first[r] + (near ? 0 : layout->column_count);
		rack.cost = rest_rack_bound(search->placer, search->net, search->job, r, search->tasks - 1) +
			    search->running * search->placer->policy->least_cost;
		list->items[list->count++] = rack;
	}
}

static void examine(const struct root_search *search, struct root_candidate *candidate)
{
	candidate->cost = candidate->running +
			  rest_cost(search->placer, search->net, search->job, candidate->number, search->tasks - 1);
	candidate->known = true;
}

/*
 * What decides before the rack's room: the cost or, for a large job that fits into the rack, its class of 1 %. Before a
 * job has running tasks, it fits into all racks of the list or into none (list_racks()).
 */
static int64_t first_cost(const struct root_search *search, const struct root_candidate *candidate, int64_t least)
{
	bool in_classes = search->tasks >= LARGE_JOB && search->running == 0 && least > 0 && fits(search, candidate);

	return in_classes ? candidate->cost * 100 / least : candidate->cost;
}

/*
 * Returns true if `a` is a better machine than `b`: by the lower cost, then by the rack (if the job fits, the one with
 * less room, else the one with more), then by the larger number of free slots. The number of free slots does not matter
 * at the least possible cost. For a large job, the rack decides among costs of a class. A rack is as good as its best
 * machine can be.
 */
static bool is_better(const struct root_search *search, const struct root_candidate *a, const struct root_candidate *b)
{
	int64_t least = (search->tasks - 1 + search->running) * search->placer->policy->least_cost;
	int64_t a_first = first_cost(search, a, least), b_first = first_cost(search, b, least);
	bool a_fits = fits(search, a), b_fits = fits(search, b);

	if (a_first != b_first)
		return a_first < b_first;
	if (a_fits != b_fits)
		return a_fits;
	if (a->room != b->room)
		return a_fits ? a->room < b->room : a->room > b->room;
	if (a->cost != b->cost)
		return a->cost < b->cost;
	if (a->cost > least && a->free != b->free)
		return a->free > b->free;
	return a->order < b->order;
}

static void swap(struct root_candidate *a, struct root_candidate *b)
{
	struct root_candidate kept = *a;

	*a = *b;
	*b = kept;
}

static void sift_down(const struct root_search *search, const struct heap *heap, uint32_t at)
{
	for (uint32_t child = 2 * at + 1; child < heap->count; child = 2 * at + 1) {
		if (child + 1 < heap->count && is_better(search, &heap->items[child + 1], &heap->items[child]))
			child++;
		if (!is_better(search, &heap->items[child], &heap->items[at]))
			return;
		swap(&heap->items[child], &heap->items[at]);
		at = child;
	}
}

static void make_heap(const struct root_search *search, const struct heap *heap)
{
	for (uint32_t i = heap->count / 2; i > 0; i--)
		sift_down(search, heap, i - 1);
}

/* True if the first item may be better than the best machine so far. */
static bool is_promising(const struct root_search *search, const struct heap *heap)
{
	return heap->count > 0 && (!search->best.known || is_better(search, &heap->items[0], &search->best));
}

/*
 * Looks for a better machine in the rack. In the beginning, only lower bounds of the machines' costs are known:
 * examines the first machine until it is one whose cost is exact.
 */
static void look_into(struct root_search *search, const struct root_candidate *rack)
{
	struct placer *placer = search->placer;
	struct heap machines = {.items = placer->candidates + placer->layout->rack_count};

	list_machines(search, rack, &machines);
	if (!fits(search, rack) && !has_sibling(search, rack->number)) {
		qsort(machines.items, machines.count, sizeof *machines.items, most_free_first);
		machines.count = machines.count > LARGE_MACHINES ? LARGE_MACHINES : machines.count;
	}
	make_heap(search, &machines);
	while (is_promising(search, &machines)) {
		if (machines.items[0].known) {
			search->best = machines.items[0];
			break;
		}
		examine(search, &machines.items[0]);
		sift_down(search, &machines, 0);
	}
	if (fits(search, rack))
		rest_rack_note(placer, search->net, search->job, rack->number);
}

/* Looks into the racks, the best bound first, until no other rack can have a better machine. */
static void find_best(struct root_search *search)
{
	struct heap racks = {.items = search->placer->candidates};

	list_racks(search, &racks);
	make_heap(search, &racks);
	while (is_promising(search, &racks)) {
		look_into(search, &racks.items[0]);
		racks.items[0] = racks.items[--racks.count];
		sift_down(search, &racks, 0);
	}
}

static uint32_t first_free(const struct root_search *search)
{
	const struct cost_layout *layout = search->placer->layout;

	for (uint32_t m = 0; m < layout->machine_count; m++)
		if (flownet_free(search->net, m) > 0)
			return m;
	return policy_draw_slot(search->placer, search->net, FLOWNET_NONE);
}

uint32_t policy_choose_root(struct placer *placer, const struct flownet *net, uint32_t job)
{
	struct root_search search = {
		.placer = placer, .net = net, .job = job, .tasks = flownet_unplaced_tasks(net, job)};
	uint32_t best;

	if (placer->settings.root_first)
		return first_free(&search);
	if (placer->settings.root_solver)
		return policy_flow_root(placer, net);
	if (placer->settings.root_anywhere)
		return policy_draw_slot(placer, net, FLOWNET_NONE);
	if (placer->reserved_round != flownet_rounds(net))
		reserve_for_open_jobs(placer, net);
	list_siblings(&search);
	find_best(&search);
	best = search.best.known ? search.best.number : policy_draw_slot(placer, net, FLOWNET_NONE);
	forget_siblings(&search);
	rest_claim(placer, net, job, best, 1, search.tasks - 1);
	return best;
}
