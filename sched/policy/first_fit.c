/* SPDX-License-Identifier: BSD-3-Clause */
/* The first machine, in the cluster file's order, with a free slot. */
#include "policy_priv.h"

static uint32_t choose(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t task, int32_t rack)
{
	uint32_t machine = 0;

	(void)placer;
	(void)job;
	(void)task;
	(void)rack; /* always FLOWNET_NONE: policy_fixed_row() has no arcs to racks */
	while (flownet_free(net, machine) == 0)
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
