/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the machine of a root. To the network, any free slot costs 0. The choice prefers racks with free slots for
 * the whole job, and of these the racks with the fewest (so that the others remain for larger jobs), and within the
 * best few racks the machine from which the rest of the job would cost least. The slots that this round's second solve
 * needs for jobs whose root is placed already count as taken: they are reserved in the root's rack, and as far as
 * possible on the root's machine.
 */
#include <stdlib.h>
#include <string.h>

#include "policy_priv.h"

enum { RACKS_LOOKED_AT = 4 };

struct root_candidate {
	int64_t cost; /* of the rest of the job; a lower bound unless `known` */
	uint32_t machine, rack_rank;
	int32_t free;
	bool known;
};

struct rack_choice {
	int64_t room; /* free slots minus the reserved ones */
	uint32_t rack;
};

size_t policy_candidate_bytes(void)
{
	return sizeof(struct root_candidate);
}

/*
 * Reserves slots for `tasks` tasks of a job with its root on this machine. own: free slots of the machine that the root
 * itself will take.
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
 * True if `a` is the better rack for a job of `tasks` tasks: racks with space for all come first, of these the one with
 * the fewest free slots; otherwise the one with the most.
 */
static bool is_better(const struct rack_choice *a, const struct rack_choice *b, int64_t tasks)
{
	bool a_fits = a->room >= tasks, b_fits = b->room >= tasks;

	if (a_fits != b_fits)
		return a_fits;
	return a_fits ? a->room < b->room : a->room > b->room;
}

/* Lists the best few racks that have a free slot, best first; returns their number. */
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
 * Lists the machines of the best racks that have a free slot, in the order of racks and columns; returns their number.
 */
static uint32_t list_candidates(struct placer *placer, const struct flownet *net, uint32_t job, int64_t tasks)
{
	const struct cost_layout *layout = placer->layout;
	struct rack_choice racks[RACKS_LOOKED_AT];
	uint32_t rack_count = best_racks(placer, net, tasks, racks), count = 0;

	for (uint32_t i = 0; i < rack_count; i++) {
		if ((racks[i].room >= tasks) != (racks[0].room >= tasks))
			break; /* the earlier racks have space for the whole job, this rack has not */
		for (uint32_t c = layout->rack_first[racks[i].rack]; c < layout->rack_first[racks[i].rack + 1]; c++) {
			uint32_t machine = layout->machine_of_column[c];
			int32_t unclaimed = machine == COST_NO_MACHINE ? 0 : rest_unclaimed(placer, net, machine);

			/* A claimed slot is used only if the rack has no other free slot. */
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
 * True if `a` is the better machine: the cheaper one; at equal cost, the one in the better rack; then the one with more
 * free slots. At the least possible cost, the number of free slots does not matter.
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
 * Returns the best candidate; among equally good ones, the first. At first only lower bounds of the candidates' costs
 * are known. Repeatedly takes the best candidate and computes its exact cost, until the best candidate's cost is exact.
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
