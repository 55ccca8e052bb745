/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shortest paths in reduced costs from a group with excess (or from the market with units that no slot is left for) to
 * the nearest way to the sink: a free slot, the market, "unscheduled". Only nodes nearer than the target are settled,
 * and only their prices rise. One path is used; what else the new prices make possible is the flood's
 * (structured_flood.c).
 */
#include "structured_priv.h"

/* The stamp has come round: marks of 2^32 searches ago would look fresh. */
static void forget_stamps(struct structured *state)
{
	for (int32_t i = 0; i < state->column_count; i++)
		state->columns[i].stamp = 0;
	for (int32_t i = 0; i < state->block_count; i++)
		state->blocks[i].stamp = 0;
	for (int32_t i = 0; i < state->group_count; i++)
		state->groups[i].stamp = 0;
	state->search.stamp = 1;
}

void search_begin(struct structured *state, int32_t source, int32_t limit)
{
	struct search *search = &state->search;

	queue_clear(&search->queue);
	if (++search->stamp == 0)
		forget_stamps(state);
	search->source = source;
	search->best = limit;
	search->visited_count = 0;
	search->leap.wanted = 0;
	search->target.node = NONE;
	state->searches++;
}

static void set_target(struct search *search, enum target_kind kind, int32_t node, int32_t arc, int32_t distance)
{
	if (distance >= search->best)
		return;
	search->best = distance;
	search->target = (struct target){kind, node, arc};
}

/* A column of the block with a free slot at the market's price, or NONE. */
int32_t block_exit(struct structured *state, int32_t block)
{
	struct block *b = &state->blocks[block];

	if (b->exit_epoch != state->exit_epoch) {
		b->exit_epoch = state->exit_epoch;
		b->exit_member = 0;
	}
	for (; b->exit_member < b->member_count; b->exit_member++) {
		const struct column *c = &state->columns[b->members[b->exit_member]];

		if (c->free > 0 && c->price == state->market_price)
			return b->members[b->exit_member];
	}
	return NONE;
}

/*
 * The group's cheapest arc to a free slot, if it costs less than `below`; *column is where. Free slots (but for holes)
 * all have the market's price, so it is the first arc with one; and slots only fill up while excess is pushed, so each
 * group looks at an arc once a round.
 */
int32_t group_exit(struct structured *state, int32_t group, int32_t below, int32_t *column)
{
	struct group *g = &state->groups[group];

	if (g->exit_epoch != state->exit_epoch) {
		g->exit_epoch = state->exit_epoch;
		g->exit_arc = 0;
	}
	for (; g->exit_arc < g->arc_fixed; g->exit_arc++) {
		const struct arc *arc = &g->arcs[g->exit_arc];

		if (arc->cost >= below)
			return NONE;
		*column = arc->target >= 0 ? arc->target : block_exit(state, ~arc->target);
		if (*column != NONE && state->columns[*column].free > 0 &&
		    state->columns[*column].price == state->market_price && arc_has_room(arc))
			return g->exit_arc;
	}
	return NONE;
}

/* A group's own ways to the sink, as soon as it is reached: the last layer of a search, the widest, is not expanded. */
static void group_targets(struct structured *state, int32_t group, int32_t distance, int32_t arc)
{
	struct search *search = &state->search;
	const struct group *g = &state->groups[group];
	int32_t base = distance - g->price, column, exit;

	if (search->leap.wanted > 0)
		return;
	if (g->unscheduled_flow < g->unscheduled_capacity)
		set_target(search, TARGET_UNSCHEDULED, group, arc, base + g->unscheduled_cost);
	set_target(search, TARGET_UNROUTED, group, arc, base + UNROUTED_COST);
	if (search->source == NONE)
		return;
	base += state->market_price;
	if (g->aggregator_cost != STRUCTURED_NO_ARC)
		set_target(search, TARGET_MARKET, group, arc, base + g->aggregator_cost);
	exit = group_exit(state, group, search->best - base, &column);
	if (exit != NONE)
		set_target(search, TARGET_SLOT, group, arc, base + g->arcs[exit].cost);
}

static inline void relax_group(struct structured *state, int32_t group, int32_t distance, int32_t parent_arc)
{
	struct search *search = &state->search;
	struct group *g = &state->groups[group];

	if (distance >= search->best || (g->stamp == search->stamp && g->distance <= distance))
		return;
	g->stamp = search->stamp;
	g->distance = distance;
	g->parent_arc = parent_arc;
	group_targets(state, group, distance, parent_arc);
	queue_push(&search->queue, ~group, distance);
}

static inline void relax_column(struct structured *state, int32_t column, int32_t distance, int32_t parent_group,
				int32_t parent_arc)
{
	struct search *search = &state->search;
	struct column *c = &state->columns[column];

	if (distance >= search->best || (c->stamp == search->stamp && c->distance <= distance))
		return;
	c->stamp = search->stamp;
	c->distance = distance;
	c->parent_group = parent_group;
	c->parent_arc = parent_arc;
	if (c->free > 0)
		set_target(search, TARGET_COLUMN, column, NONE, distance);
	else
		queue_push(&search->queue, column, distance);
}

/*
 * `distance` of the block's tail and the arc's `cost` in excess of the tail's price. A floor may be lower than every
 * price in the block, which makes the arc look better than it can be; no node comes before its tail.
 */
static void relax_block(struct structured *state, int32_t block, int32_t distance, int32_t cost, int32_t parent_group,
			int32_t parent_arc)
{
	struct search *search = &state->search;
	struct block *b = &state->blocks[block];
	int32_t floor = b->floor > state->market_price ? b->floor : state->market_price;
	int32_t key = cost + floor > 0 ? distance + cost + floor : distance;

	if (key >= search->best || (b->stamp == search->stamp && b->distance <= distance + cost))
		return;
	b->stamp = search->stamp;
	b->distance = distance + cost;
	b->key = key;
	b->parent_group = parent_group;
	b->parent_arc = parent_arc;
	queue_push(&search->queue, block + NODE_BLOCK, key);
}

static void settle_group(struct structured *state, int32_t group, int32_t distance)
{
	struct search *search = &state->search;
	const struct group *g = &state->groups[group];
	int32_t base = distance - g->price, i = 0;

	for (; i < g->arc_fixed; i++) {
		const struct arc *arc = &g->arcs[i];

		if (base + arc->cost + state->market_price >= search->best)
			break;
		if (arc->target < 0)
			relax_block(state, ~arc->target, distance, arc->cost - g->price, group, i);
		else if (arc_has_room(arc))
			relax_column(state, arc->target, base + arc->cost + state->columns[arc->target].price, group,
				     i);
	}
	state->scans += (uint64_t)i;
}

static void settle_column(struct structured *state, int32_t column, int32_t distance)
{
	const struct column *c = &state->columns[column];
	int32_t base = distance - c->price;

	for (int32_t i = 0; i < c->entry_count; i++) {
		const struct entry *entry = &c->entries[i];

		relax_group(state, entry->group, base - entry->cost + state->groups[entry->group].price, entry->arc);
	}
	state->scans += (uint64_t)c->entry_count;
}

/* Looks at every column of the block, so the floor becomes exact for free. */
static void settle_block(struct structured *state, int32_t block)
{
	struct block *b = &state->blocks[block];
	int32_t base = b->distance, floor = PRICE_CLOSED;

	for (int32_t i = 0; i < b->member_count; i++) {
		int32_t price = state->columns[b->members[i]].price;

		floor = price < floor ? price : floor;
		relax_column(state, b->members[i], base + price, b->parent_group, b->parent_arc);
	}
	b->floor = floor;
	state->scans += (uint64_t)b->member_count;
}

static void raise_prices(struct structured *state)
{
	struct search *search = &state->search;

	for (int32_t i = 0; i < search->visited_count; i++) {
		int32_t node = search->visited[i];

		int32_t distance = node >= 0 ? state->columns[node].distance : state->groups[~node].distance;

		if (distance >= search->best)
			continue;
		if (node >= 0) {
			state->columns[node].price += search->best - distance;
			continue;
		}
		state->groups[~node].price += search->best - distance;
		group_bid(state, ~node);
	}
}

/* Settles nodes in order up to the target; the caller has relaxed the first ones. */
static void search_run(struct structured *state)
{
	struct search *search = &state->search;
	int32_t node, key;

	while (queue_pop(&search->queue, &node, &key)) {
		if (key >= search->best)
			break;
		if (node >= NODE_BLOCK) {
			if (state->blocks[node - NODE_BLOCK].key == key)
				settle_block(state, node - NODE_BLOCK);
		} else if (node >= 0) {
			if (state->columns[node].distance != key)
				continue;
			search->visited[search->visited_count++] = node;
			settle_column(state, node, key);
		} else {
			if (state->groups[~node].distance != key)
				continue;
			search->visited[search->visited_count++] = node;
			if (search->leap.wanted > 0)
				leap_note_group(state, ~node, key);
			settle_group(state, ~node, key);
		}
	}
	if (search->leap.wanted > 0)
		leap_last_exit(search);
	raise_prices(state);
}

void search_group_forward(struct structured *state, int32_t group)
{
	search_begin(state, group, INT32_MAX);
	relax_group(state, group, 0, NONE);
	search_run(state);
}

/*
 * From the aggregator: over every block, and back over the units that were sold but have no slot. With `wanted`, to
 * where that many units have a way out (structured_leap.c).
 */
void search_market_forward(struct structured *state, int64_t wanted, int32_t limit)
{
	search_begin(state, NONE, limit);
	if (wanted > 0)
		leap_begin(state, wanted);
	for (int32_t i = 0; i < state->pending_list.count; i++)
		if (state->groups[state->pending_list.ids[i]].pending > 0)
			relax_group(state, state->pending_list.ids[i], 0, NONE);
	for (int32_t block = 0; block < state->block_count; block++)
		if (state->blocks[block].member_count > 0)
			relax_block(state, block, 0, -state->market_price, NONE, NONE);
	search_run(state);
	state->market_price += state->search.best;
}

static int32_t least(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

/* Least room on the way back, at most `units`. */
static int32_t path_room(const struct structured *state, const struct target *target, int32_t units)
{
	int32_t group = target->node, arc = target->arc;

	if (target->kind == TARGET_UNSCHEDULED)
		units = least(units, state->groups[group].unscheduled_capacity - state->groups[group].unscheduled_flow);
	if (target->kind == TARGET_COLUMN) {
		const struct column *c = &state->columns[target->node];

		units = least(units, c->free);
		if (c->parent_group == NONE)
			return units;
		arc = c->parent_arc;
		group = c->parent_group;
		if (arc != NONE && state->groups[group].arcs[arc].target >= 0)
			units = least(units, arc_room(&state->groups[group].arcs[arc]));
		arc = state->groups[group].parent_arc;
	}
	while (arc != NONE) {
		const struct arc *taken = &state->groups[group].arcs[arc];
		const struct column *c = &state->columns[taken->target];

		units = least(units, taken->flow);
		if (c->parent_group == NONE)
			return units;
		group = c->parent_group;
		const struct arc *given = &state->groups[group].arcs[c->parent_arc];

		if (given->target >= 0)
			units = least(units, arc_room(given));
		arc = state->groups[group].parent_arc;
	}
	return state->search.source == NONE ? least(units, state->groups[group].pending) : units;
}

/* `group`, which has got rid of `units` of its `arc` (NONE: of its excess), takes them off; and so on to the root. */
static void path_apply(struct structured *state, int32_t group, int32_t arc, int32_t units)
{
	while (arc != NONE) {
		int32_t column = state->groups[group].arcs[arc].target;

		flow_take(state, group, arc, units);
		const struct column *c = &state->columns[column];

		if (c->parent_group == NONE) {
			market_bind(state, column, units);
			return;
		}
		group = c->parent_group;
		flow_give(state, group, c->parent_arc, column, units);
		arc = state->groups[group].parent_arc;
	}
	if (state->search.source == NONE)
		group_add_pending(state, group, -units);
}

/* One unit or more to a free slot; slots of several columns may be needed. */
static int32_t augment_slots(struct structured *state, const struct target *target, int32_t units)
{
	const struct group *g = &state->groups[target->node];
	int32_t sent = 0, column;

	while (sent < units) {
		int32_t room = path_room(state, target, units - sent);
		int32_t exit =
			room > 0 ? group_exit(state, target->node, g->price - state->market_price + 1, &column) : NONE;

		if (exit == NONE)
			break;
		room = least(room, state->columns[column].free);
		room = least(room, arc_room(&g->arcs[exit]));
		column_fill(state, column, room);
		path_apply(state, target->node, target->arc, room);
		flow_give(state, target->node, exit, column, room);
		sent += room;
	}
	return sent;
}

/* Sends up to `units` along the found path; how many went, at least one. */
int32_t search_augment(struct structured *state, int32_t units)
{
	const struct target *target = &state->search.target;
	int32_t node = target->node;

	state->augmentations++;
	if (target->kind == TARGET_SLOT)
		return augment_slots(state, target, units);
	units = path_room(state, target, units);
	if (units <= 0)
		return 0;
	if (target->kind == TARGET_COLUMN) {
		const struct column *c = &state->columns[node];
		int32_t group = c->parent_group;

		column_fill(state, node, units);
		if (group == NONE) {
			market_bind(state, node, units);
			return units;
		}
		flow_give(state, group, c->parent_arc, node, units);
		path_apply(state, group, state->groups[group].parent_arc, units);
		return units;
	}
	group_changed(state, node);
	if (target->kind == TARGET_UNSCHEDULED)
		state->groups[node].unscheduled_flow += units;
	else if (target->kind == TARGET_UNROUTED)
		state->groups[node].unrouted += units;
	else
		group_add_pending(state, node, units);
	path_apply(state, node, target->arc, units);
	return units;
}
