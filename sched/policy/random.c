/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NoMora's baseline: all machines have the same cost, and a task gets any free slot, with equal probability. To draw a
 * slot, draws a machine and accepts it with probability (its free slots) / (maximum number of slots of a machine).
 * After DRAWS rejections, draws the number of a free slot and finds this slot rack by rack.
 */
#include "policy_priv.h"

enum { DRAWS = 64 };

static int64_t free_slots(const struct placer *placer, const struct flownet *net, int32_t rack)
{
	int64_t slots = 0;

	if (rack != FLOWNET_NONE)
		return flownet_free_in_rack(net, (uint32_t)rack);
	for (uint32_t r = 0; r < placer->layout->rack_count; r++)
		slots += flownet_free_in_rack(net, r);
	return slots;
}

static uint32_t draw_among_free(struct placer *placer, const struct flownet *net, int32_t rack)
{
	uint64_t drawn = rng_below(&placer->rng, (uint64_t)free_slots(placer, net, rack));
	uint32_t r = rack == FLOWNET_NONE ? 0 : (uint32_t)rack;

	for (; drawn >= (uint64_t)flownet_free_in_rack(net, r); r++)
		drawn -= (uint64_t)flownet_free_in_rack(net, r);
	for (uint32_t c = placer->layout->rack_first[r];; c++) {
		uint32_t machine = placer->layout->machine_of_column[c];
		uint64_t here = machine == COST_NO_MACHINE ? 0 : (uint64_t)flownet_free(net, machine);

		if (drawn < here)
			return machine;
		drawn -= here;
	}
}

uint32_t policy_draw_slot(struct placer *placer, const struct flownet *net, int32_t rack)
{
	uint64_t most = (uint64_t)flownet_most_slots(net);
	uint32_t first, end;

	policy_columns(placer, rack, &first, &end);
	for (int draw = 0; draw < DRAWS; draw++) {
		uint32_t machine = placer->layout->machine_of_column[first + rng_below(&placer->rng, end - first)];

		if (machine != COST_NO_MACHINE && rng_below(&placer->rng, most) < (uint64_t)flownet_free(net, machine))
			return machine;
	}
	return draw_among_free(placer, net, rack);
}

static uint32_t choose(struct placer *placer, const struct flownet *net, uint32_t job, uint32_t task, int32_t rack)
{
	(void)job;
	(void)task;
	return policy_draw_slot(placer, net, rack);
}

const struct policy policy_random = {
	.name = "random",
	.summary = "any free slot with equal chance",
	.row = policy_fixed_row,
	.at = policy_fixed_at,
	.choose = choose,
};
