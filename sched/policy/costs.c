/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy_priv.h"

const struct cost_row *policy_fixed_row(struct placer *placer, uint32_t job, int32_t root)
{
	(void)job;
	(void)root;
	return &placer->fixed_row;
}

int32_t policy_fixed_at(struct placer *placer, uint32_t job, int32_t root, uint32_t machine)
{
	(void)placer;
	(void)job;
	(void)root;
	(void)machine;
	return POLICY_FIXED_COST;
}

void policy_columns(const struct placer *placer, int32_t rack, uint32_t *first, uint32_t *end)
{
	*first = rack == FLOWNET_NONE ? 0 : placer->layout->rack_first[rack];
	*end = rack == FLOWNET_NONE ? placer->layout->column_count : placer->layout->rack_first[rack + 1];
}

int32_t placer_latency_cost(struct placer *placer, uint32_t job, uint32_t root, uint32_t machine)
{
	return cost_rows_at(placer->rows, placer->curve_of_job[job], root, machine);
}
