/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NoMora 5.2. The flow network may send a task to a rack or the cluster and not to one machine. All free slots there
 * then have the same cost in the network. The policy gives the task the slot with the best predicted performance or, as
 * in the paper, any of them.
 */
#include "policy_priv.h"

static const struct cost_row *row(struct placer *placer, uint32_t job, int32_t root)
{
	return cost_rows_get(placer->rows, placer->curve_of_job[job], (uint32_t)root);
}

static int32_t at(struct placer *placer, uint32_t job, int32_t root, uint32_t machine)
{
	return placer_latency_cost(placer, job, (uint32_t)root, machine);
}

static void rack_costs(struct placer *placer, uint32_t job, uint32_t root, uint32_t rack, uint16_t *cost)
{
	cost_rows_rack(placer->rows, placer->curve_of_job[job], root, rack, cost);
}

/* Returns the costs of all machines for a job's tasks. Keeps them for the next task of this job. */
static const uint16_t *dense_costs(struct placer *placer, uint32_t job, int32_t root)
{
	if (placer->dense_job != (int64_t)job || placer->dense_root != root) {
		cost_rows_dense(placer->rows, placer->curve_of_job[job], (uint32_t)root, placer->dense);
		placer->dense_job = job;
		placer->dense_root = root;
	}
	return placer->dense;
}

static uint32_t choose(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t task, int32_t rack)
{
	uint32_t first, end, best = COST_NO_MACHINE;
	const uint16_t *cost;

	if (task == flownet_root_task(net, job))
		return policy_choose_root(placer, net, job);
	if (placer->settings.spill == POLICY_SPILL_ANY)
		return policy_draw_slot(placer, net, rack);
	cost = dense_costs(placer, job, flownet_root_machine(net, job));
	policy_columns(placer, rack, &first, &end);
	for (uint32_t c = first; c < end; c++) {
		uint32_t machine = placer->layout->machine_of_column[c];

		if (machine == COST_NO_MACHINE || flownet_free(net, machine) == 0)
			continue;
		if (cost[machine] <= COST_MAXIMUM && (best == COST_NO_MACHINE || cost[machine] < cost[best]))
			best = machine;
	}
	return best;
}

const struct policy policy_nomora = {
	.name = "nomora",
	.summary = "least cost by predicted performance at the latency to the root",
	.root_first = true,
	.least_cost = 100, /* p = 1 */
	.preempts = true,
	.row = row,
	.cached_rows = true,
	.at = at,
	.rack = rack_costs,
	.choose = choose,
};
