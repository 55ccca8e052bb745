/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a root goes. The network puts it on any free slot at cost 0; among those this prefers a rack with room for
 * the whole job, the tightest such racks first (so that the roomy ones stay whole for larger jobs), and within a few
 * of them the machine from which the rest of the job would cost least. Slots that jobs placed earlier in the round
 * will want are counted as taken.
 */
#include <stdlib.h>

#include "policy_priv.h"

enum { RACKS_LOOKED_AT = 4 };

struct rack_choice {
	int64_t room; /* free slots less those reserved */
	uint32_t rack;
};

static void reserve_for_open_jobs(struct placer *placer, const struct flownet *net)
{
	const struct cluster *cluster = placer->layout->cluster;

	for (uint32_t r = 0; r < cluster->rack_count; r++)
		placer->reserved[r] = 0;
	for (uint32_t j = 0; j < flownet_job_limit(net); j++) {
		int32_t root = flownet_root_machine(net, j);

		if (root != FLOWNET_NONE)
			placer->reserved[cluster->machines[root].rack] += flownet_waiting_tasks(net, j);
	}
	placer->reserved_round = flownet_rounds(net);
}

/* Is `a` the better rack for a job of so many tasks: room for all, then the tightest; else the roomiest. */
static bool is_better(const struct rack_choice *a, const struct rack_choice *b, int64_t tasks)
{
	bool a_fits = a->room >= tasks, b_fits = b->room >= tasks;

	if (a_fits != b_fits)
		return a_fits;
	return a_fits ? a->room < b->room : a->room > b->room;
}

/* The best few racks that have a free slot at all, best first; returns how many. */
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

/* What the other tasks would cost with the root on `root`, filling its rack from the cheapest slot on. */
static int64_t cost_of_rest(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t root,
			    int64_t tasks)
{
	const struct cost_layout *layout = placer->layout;
	uint32_t rack = layout->cluster->machines[root].rack;
	int64_t slots_at[COST_MAXIMUM + 1] = {0}, total = 0;

	for (uint32_t c = layout->rack_first[rack]; c < layout->rack_first[rack + 1]; c++) {
		uint32_t machine = layout->machine_of_column[c];

		if (machine != COST_NO_MACHINE && flownet_free(net, machine) > 0)
			slots_at[placer->policy->at(placer, job, (int32_t)root, machine)] +=
				flownet_free(net, machine) - (machine == root);
	}
	for (int64_t cost = 0; cost <= COST_MAXIMUM && tasks > 0; cost++) {
		int64_t taken = slots_at[cost] < tasks ? slots_at[cost] : tasks;

		total += taken * cost;
		tasks -= taken;
	}
	return total + tasks * COST_MAXIMUM;
}

uint32_t policy_choose_root(struct placer *placer, const struct flownet *net, uint32_t job)
{
	const struct cost_layout *layout = placer->layout;
	int64_t tasks = flownet_waiting_tasks(net, job), best_cost = INT64_MAX;
	int64_t least = (tasks - 1) * placer->policy->least_cost;
	struct rack_choice racks[RACKS_LOOKED_AT];
	uint32_t best = COST_NO_MACHINE, count;

	if (placer->reserved_round != flownet_rounds(net))
		reserve_for_open_jobs(placer, net);
	count = best_racks(placer, net, tasks, racks);
	if (placer->settings.root_anywhere)
		count = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && (racks[i].room >= tasks) != (racks[0].room >= tasks))
			break; /* the whole job fits into the ones before */
		if (best_cost <= least)
			break;
		for (uint32_t c = layout->rack_first[racks[i].rack];
		     c < layout->rack_first[racks[i].rack + 1] && best_cost > least; c++) {
			uint32_t machine = layout->machine_of_column[c];
			int64_t cost;

			if (machine == COST_NO_MACHINE || flownet_free(net, machine) == 0)
				continue;
			cost = cost_of_rest(placer, net, job, machine, tasks - 1);
			if (cost < best_cost ||
			    (cost == best_cost && layout->cluster->machines[best].rack == racks[i].rack &&
			     flownet_free(net, machine) > flownet_free(net, best))) {
				best = machine;
				best_cost = cost;
			}
		}
	}
	for (uint32_t m = 0; best == COST_NO_MACHINE; m++) {
		if (flownet_free(net, m) > 0)
			best = m;
	}
	placer->reserved[layout->cluster->machines[best].rack] += tasks - 1;
	return best;
}
