/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NoMora's baseline: fixed costs, so a task runs wherever a slot is idle. Every free slot has the same chance: draw
 * a machine and keep it with chance free slots / most slots of any machine; after too many misses count the free ones
 * and draw among them.
 */
#include "policy_priv.h"

enum { DRAWS = 64 };

static uint32_t draw_among_free(struct placer *placer, const struct flownet *net, uint32_t first, uint32_t end)
{
	uint64_t slots = 0, drawn;

	for (uint32_t c = first; c < end; c++) {
		uint32_t machine = placer->layout->machine_of_column[c];

		slots += machine == COST_NO_MACHINE ? 0 : (uint64_t)flownet_free(net, machine);
	}
	drawn = rng_below(&placer->rng, slots);
	for (uint32_t c = first;; c++) {
		uint32_t machine = placer->layout->machine_of_column[c];
		uint64_t here = machine == COST_NO_MACHINE ? 0 : (uint64_t)flownet_free(net, machine);

		if (drawn < here)
			return machine;
		drawn -= here;
	}
}

static uint64_t most_slots(struct placer *placer, const struct flownet *net)
{
	if (placer->most_slots_round == flownet_rounds(net) && placer->most_slots > 0)
		return placer->most_slots;
	placer->most_slots_round = flownet_rounds(net);
	placer->most_slots = 1;
	for (uint32_t m = 0; m < placer->layout->machine_count; m++) {
		uint64_t slots = (uint64_t)flownet_slots(net, m);

		placer->most_slots = slots > placer->most_slots ? slots : placer->most_slots;
	}
	return placer->most_slots;
}

uint32_t policy_draw_slot(struct placer *placer, const struct flownet *net, int32_t rack)
{
	uint64_t most = most_slots(placer, net);
	uint32_t first, end;

	policy_columns(placer, rack, &first, &end);
	for (int draw = 0; draw < DRAWS; draw++) {
		uint32_t machine = placer->layout->machine_of_column[first + rng_below(&placer->rng, end - first)];

		if (machine != COST_NO_MACHINE && rng_below(&placer->rng, most) < (uint64_t)flownet_free(net, machine))
			return machine;
	}
	return draw_among_free(placer, net, first, end);
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
