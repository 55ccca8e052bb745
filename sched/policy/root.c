/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the machine of a root. In the flow network, all free slots cost 0 for a root. The choice is made in this
 * order:
 * - racks with free slots for the whole job; if there is none, the few racks with the most free slots
 * - of the racks for the whole job, the few with the fewest free slots, so that the others remain for larger jobs
 * - in these racks, the machine with which the rest of the job would cost least (rest_priv.h)
 *
 * Some jobs have a root but their other tasks still wait for this round's second solve. Slots for these tasks are
 * reserved in the root's rack, if possible on the root's machine, and do not count as free.
 */
#include <stdlib.h>
#include <string.h>

#include "policy_priv.h"

enum { RACKS_LOOKED_AT = 4 };

struct root_candidate {
	int64_t cost; /* cost of the rest of the job: exact if `known`, else a lower bound */
	uint32_t machine, rack_rank;
	int32_t free;
	bool known;
};

struct rack_choice {
	int64_t room; /* number of free slots minus number of reserved slots */
	uint32_t rack;
};

size_t policy_candidate_bytes(void)
{
	return sizeof(struct root_candidate);
}

/*
 * Reserves slots for `tasks` tasks of a job whose root is on machine `root`. own: 1 if the root still counts as
 * waiting, so that it will take one of the machine's free slots; else 0.
 */
static void reserve(struct placer *placer, const struct flownet *net, uint32_t root, int32_t own, int64_t tasks)
{
	int64_t slots = rest_unclaimed(placer, net, root) - own, here = slots < tasks ? slots : tasks;

	placer->reserved[placer->layout->cluster->machines[root].rack] += tasks;
	placer->claimed[root] += here > 0 ? (int32_t)here : 0;
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
			reserve(placer, net, (uint32_t)root, 0, flownet_waiting_tasks(net, jobs[i]));
	}
	placer->reserved_round = flownet_rounds(net);
}

/*
 * Returns true if `a` is a better rack than `b` for a job of `tasks` tasks. Racks with space for all tasks come first,
 * those with the fewest free slots before the others. Then come the racks with less space, those with the most free
 * slots first.
 */
static bool is_better(const struct rack_choice *a, const struct rack_choice *b, int64_t tasks)
{
	bool a_fits = a->room >= tasks, b_fits = b->room >= tasks;

	if (a_fits != b_fits)
		return a_fits;
	return a_fits ? a->room < b->room : a->room > b->room;
}

/* Lists the best RACKS_LOOKED_AT racks that have a free slot, best first. Returns their number. */
static uint32_t best_racks(const struct placer *placer, const struct flownet *net, int64_t tasks,
			   struct rack_choice *best)
{
	uint32_t count = 0;

	for (uint32_t r = 0; r < placer->layout->rack_count; r++) {
		int64_t slots = flownet_free_in_rack(net, r);
		struct rack_choice choice = {.room = slots - placer->reserved[r], .rack = r};
		uint32_t at;

		if (slots == 0 || (count == RACKS_LOOKED_AT && !is_better(&choice, &best[count - 1], tasks)))
			continue;
		at = count < RACKS_LOOKED_AT ? count++ : count - 1;
		for (; at > 0 && is_better(&choice, &best[at - 1], tasks); at--)
			best[at] = best[at - 1];
		best[at] = choice;
	}
	return count;
}

/*
 * Lists the machines with a free slot in the best racks, in the order of racks and columns. Returns the number of
 * machines.
 */
static uint32_t list_candidates(struct placer *placer, const struct flownet *net, uint32_t job, int64_t tasks)
{
	const struct cost_layout *layout = placer->layout;
	struct rack_choice racks[RACKS_LOOKED_AT];
	uint32_t rack_count = best_racks(placer, net, tasks, racks), count = 0;

	for (uint32_t i = 0; i < rack_count; i++) {
		if ((racks[i].room >= tasks) != (racks[0].room >= tasks))
			break; /* the racks before have space for the whole job, but this one has not */
		for (uint32_t c = layout->rack_first[racks[i].rack]; c < layout->rack_first[racks[i].rack + 1]; c++) {
			uint32_t machine = layout->machine_of_column[c];
			int32_t unclaimed = machine == COST_NO_MACHINE ? 0 : rest_unclaimed(placer, net, machine);

			/* Takes a reserved slot only if all free slots of the rack are reserved. */
			if (unclaimed == 0 &&
			    (machine == COST_NO_MACHINE || racks[i].room > 0 || flownet_free(net, machine) == 0))
				continue;
			placer->candidates[count++] = (struct root_candidate){
				.cost = rest_cost_bound(placer, net, job, machine, tasks - 1),
				.machine = machine,
				.rack_rank = i,
				.free = unclaimed,
			};
		}
	}
	return count;
}

/*
 * Returns true if `a` is a better machine than `b`: by the lower cost, then by the better rack, then by the larger
 * number of free slots. The number of free slots does not matter at the least possible cost.
 */
static bool is_better_root(const struct root_candidate *a, const struct root_candidate *b, int64_t least)
{
	if (a->cost != b->cost)
		return a->cost < b->cost;
	if (a->rack_rank != b->rack_rank)
		return a->rack_rank < b->rack_rank;
	return a->cost > least && a->free > b->free;
}

/*
 * Returns the machine of the best candidate; ties go to the first. In the beginning, only lower bounds of the costs are
 * known. So computes the exact cost of the best candidate, and repeats this until the best candidate's cost is exact.
 */
static uint32_t best_candidate(struct placer *placer, const struct flownet *net, uint32_t job, int64_t tasks,
			       uint32_t count)
{
	int64_t least = (tasks - 1) * placer->policy->least_cost;
	struct root_candidate *best;

	do {
		best = &placer->candidates[0];
		for (uint32_t i = 1; i < count; i++) {
			if (is_better_root(&placer->candidates[i], best, least))
				best = &placer->candidates[i];
		}
		if (best->known)
			return best->machine;
		best->cost = rest_cost(placer, net, job, best->machine, tasks - 1);
		best->known = true;
	} while (true);
}

uint32_t policy_choose_root(struct placer *placer, const struct flownet *net, uint32_t job)
{
	int64_t tasks = flownet_waiting_tasks(net, job);
	uint32_t count, best;

	if (placer->settings.root_anywhere)
		return policy_draw_slot(placer, net, FLOWNET_NONE);
	if (placer->reserved_round != flownet_rounds(net))
		reserve_for_open_jobs(placer, net);
	count = list_candidates(placer, net, job, tasks);
	best = count > 0 ? best_candidate(placer, net, job, tasks, count) : policy_draw_slot(placer, net, FLOWNET_NONE);
	reserve(placer, net, best, 1, tasks - 1);
	return best;
}
