/* SPDX-License-Identifier: BSD-3-Clause */
/* NoMora's other baseline, after Firmament's: balances the number of tasks. The first of the least loaded is taken. */
#include "policy_priv.h"

static uint32_t choose(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t task, int32_t rack)
{
	uint32_t first, end, best = COST_NO_MACHINE;

	(void)job;
	(void)task;
	policy_columns(placer, rack, &first, &end);
	for (uint32_t c = first; c < end; c++) {
		uint32_t machine = placer->layout->machine_of_column[c];

		if (machine != COST_NO_MACHINE && flownet_free(net, machine) > 0 &&
		    (best == COST_NO_MACHINE || flownet_running(net, machine) < flownet_running(net, best)))
			best = machine;
	}
	return best;
}

const struct policy policy_load_spreading = {
	.name = "load_spreading",
	.summary = "the machine with the fewest tasks",
	.row = policy_fixed_row,
	.at = policy_fixed_at,
	.choose = choose,
};
