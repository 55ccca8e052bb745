/* SPDX-License-Identifier: BSD-3-Clause */
/* NoMora's other baseline, after Firmament's: balances the number of tasks. The first of the least loaded is taken. */
#include "policy_priv.h"

/*
 * While a round hands out slots, tasks only come: whoever has the fewest comes after the last one chosen, or has one
 * task more.
 */
static uint32_t choose(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t task, int32_t rack)
{
	const struct cost_layout *layout = placer->layout;

	(void)job;
	(void)task;
	(void)rack; /* its rows have no arcs to racks */
	if (placer->spread_round != flownet_rounds(net)) {
		placer->spread_round = flownet_rounds(net);
		placer->spread_column = 0;
		placer->spread_load = 0;
	}
	for (;; placer->spread_column = 0, placer->spread_load++) {
		for (; placer->spread_column < layout->column_count; placer->spread_column++) {
			uint32_t machine = layout->machine_of_column[placer->spread_column];

			if (machine != COST_NO_MACHINE && flownet_free(net, machine) > 0 &&
			    flownet_running(net, machine) == placer->spread_load)
				return machine;
		}
	}
}

const struct policy policy_load_spreading = {
	.name = "load_spreading",
	.summary = "the machine with the fewest tasks",
	.row = policy_fixed_row,
	.at = policy_fixed_at,
	.choose = choose,
};
