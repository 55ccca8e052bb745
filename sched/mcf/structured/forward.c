/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forward: from a group with excess (or from the market with units that no slot is left for) to the nearest way to the
 * sink: a free slot, the market, "unscheduled". One path is used; what else the new prices make possible is the flood's
 * (flood.c).
 */
#include "structured_search.h"

/* What waits at the group for its price. */
static int32_t *waiting_at(struct group *group)
{
	return group->price == UNROUTED_COST ? &group->unrouted : &group->unscheduled_flow;
}

/* Where a unit that waits elsewhere would come to a slot at the market's price. */
static void market_targets(struct structured *state, int32_t group, int32_t distance)
{
	const struct search *search = &state->search;
	const struct group *g = &state->groups[group];
	int32_t base = distance - g->price + state->market_price, best = search->best, column;

	if (g->aggregator_cost != ARC_ABSENT)
		best = least(best, base + g->aggregator_cost);
	int32_t exit = group_exit(state, group, best - base, &column);

	if (exit != NONE)
		best = base + g->arcs[exit].cost;
	market_meet(state, group, best);
}

/* A group's own ways to the sink, as soon as it is reached: the last layer of a search, the widest, is not expanded. */
static void group_targets(struct structured *state, int32_t group, int32_t distance)
{
	struct search *search = &state->search;
	const struct group *g = &state->groups[group];
	int32_t base = distance - g->price, column, exit;

	if (search->source == FROM_WAITING) {
		market_targets(state, group, distance);
		return;
	}
	if (g->unscheduled_flow < g->unscheduled_capacity)
		search_target(search, TARGET_UNSCHEDULED, group, base + g->unscheduled_cost);
	search_target(search, TARGET_UNROUTED, group, base + UNROUTED_COST);
	base += state->market_price;
	if (g->aggregator_cost != ARC_ABSENT)
		search_target(search, TARGET_MARKET, group, base + g->aggregator_cost);
	exit = group_exit(state, group, search->best - base, &column);
	if (exit != NONE)
		search_target(search, TARGET_SLOT, group, base + g->arcs[exit].cost);
}

/* `column` and `cost`: the share that would be taken back, or NONE. */
static void relax_group(struct structured *state, int32_t group, int32_t distance, int32_t column, int32_t cost)
{
	struct search *search = &state->search;

	if (!search_improves(search, distance, state->group_labels[group]))
		return;
	state->group_labels[group] = search_label(search, distance);
	state->groups[group].parent = cost;
	state->groups[group].parent_column = column;
	search_fetch(state->groups[group].arcs);
	group_targets(state, group, distance);
	queue_push(&search->queue, ~group, distance);
}

static inline void relax_column(struct structured *state, int32_t column, int32_t distance, int32_t parent_group,
				int32_t parent_arc)
{
	struct search *search = &state->search;
	struct column *c = &state->columns[column];

	if (!search_improves(search, distance, state->column_labels[column]))
		return;
	state->column_labels[column] = search_label(search, distance);
	c->parent_group = parent_group;
	c->parent_arc = parent_arc;
	if (state->free_slots[column] > 0) {
		if (search->source == FROM_GROUP || search->source == FROM_EXCESS)
			search_target(search, TARGET_COLUMN, column, distance);
	} else {
		search_fetch(c->entries);
		queue_push(&search->queue, column, distance);
	}
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
	const struct group *g = &state->groups[group];
	struct near_scope scope = {.prices = state->prices,
				   .labels = state->column_labels,
				   .era = state->search.era,
				   .base = distance - g->price,
				   .market_price = state->market_price};
	int32_t near[SEARCH_SPAN], seen, span;

	for (int32_t first = 0; first < g->arc_count; first += SEARCH_SPAN) {
		span = least(g->arc_count - first, SEARCH_SPAN);
		scope.below = state->search.best;
		int32_t count = near_arcs(g->arcs + first, span, &scope, near, &seen);

		for (int32_t i = 0; i < count; i++) {
			const struct arc *arc = &g->arcs[first + near[i]];

			if (arc->target < 0)
				relax_block(state, ~arc->target, distance, arc->cost - g->price, group,
					    first + near[i]);
			else if (arc_has_room(g, first + near[i]))
				relax_column(state, arc->target, scope.base + arc->cost + state->prices[arc->target],
					     group, first + near[i]);
		}
		state->scans += (uint64_t)seen;
		if (seen < span)
			break;
	}
}

static void settle_column(struct structured *state, int32_t column, int32_t distance)
{
	const struct search *search = &state->search;
	const struct column *c = &state->columns[column];
	int32_t base = distance - state->prices[column], near[SEARCH_SPAN];

	for (int32_t first = 0; first < c->entry_count; first += SEARCH_SPAN) {
		int32_t end = least(c->entry_count, first + SEARCH_SPAN), count = 0;

		for (int32_t i = first; i < end; i++) {
			const struct entry *entry = &c->entries[i];
			int32_t reached = base - entry->cost + state->bids[entry->group];

			near[count] = i;
			count += (reached < search->best) &
				 (search_label(search, reached) < state->group_labels[entry->group]);
		}
		for (int32_t i = 0; i < count; i++) {
			const struct entry *entry = &c->entries[near[i]];

			relax_group(state, entry->group, base - entry->cost + state->bids[entry->group], column,
				    entry->cost);
		}
	}
	state->scans += (uint64_t)c->entry_count;
}

/* Looks at every column of the block, so the floor becomes exact for free. */
static void settle_block(struct structured *state, int32_t block)
{
	const struct search *search = &state->search;
	struct block *b = &state->blocks[block];
	int32_t base = b->distance, floor = PRICE_CLOSED, near[SEARCH_SPAN];

	for (int32_t first = 0; first < b->member_count; first += SEARCH_SPAN) {
		int32_t end = least(b->member_count, first + SEARCH_SPAN), count = 0;

		for (int32_t i = first; i < end; i++) {
			int32_t column = b->members[i], price = state->prices[column];

			floor = least(floor, price);
			near[count] = column;
			count += (base + price < search->best) &
				 (search_label(search, base + price) < state->column_labels[column]);
		}
		for (int32_t i = 0; i < count; i++)
			relax_column(state, near[i], base + state->prices[near[i]], b->parent_group, b->parent_arc);
	}
	b->floor = floor;
	state->scans += (uint64_t)b->member_count;
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

/* From all units that wait, to wherever one of them would first come to a slot at the market's price. */
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

/* Units at a group that started the search among others; NULL: it was the only one, and the caller counts them. */
static int32_t *root_units(const struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];

	if (state->search.source == FROM_EXCESS)
		return &g->excess;
	return state->search.source == FROM_WAITING ? waiting_at(g) : NULL;
}

static int32_t root_room(const struct structured *state, int32_t group)
{
	const int32_t *units = root_units(state, group);

	return units ? *units : INT32_MAX;
}

/* Least room on the way back, at most `units`. */
static int32_t path_room(const struct structured *state, const struct target *target, int32_t units)
{
	int32_t column = target->node, group = target->node;

	if (target->kind == TARGET_UNSCHEDULED)
		units = least(units, state->groups[group].unscheduled_capacity - state->groups[group].unscheduled_flow);
	if (target->kind == TARGET_COLUMN)
		units = least(units, state->free_slots[column]);
	else
		column = NONE;
	for (;;) {
		if (column != NONE) {
			const struct column *c = &state->columns[column];

			if (c->parent_group == NONE)
				return units;
			group = c->parent_group;
			if (c->parent_arc != NONE && state->groups[group].arcs[c->parent_arc].target >= 0)
				units = least(units, arc_room(&state->groups[group], c->parent_arc));
		}
		const struct group *g = &state->groups[group];

		column = g->parent_column;
		if (column == NONE)
			return least(units, root_room(state, group));
		units = least(units, flow_units(g, column, g->parent));
	}
}

/* `group`, which has got rid of `units`, takes them off its share on the path or off its excess; so on to the root. */
static void path_apply(struct structured *state, int32_t group, int32_t units)
{
	for (;;) {
		const struct group *g = &state->groups[group];
		int32_t column = g->parent_column;

		if (column == NONE)
			break;
		flow_take(state, group, column, g->parent, units);
		const struct column *c = &state->columns[column];

		if (c->parent_group == NONE) {
			market_bind(state, column, units);
			return;
		}
		group = c->parent_group;
		flow_add(state, group, column, state->groups[group].arcs[c->parent_arc].cost, units);
	}
	int32_t *left = root_units(state, group);

	if (!left)
		return;
	*left -= units;
	group_changed(state, group);
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
		room = least(room, state->free_slots[column]);
		room = least(room, arc_room(g, exit));
		column_fill(state, column, room);
		path_apply(state, target->node, room);
		flow_add(state, target->node, column, g->arcs[exit].cost, room);
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
		flow_add(state, group, node, state->groups[group].arcs[c->parent_arc].cost, units);
		path_apply(state, group, units);
		return units;
	}
	group_changed(state, node);
	if (target->kind == TARGET_UNSCHEDULED)
		state->groups[node].unscheduled_flow += units;
	else if (target->kind == TARGET_UNROUTED)
		state->groups[node].unrouted += units;
	else
		group_add_pending(state, node, units);
	path_apply(state, node, units);
	return units;
}

/*
 * Where the last search has had the market and those that wait meet, if it still is on the way: units go along that
 * path, how many is returned.
 */
int32_t meeting_augment(struct structured *state, int32_t group, int32_t units)
{
	struct search *search = &state->search;
	const struct group *g = &state->groups[group];
	enum target_kind kind = TARGET_SLOT;

	if (state->group_labels[group] > search_label(search, search->best))
		return 0;
	if (g->aggregator_cost != ARC_ABSENT && g->aggregator_cost + state->market_price == g->price)
		kind = TARGET_MARKET;
	search->target = (struct target){kind, group};
	return search_augment(state, units);
}
