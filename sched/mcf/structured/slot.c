/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds arcs to free slots, and the floors of blocks. All free slots except deficits have the aggregator's price, so
 * the best slot of a group is that of its cheapest arc with a free slot. While excess is pushed, slots are only filled:
 * so the cursors slot_arc and slot_member only advance, and pass each arc and member once per solve.
 */
#include "structured_priv.h"

/* Returns a column of the block with a free slot at the aggregator's price, or NONE. */
int32_t block_free_slot(struct structured *state, int32_t block)
{
	struct block *b = &state->blocks[block];

	if (b->slot_epoch != state->slot_epoch) {
		b->slot_epoch = state->slot_epoch;
		b->slot_member = 0;
	}
	for (; b->slot_member < b->member_count; b->slot_member++) {
		int32_t column = b->members[b->slot_member];

		if (state->prices[column] == state->aggregator_price && state->free_slots[column] > 0)
			return column;
	}
	return NONE;
}

/*
 * Returns the group's cheapest arc to a free slot if it costs less than `below`, otherwise NONE. *column is the slot's
 * column.
 */
int32_t group_free_slot(struct structured *state, int32_t group, int32_t below, int32_t *column)
{
	struct group *g = &state->groups[group];

	if (g->slot_epoch != state->slot_epoch) {
		g->slot_epoch = state->slot_epoch;
		g->slot_arc = 0;
	}
	for (; g->slot_arc < g->arc_count; g->slot_arc++) {
		const struct arc *arc = &g->arcs[g->slot_arc];

		if (arc->cost >= below)
			return NONE;
		*column = arc->target >= 0 ? arc->target : block_free_slot(state, ~arc->target);
		if (*column != NONE && state->prices[*column] == state->aggregator_price &&
		    state->free_slots[*column] > 0 && arc_has_residual(g, g->slot_arc))
			return g->slot_arc;
	}
	return NONE;
}

int32_t block_least_price(const struct structured *state, int32_t block)
{
	const struct block *b = &state->blocks[block];
	int32_t price = PRICE_CLOSED;

	for (int32_t i = 0; i < b->member_count; i++)
		price = least(price, state->prices[b->members[i]]);
	return price;
}

int32_t block_exact_floor(struct structured *state, int32_t block)
{
	state->blocks[block].floor = block_least_price(state, block);
	return state->blocks[block].floor;
}
