/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the machine of a root. In the flow network, all free slots cost 0 for a root. The choice is that of the
 * machine with which the rest of the job costs least: its running tasks where they are, and the others on the cheapest
 * free slots (policy_priv.h). The candidates are the machines with a free slot in these racks:
 * - racks with free slots for all of the job's tasks that have no machine yet, whether they have arrived or not
 * - racks in which tasks of the job run
 * - if there are none of the first kind, all racks, of which only the machines with the most free slots
 * A machine that no other one reaches is a candidate only if there is no other: a job that fits on it whole would look
 * as if it cost nothing there.
 * Of equal machines, the one in the fuller rack is taken, so that the emptier ones remain for larger jobs.
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

struct root_candidate {
	int64_t cost;            /* cost of the rest of the job: exact if `known`, else a lower bound */
	int64_t room;            /* free slots of its rack that are not reserved */
	uint32_t machine, order; /* order: candidates that were listed before it */
	int32_t free;
	bool known;
};

/* A waiting root for which a machine is chosen. */
struct root_search {
	struct placer *placer;
	const struct flownet *net;
	uint32_t job;
	int64_t tasks;     /* the job's tasks without a machine, with the root */
	uint32_t count;    /* candidates */
	uint32_t siblings; /* machines with running tasks of the job */
	int64_t running;   /* running tasks of the job */
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

/* Adds the rack's machines with a free slot; those with a reserved one only if all free slots of the rack are reserved.
 */
static void add_rack(struct root_search *search, uint32_t rack)
{
	struct placer *placer = search->placer;
	const struct cost_layout *layout = placer->layout;
	int64_t room = room_of(search, rack);

	for (uint32_t c = layout->rack_first[rack]; c < layout->rack_first[rack] + layout->rack_used[rack]; c++) {
		uint32_t machine = layout->machine_of_column[c];
		int32_t unclaimed = machine == COST_NO_MACHINE ? 0 : rest_unclaimed(placer, search->net, machine);

		if (unclaimed == 0 &&
		    (machine == COST_NO_MACHINE || room > 0 || flownet_free(search->net, machine) == 0))
			continue;
		if (cost_rows_silent(placer->rows, machine))
			continue;
		placer->candidates[search->count] = (struct root_candidate){
			.cost = rest_cost_bound(placer, search->net, search->job, machine, search->tasks - 1) +
				search->running * placer->policy->least_cost,
			.room = room,
			.machine = machine,
			.order = search->count,
			.free = unclaimed,
		};
		search->count++;
	}
}

static int most_free_first(const void *left, const void *right)
{
	const struct root_candidate *a = left, *b = right;

	if (a->free != b->free)
		return a->free > b->free ? -1 : 1;
	return a->machine < b->machine ? -1 : a->machine > b->machine;
}

static void list_candidates(struct root_search *search)
{
	uint32_t racks = search->placer->layout->rack_count;
	bool any_fits = false;

	for (uint32_t r = 0; r < racks; r++) {
		bool fits = room_of(search, r) >= search->tasks;

		any_fits |= fits;
		if (flownet_free_in_rack(search->net, r) > 0 && (fits || has_sibling(search, r)))
			add_rack(search, r);
	}
	for (uint32_t r = 0; !any_fits && r < racks; r++) {
		uint32_t first = search->count;

		if (has_sibling(search, r))
			continue;
		add_rack(search, r);
		qsort(&search->placer->candidates[first], search->count - first, sizeof *search->placer->candidates,
		      most_free_first);
		search->count = search->count - first > LARGE_MACHINES ? first + LARGE_MACHINES : search->count;
	}
}

/* Computes the exact cost of the candidate. */
static void examine(const struct root_search *search, struct root_candidate *candidate)
{
	struct placer *placer = search->placer;

	candidate->cost = rest_cost(placer, search->net, search->job, candidate->machine, search->tasks - 1);
	for (uint32_t i = 0; i < search->siblings; i++) {
		uint32_t machine = placer->sibling_list[i];

		candidate->cost += (int64_t)placer->siblings[machine] *
				   placer->policy->at(placer, search->job, (int32_t)candidate->machine, machine);
	}
	candidate->known = true;
}

/*
 * Returns true if `a` is a better machine than `b`: by the lower cost, then by the rack (if the job fits, the one with
 * less room, else the one with more), then by the larger number of free slots. The number of free slots does not matter
 * at the least possible cost. Of equal machines, the one listed first is better.
 */
static bool is_better(const struct root_search *search, const struct root_candidate *a, const struct root_candidate *b)
{
	int64_t least = (search->tasks - 1 + search->running) * search->placer->policy->least_cost;
	bool a_fits = a->room >= search->tasks, b_fits = b->room >= search->tasks;

	if (a->cost != b->cost)
		return a->cost < b->cost;
	if (a_fits != b_fits)
		return a_fits;
	if (a->room != b->room)
		return a_fits ? a->room < b->room : a->room > b->room;
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

/* Restores the heap below candidate `at`: none is better than its parent. */
static void sift_down(const struct root_search *search, uint32_t at)
{
	struct root_candidate *heap = search->placer->candidates;

	for (uint32_t child = 2 * at + 1; child < search->count; child = 2 * at + 1) {
		if (child + 1 < search->count && is_better(search, &heap[child + 1], &heap[child]))
			child++;
		if (!is_better(search, &heap[child], &heap[at]))
			return;
		swap(&heap[child], &heap[at]);
		at = child;
	}
}

/*
 * Returns the machine of the best candidate. In the beginning, only lower bounds of the costs are known: examines the
 * best candidate until it is one whose cost is exact.
 */
static uint32_t best_candidate(const struct root_search *search)
{
	struct root_candidate *best = search->placer->candidates;

	for (uint32_t i = search->count / 2; i > 0; i--)
		sift_down(search, i - 1);
	while (!best->known) {
		examine(search, best);
		sift_down(search, 0);
	}
	return best->machine;
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
	list_candidates(&search);
	best = search.count > 0 ? best_candidate(&search) : policy_draw_slot(placer, net, FLOWNET_NONE);
	forget_siblings(&search);
	rest_claim(placer, net, job, best, 1, search.tasks - 1);
	return best;
}
