/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Besides `random`, the paper's second baseline, which follows Firmament's policy of the same name: balances the number
 * of tasks per machine. Ties are broken at random.
 */
#include "policy_priv.h"

/* Lists the machines that have the fewest tasks among those with a free slot. */
static void list_least_loaded(struct placer *placer, const struct flownet *net)
{
	int32_t fewest = INT32_MAX;

	placer->spread_round = flownet_rounds(net);
	placer->spread_count = 0;
	for (uint32_t m = 0; m < placer->layout->machine_count; m++) {
		int32_t tasks = flownet_running(net, m);

		if (flownet_free(net, m) == 0 || tasks > fewest)
			continue;
		if (tasks < fewest)
			placer->spread_count = 0;
		fewest = tasks;
		placer->spread[placer->spread_count++] = m;
	}
}

/*
 * Within a round, the numbers of tasks only grow. So a machine that gets a task is removed from the list. When the list
 * is empty, a new one is built.
 */
static uint32_t choose(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t task, int32_t rack)
{
	uint32_t drawn, machine;

	(void)job;
	(void)task;
	(void)rack; /* always FLOWNET_NONE: policy_fixed_row() has no arcs to racks */
	if (placer->spread_round != flownet_rounds(net) || placer->spread_count == 0)
		list_least_loaded(placer, net);
	drawn = (uint32_t)rng_below(&placer->rng, placer->spread_count);
	machine = placer->spread[drawn];
	placer->spread[drawn] = placer->spread[--placer->spread_count];
	return machine;
}

const struct policy policy_load_spreading = {
	.name = "load_spreading",
	.summary = "any of the machines with the fewest tasks",
	.row = policy_fixed_row,
	.at = policy_fixed_at,
	.choose = choose,
};
