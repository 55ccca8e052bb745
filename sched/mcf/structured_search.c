/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shortest paths in reduced costs from a group with excess (or from the market with units that no slot is left for) to
 * the nearest way to the sink: a free slot, the market, "unscheduled". Only nodes nearer than the target are settled,
 * and only their prices rise. Several targets at the same distance are gathered, as long as they are wanted and the
 * search for them costs no more than the search for the first did.
 */
#include "structured_priv.h"

enum { EFFORT_LEAST = 64 };

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

void search_begin(struct structured *state, int32_t source, int64_t need, int32_t limit)
{
	struct search *search = &state->search;

	queue_clear(&search->queue);
	if (++search->stamp == 0)
		forget_stamps(state);
	search->source = source;
	search->need = need;
	search->found = 0;
	search->best = limit;
	search->limit = limit;
	search->visited_count = 0;
	search->target_count = 0;
	state->searches++;
}

static void add_target(struct search *search, enum target_kind kind, int32_t node, int32_t distance, int64_t units)
{
	if (distance < search->best) {
		search->best = distance;
		search->target_count = 0;
		search->found = 0;
	}
	if (search->target_count < TARGETS_MAXIMUM) {
		search->targets[search->target_count++] = (struct target){kind, node};
		search->found += units;
	}
	search->limit = search->found >= search->need || search->target_count == TARGETS_MAXIMUM ? search->best
												 : search->best + 1;
}

/* A group's own ways to the sink. */
static void group_targets(struct structured *state, int32_t group, int32_t distance)
{
	struct search *search = &state->search;
	const struct group *g = &state->groups[group];
	int32_t base = distance - g->price;

	if (g->unscheduled_flow < g->unscheduled_capacity && base + g->unscheduled_cost < search->limit)
		add_target(search, TARGET_UNSCHEDULED, group, base + g->unscheduled_cost,
			   g->unscheduled_capacity - g->unscheduled_flow);
	if (search->source != NONE && g->aggregator_cost != STRUCTURED_NO_ARC &&
	    base + g->aggregator_cost + state->market_price < search->limit)
		add_target(search, TARGET_MARKET, group, base + g->aggregator_cost + state->market_price, INT32_MAX);
	if (base + UNROUTED_COST < search->limit)
		add_target(search, TARGET_UNROUTED, group, base + UNROUTED_COST, INT32_MAX);
}

static inline void relax_group(struct structured *state, int32_t group, int32_t distance, int32_t parent_arc)
{
	struct search *search = &state->search;
	struct group *g = &state->groups[group];

	if (distance >= search->limit || (g->stamp == search->stamp && g->distance <= distance))
		return;
	g->stamp = search->stamp;
	g->distance = distance;
	g->parent_arc = parent_arc;
	group_targets(state, group, distance);
	queue_push(&search->queue, ~group, distance);
}

static inline void relax_column(struct structured *state, int32_t column, int32_t distance, int32_t parent_group,
				int32_t parent_arc)
{
	struct search *search = &state->search;
	struct column *c = &state->columns[column];

	if (distance >= search->limit || (c->stamp == search->stamp && c->distance <= distance))
		return;
	c->stamp = search->stamp;
	c->distance = distance;
	c->parent_group = parent_group;
	c->parent_arc = parent_arc;
	if (c->free > 0)
		add_target(search, TARGET_COLUMN, column, distance, c->free);
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

	if (key >= search->limit || (b->stamp == search->stamp && b->distance <= distance + cost))
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

		if (base + arc->cost + state->market_price >= search->limit)
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

		if (node >= 0)
			state->columns[node].price += search->best - state->columns[node].distance;
		else
			state->groups[~node].price += search->best - state->groups[~node].distance;
	}
}

/* Settles nodes in order until the targets suffice; the caller has relaxed the first ones. */
static void search_run(struct structured *state)
{
	struct search *search = &state->search;
	uint64_t start = state->scans, effort = UINT64_MAX;
	int32_t node, key;

	while (queue_pop(&search->queue, &node, &key)) {
		if (key >= search->limit || state->scans > effort)
			break;
		if (key == search->best && effort == UINT64_MAX)
			effort = state->scans + (state->scans - start) + EFFORT_LEAST;
		if (node >= NODE_BLOCK) {
			if (state->blocks[node - NODE_BLOCK].key == key)
				settle_block(state, node - NODE_BLOCK);
		} else if (node >= 0) {
			if (state->columns[node].distance != key)
				continue;
			if (key < search->best)
				search->visited[search->visited_count++] = node;
			settle_column(state, node, key);
		} else {
			if (state->groups[~node].distance != key)
				continue;
			if (key < search->best)
				search->visited[search->visited_count++] = node;
			settle_group(state, ~node, key);
		}
	}
	raise_prices(state);
}

void search_group_forward(struct structured *state, int32_t group)
{
	search_begin(state, group, state->groups[group].excess, INT32_MAX);
	relax_group(state, group, 0, NONE);
	search_run(state);
}

/* From the aggregator: over every block, and back over the units that were sold but have no slot. */
void search_market_forward(struct structured *state)
{
	search_begin(state, NONE, state->total_pending - state->total_free, INT32_MAX);
	for (int32_t i = 0; i < state->pending_list.count; i++)
		if (state->groups[state->pending_list.ids[i]].pending > 0)
			relax_group(state, state->pending_list.ids[i], 0, NONE);
	for (int32_t block = 0; block < state->block_count; block++)
		if (state->blocks[block].member_count > 0)
			relax_block(state, block, 0, -state->market_price, NONE, NONE);
	search_run(state);
	state->market_price += state->search.best;
}

static bool group_is_root(const struct structured *state, int32_t group)
{
	return state->search.source == NONE ? state->groups[group].parent_arc == NONE : group == state->search.source;
}

/* Least room on the way back from the target. */
static int32_t path_room(const struct structured *state, const struct target *target, int32_t units)
{
	int32_t column = target->kind == TARGET_COLUMN ? target->node : NONE;
	int32_t group = target->node;

	if (column != NONE && state->columns[column].free < units)
		units = state->columns[column].free;
	if (target->kind == TARGET_UNSCHEDULED) {
		const struct group *g = &state->groups[group];

		if (g->unscheduled_capacity - g->unscheduled_flow < units)
			units = g->unscheduled_capacity - g->unscheduled_flow;
	}
	for (;;) {
		if (column == NONE) {
			if (group_is_root(state, group))
				return state->search.source == NONE && state->groups[group].pending < units
					       ? state->groups[group].pending
					       : units;
			const struct arc *arc = &state->groups[group].arcs[state->groups[group].parent_arc];

			units = arc->flow < units ? arc->flow : units;
			column = arc->target;
		}
		const struct column *c = &state->columns[column];

		if (c->parent_group == NONE)
			return units;
		if (c->parent_arc != NONE) {
			const struct arc *arc = &state->groups[c->parent_group].arcs[c->parent_arc];

			if (arc->target >= 0 && arc_room(arc) < units)
				units = arc_room(arc);
		}
		group = c->parent_group;
		column = NONE;
	}
}

static void path_apply(struct structured *state, const struct target *target, int32_t units)
{
	int32_t column = target->kind == TARGET_COLUMN ? target->node : NONE;
	int32_t group = target->node;

	for (;;) {
		if (column == NONE) {
			if (group_is_root(state, group)) {
				if (state->search.source == NONE)
					group_add_pending(state, group, -units);
				return;
			}
			int32_t taken = state->groups[group].parent_arc;

			column = state->groups[group].arcs[taken].target;
			flow_take(state, group, taken, units);
		}
		const struct column *c = &state->columns[column];
		int32_t arc = c->parent_arc;

		if (c->parent_group == NONE) {
			market_bind(state, column, units);
			return;
		}
		group = c->parent_group;
		if (state->groups[group].arcs[arc].target < 0)
			arc = flow_derived(state, group, column, state->groups[group].arcs[arc].cost);
		if (arc >= 0)
			flow_add(state, group, arc, units);
		column = NONE;
	}
}

/* Sends up to `units` along the found path; how many went. Paths found together may have used each other up. */
int32_t search_augment(struct structured *state, const struct target *target, int32_t units)
{
	units = path_room(state, target, units);
	if (units <= 0)
		return 0;
	state->augmentations++;
	if (target->kind == TARGET_COLUMN) {
		column_fill(state, target->node, units);
	} else {
		group_changed(state, target->node);
		if (target->kind == TARGET_UNSCHEDULED)
			state->groups[target->node].unscheduled_flow += units;
		else if (target->kind == TARGET_UNROUTED)
			state->groups[target->node].unrouted += units;
		else
			group_add_pending(state, target->node, units);
	}
	path_apply(state, target, units);
	return units;
}
