/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forward searches start at units that need a path to the sink: excess, or waiting units that could be placed. They end
 * at the nearest free slot, aggregator, deficit or "unscheduled".
 */
#include "structured_search.h"

/*
 * Finds the distance at which a waiting unit would, through this group, get a slot at the aggregator's price, and
 * passes it to search_meet().
 */
static void aggregator_targets(struct structured *state, int32_t group, int32_t distance)
{
	const struct search *search = &state->search;
	const struct group *g = &state->groups[group];
	int32_t base = distance - g->price + state->aggregator_price, best = search->best, column;

	if (g->aggregator_cost != ARC_ABSENT)
		best = least(best, base + g->aggregator_cost);
	int32_t exit = group_free_slot(state, group, best - base, &column);

	if (exit != NONE)
		best = base + g->arcs[exit].cost;
	search_meet(state, group, best);
}

/*
 * Considers the group's own paths to the sink as soon as the group is reached. So the last and widest layer of a search
 * is not expanded.
 */
static void group_targets(struct structured *state, int32_t group, int32_t distance)
{
	struct search *search = &state->search;
	const struct group *g = &state->groups[group];
	int32_t base = distance - g->price, column, exit;

	if (search->source == FROM_WAITING) {
		aggregator_targets(state, group, distance);
		return;
	}
	if (g->unscheduled_flow < g->unscheduled_capacity)
		search_target(search, TARGET_UNSCHEDULED, group, base + g->unscheduled_cost);
	search_target(search, TARGET_UNROUTED, group, base + UNROUTED_COST);
	base += state->aggregator_price;
	if (g->aggregator_cost != ARC_ABSENT)
		search_target(search, TARGET_AGGREGATOR, group, base + g->aggregator_cost);
	exit = group_free_slot(state, group, search->best - base, &column);
	if (exit != NONE)
		search_target(search, TARGET_SLOT, group, base + g->arcs[exit].cost);
}

/* `column` and `cost` are those of the group's share that would leave the column; NONE for a root. */
static void relax_group(struct structured *state, int32_t group, int32_t distance, int32_t column, int32_t cost)
{
	struct search *search = &state->search;

	if (!search_improves(search, distance, state->group_labels[group]))
		return;
	state->group_labels[group] = search_label(search, distance);
	state->groups[group].parent_cost = cost;
	state->groups[group].parent_column = column;
	group_targets(state, group, distance);
	queue_push(&search->queue, ~group, distance);
}

static inline void relax_column(struct structured *state, int32_t column, int32_t distance, int32_t parent_group,
				int32_t parent_cost)
{
	struct search *search = &state->search;
	struct column *c = &state->columns[column];

	if (!search_improves(search, distance, state->column_labels[column]))
		return;
	state->column_labels[column] = search_label(search, distance);
	c->parent_group = parent_group;
	c->parent_cost = parent_cost;
	if (state->free_slots[column] > 0) {
		if (search->source == FROM_GROUP || search->source == FROM_EXCESS)
			search_target(search, TARGET_COLUMN, column, distance);
	} else {
		queue_push(&search->queue, column, distance);
	}
}

/*
 * `distance` is that of the arc's tail; `cost` is the arc's cost minus the tail's price. A block's floor may be lower
 * than every price in the block, which makes the arc appear cheaper than it is; but the key is never less than the
 * tail's distance.
 */
static void relax_block(struct structured *state, int32_t block, int32_t distance, int32_t cost, int32_t parent_group,
			int32_t parent_cost)
{
	struct search *search = &state->search;
	struct block *b = &state->blocks[block];
	int32_t floor = b->floor > state->aggregator_price ? b->floor : state->aggregator_price;
	int32_t key = cost + floor > 0 ? distance + cost + floor : distance;

	if (key >= search->best || (b->stamp == search->stamp && b->distance <= distance + cost))
		return;
	b->stamp = search->stamp;
	b->distance = distance + cost;
	b->key = key;
	b->parent_group = parent_group;
	b->parent_cost = parent_cost;
	queue_push(&search->queue, block + NODE_BLOCK, key);
}

static void settle_group(struct structured *state, int32_t group, int32_t distance)
{
	const struct search *search = &state->search;
	const struct group *g = &state->groups[group];
	int32_t base = distance - g->price, i = 0;

	for (; i < g->arc_count && base + g->arcs[i].cost + state->aggregator_price < search->best; i++) {
		struct arc arc = g->arcs[i];

		if (arc.target < 0)
			relax_block(state, ~arc.target, distance, arc.cost - g->price, group, ~arc.cost);
		else if (arc_has_residual(g, i))
			relax_column(state, arc.target, base + arc.cost + state->prices[arc.target], group, arc.cost);
	}
	state->effort.scans += (uint64_t)i;
}

static void settle_column(struct structured *state, int32_t column, int32_t distance)
{
	const struct search *search = &state->search;
	const struct column *c = &state->columns[column];
	int32_t base = distance - state->prices[column];

	for (int32_t i = 0; i < c->entry_count; i++) {
		struct entry entry = c->entries[i];
		int32_t reached = base - entry.cost + state->group_prices[entry.group];

		if (reached < search->best)
			relax_group(state, entry.group, reached, column, entry.cost);
	}
	state->effort.scans += (uint64_t)c->entry_count;
}

/* Scans every column of the block and makes its floor exact. */
static void settle_block(struct structured *state, int32_t block)
{
	struct block *b = &state->blocks[block];
	int32_t floor = PRICE_CLOSED;

	for (int32_t i = 0; i < b->member_count; i++) {
		int32_t column = b->members[i], price = state->prices[column];

		floor = least(floor, price);
		relax_column(state, column, b->distance + price, b->parent_group, b->parent_cost);
	}
	b->floor = floor;
	state->effort.scans += (uint64_t)b->member_count;
}

static const struct search_direction forward = {settle_group, settle_column, settle_block};

void search_group_forward(struct structured *state, int32_t group)
{
	search_begin(state, FROM_GROUP, INT32_MAX);
	relax_group(state, group, 0, NONE, NONE);
	search_run(state, &forward);
	search_move_prices(state, 1);
}

void search_from_excess(struct structured *state)
{
	search_begin(state, FROM_EXCESS, INT32_MAX);
	for (int32_t i = 0; i < state->excess_list.count; i++)
		if (state->groups[state->excess_list.ids[i]].excess > 0)
			relax_group(state, state->excess_list.ids[i], 0, NONE, NONE);
	search_run(state, &forward);
	search_move_prices(state, 1);
}

/* Sets search.best to the distance of the nearest meetings, or to `limit` if there are none up to this distance. */
void search_from_waiting(struct structured *state, int32_t limit)
{
	search_begin(state, FROM_WAITING, limit + 1);
	for (int32_t i = 0; i < state->group_count; i++) {
		const struct group *g = &state->groups[i];

		if (g->unrouted > 0)
			relax_group(state, i, g->price - UNROUTED_COST, NONE, NONE);
		else if (g->unscheduled_flow > 0)
			relax_group(state, i, g->price - g->unscheduled_cost, NONE, NONE);
	}
	search_run(state, &forward);
	state->search.best--;
}
