/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Quincy's locality, with the root's machine in place of the data: cost 0 on that machine, 100 in its rack, 200 in its
 * pod, 300 elsewhere. Uses neither latency nor curves: a baseline that knows only the topology.
 */
#include "policy_priv.h"

enum { COST_SAME_RACK = 100, COST_SAME_POD = 200, COST_OTHER_POD = 300 };

static int32_t at(struct placer *placer, uint32_t job, int32_t root, uint32_t machine)
{
	const struct cluster *cluster = placer->layout->cluster;
	uint32_t rack = cluster->machines[machine].rack, root_rack = cluster->machines[root].rack;

	(void)job;
	if ((int32_t)machine == root)
		return 0;
	if (rack == root_rack)
		return COST_SAME_RACK;
	return cluster->racks[rack].pod == cluster->racks[root_rack].pod ? COST_SAME_POD : COST_OTHER_POD;
}

static void rack_costs(struct placer *placer, uint32_t job, uint32_t root, uint32_t rack, uint16_t *cost)
{
	uint32_t first, end;

	policy_columns(placer, (int32_t)rack, &first, &end);
	for (uint32_t c = first; c < end; c++) {
		uint32_t machine = placer->layout->machine_of_column[c];

		cost[c - first] = (uint16_t)(machine == COST_NO_MACHINE ? 0 : at(placer, job, (int32_t)root, machine));
	}
}

static const struct cost_row *row(struct placer *placer, uint32_t job, int32_t root)
{
	const struct cluster *cluster = placer->layout->cluster;
	struct cost_row *out = &placer->distance_row;
	uint32_t root_rack = cluster->machines[root].rack;

	(void)job;
	placer->distance_machine = (struct arc){.target = root, .cost = 0};
	out->root = (uint32_t)root;
	out->machines = &placer->distance_machine;
	out->machine_count = 1;
	out->rack_count = 0;
	out->cluster_cost = cluster->pod_count > 1 ? COST_OTHER_POD : COST_SAME_POD;
	for (uint32_t r = 0; r < placer->layout->rack_count; r++) {
		if (cluster->racks[r].pod == cluster->racks[root_rack].pod)
			out->racks[out->rack_count++] = (struct arc){
				.target = (int32_t)r,
				.cost = r == root_rack ? COST_SAME_RACK : COST_SAME_POD,
			};
	}
	return out;
}

/* Chooses the nearest free slot; for a root, as policy_choose_root() does. */
static uint32_t choose(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t task, int32_t rack)
{
	int32_t root = flownet_root_machine(net, job), best_cost = INT32_MAX;
	uint32_t first, end, best = COST_NO_MACHINE;

	if (task == flownet_root_task(net, job))
		return policy_choose_root(placer, net, job);
	policy_columns(placer, rack, &first, &end);
	for (uint32_t c = first; c < end; c++) {
		uint32_t machine = placer->layout->machine_of_column[c];
		int32_t cost;

		if (machine == COST_NO_MACHINE || flownet_free(net, machine) == 0)
			continue;
		cost = at(placer, job, root, machine);
		if (cost < best_cost) {
			best = machine;
			best_cost = cost;
		}
	}
	return best;
}

const struct policy policy_quincy = {
	.name = "quincy",
	.summary = "least distance to the root: machine, rack, pod",
	.root_first = true,
	.preempts = true,
	.row = row,
	.at = at,
	.rack = rack_costs,
	.choose = choose,
};
