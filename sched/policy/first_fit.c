/* SPDX-License-Identifier: BSD-3-Clause */
/* The first machine, in the cluster file's order, with a free slot. */
#include "policy_priv.h"

static uint32_t choose(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t task, int32_t rack)
{
	const struct cluster *cluster = placer->layout->cluster;
	uint32_t machine = 0;

	(void)job;
	(void)task;
	while (flownet_free(net, machine) == 0 ||
	       (rack != FLOWNET_NONE && cluster->machines[machine].rack != (uint32_t)rack))
		machine++;
	return machine;
}

const struct policy policy_first_fit = {
	.name = "first_fit",
	.summary = "the first machine with a free slot",
	.row = policy_fixed_row,
	.at = policy_fixed_at,
	.choose = choose,
};
