/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The opposite of a search for room: a slot came free on a column that has a price, so somebody would gain by moving
 * there. Shortest paths backward from the slot, to whoever gains most by letting go: a unit on a cheaper column, an
 * unscheduled or unrouted one, one that was sold to the market. The market takes the hole at its own price, so no
 * search goes farther than the difference. Prices of nodes nearer than that fall.
 */
#include "structured_search.h"

/* Who of the group would gain by letting go. */
static void group_targets(struct structured *state, int32_t group, int32_t distance)
{
	struct search *search = &state->search;
	const struct group *g = &state->groups[group];

	if (search->source == TO_MARKET) {
		if (g->pending > 0)
			market_meet(state, ~group, distance);
		return;
	}
	if (g->unscheduled_flow > 0)
		search_target(search, TARGET_UNSCHEDULED, group, distance + g->price - g->unscheduled_cost);
	if (g->unrouted > 0)
		search_target(search, TARGET_UNROUTED, group, distance + g->price - UNROUTED_COST);
	if (g->pending > 0)
		search_target(search, TARGET_MARKET, group,
			      distance + g->price - g->aggregator_cost - state->market_price);
}

/* `cost`: of the own arc that would get the unit for `column`, ~cost over its block. */
static void relax_group(struct structured *state, int32_t group, int32_t distance, int32_t cost, int32_t column)
{
	struct search *search = &state->search;
	struct group *g = &state->groups[group];

	if (!search_improves(search, distance, state->group_labels[group]))
		return;
	state->group_labels[group] = search_label(search, distance);
	g->parent = cost;
	g->parent_column = column;
	search_fetch(g->shares);
	group_targets(state, group, distance);
	search_enqueue(search, ~group, distance);
}

static void relax_column(struct structured *state, int32_t column, int32_t distance, int32_t group, int32_t cost)
{
	struct search *search = &state->search;
	struct column *c = &state->columns[column];

	if (!search_improves(search, distance, state->column_labels[column]))
		return;
	state->column_labels[column] = search_label(search, distance);
	c->parent_group = group;
	c->parent_arc = cost;
	search_fetch(&state->column_references[column]);
	if (search->source == FROM_HOLE)
		search_target(search, TARGET_COLUMN, column, distance + state->prices[column] - state->market_price);
	else
		market_meet(state, column, distance + state->prices[column] - state->market_price);
	search_enqueue(search, column, distance);
}

static void relax_block(struct structured *state, int32_t column, int32_t distance)
{
	struct search *search = &state->search;
	int32_t block = state->column_blocks[column];
	struct block *b = &state->blocks[block];

	/* Its groups' reduced costs count from the least price in the block. */
	if (state->block_references[block].count == 0)
		return;
	distance += state->prices[column] - block_exact_floor(state, block);
	if (distance < search->reached || distance >= search->best || (b->stamp == search->stamp && b->key <= distance))
		return;
	b->stamp = search->stamp;
	b->key = distance;
	b->parent_column = column;
	search_enqueue(search, block + NODE_BLOCK, distance);
}

/* `base`: distance and price of the list's owner. */
static void settle_references(struct structured *state, const struct reference_list *list, bool over_block,
			      int32_t base, int32_t column)
{
	int32_t near[SEARCH_SPAN];

	for (int32_t first = 0; first < list->count; first += SEARCH_SPAN) {
		const struct reference *items = list->items + first;
		int32_t count = near_references(items, least(list->count - first, SEARCH_SPAN), state->bids,
						state->search.best - base, near);

		for (int32_t i = 0; i < count; i++) {
			struct reference reference = items[near[i]];

			relax_group(state, reference.group, base + reference.cost - state->bids[reference.group],
				    over_block ? ~reference.cost : reference.cost, column);
		}
	}
	state->scans += (uint64_t)list->count;
}

static void settle_column(struct structured *state, int32_t column, int32_t distance)
{
	relax_block(state, column, distance);
	settle_references(state, &state->column_references[column], false, distance + state->prices[column], column);
}

static void settle_block(struct structured *state, int32_t block)
{
	const struct block *b = &state->blocks[block];

	settle_references(state, &state->block_references[block], true, b->key + b->floor, b->parent_column);
}

static void settle_group(struct structured *state, int32_t group, int32_t distance)
{
	const struct group *g = &state->groups[group];

	for (int32_t i = 0; i < g->share_count; i++) {
		const struct structured_share *share = &g->shares[i];

		relax_column(state, share->column, distance + g->price - share->cost - state->prices[share->column],
			     group, share->cost);
	}
	state->scans += (uint64_t)g->share_count;
}

const struct search_direction backward = {settle_group, settle_column, settle_block};

/* Least room on the way from the target to the slot that started the search, at most `units`. */
static int32_t path_room(const struct structured *state, const struct target *target, int32_t units)
{
	int32_t group = target->node, column = NONE;

	if (target->kind == TARGET_COLUMN)
		column = target->node;
	else if (target->kind == TARGET_UNSCHEDULED)
		units = least(units, state->groups[group].unscheduled_flow);
	else if (target->kind == TARGET_UNROUTED)
		units = least(units, state->groups[group].unrouted);
	else
		units = least(units, state->groups[group].pending);
	for (;;) {
		if (column != NONE) {
			const struct column *c = &state->columns[column];

			if (c->parent_group == NONE)
				return units;
			group = c->parent_group;
			units = least(units, flow_units(&state->groups[group], column, c->parent_arc));
		}
		const struct group *g = &state->groups[group];

		if (g->parent >= 0)
			units = least(units, arc_room_at(g, g->parent_column, g->parent));
		column = g->parent_column;
	}
}

static void target_leave(struct structured *state, const struct target *target, int32_t units)
{
	struct group *g = &state->groups[target->node];

	group_changed(state, target->node);
	if (target->kind == TARGET_UNSCHEDULED)
		g->unscheduled_flow -= units;
	else if (target->kind == TARGET_UNROUTED)
		g->unrouted -= units;
	else
		group_add_pending(state, target->node, -units);
}

/* Units along the path, from whoever lets go to the slots that started the search. */
static void path_apply(struct structured *state, const struct target *target, int32_t units)
{
	int32_t group = target->node, column = NONE;

	state->augmentations++;
	units = path_room(state, target, units);
	if (target->kind == TARGET_COLUMN) {
		column = target->node;
		column_free(state, column, units);
	} else {
		target_leave(state, target, units);
	}
	for (;;) {
		if (column != NONE) {
			if (state->columns[column].parent_group == NONE)
				break;
			group = state->columns[column].parent_group;
			flow_take(state, group, column, state->columns[column].parent_arc, units);
		}
		const struct group *g = &state->groups[group];

		column = g->parent_column;
		flow_add(state, group, column, g->parent < 0 ? ~g->parent : g->parent, units);
	}
	column_fill(state, column, units);
}

void backward_root(struct structured *state, int32_t group, int32_t distance)
{
	relax_group(state, group, distance, NONE, NONE);
}

static void root_column(struct structured *state, int32_t column)
{
	struct search *search = &state->search;

	state->columns[column].parent_group = NONE;
	state->column_labels[column] = search_label(search, 0);
	queue_push(&search->queue, column, 0);
}

static void hole_fill(struct structured *state, int32_t column)
{
	const int32_t *slots = &state->free_slots[column];

	while (*slots > 0 && state->capacities[column] > 0 && state->prices[column] > state->market_price &&
	       !state_halted(state)) {
		int32_t before = *slots;

		search_begin(state, FROM_HOLE, state->prices[column] - state->market_price);
		root_column(state, column);
		search_run(state, &backward);
		if (state_halted(state))
			return;
		search_move_prices(state, -1);
		if (state->search.target.node != NONE)
			path_apply(state, &state->search.target, *slots);
		state->stalled = *slots >= before && state->prices[column] > state->market_price;
	}
	state->exit_epoch += *slots > 0; /* its slots have come to be at the market's price */
}

void holes_fill(struct structured *state)
{
	for (int32_t i = 0; i < state->hole_list.count; i++) {
		int32_t column = state->hole_list.ids[i];

		state->column_lists[column] &= (uint8_t)~IN_HOLE_LIST;
		hole_fill(state, column);
	}
	state->hole_list.count = 0;
}
