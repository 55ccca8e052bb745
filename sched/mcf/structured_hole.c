/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The opposite of a search for room: a slot came free on a column that has a price, so somebody would gain by moving
 * there. Shortest paths backward from the slot, to whoever gains most by letting go: a unit on a cheaper column, an
 * unscheduled or unrouted one, one that was sold to the market. The market takes the hole at its own price, so no
 * search goes farther than the difference. Prices of nodes nearer than that fall.
 */
#include "structured_priv.h"

static int32_t least(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

static void lower_best(struct search *search, enum target_kind kind, int32_t node, int32_t distance)
{
	if (distance >= search->best)
		return;
	search->best = distance;
	search->target = (struct target){kind, node, NONE};
}

/* Who of the group would gain by letting go. A leap counts them when the group is settled. */
static void group_targets(struct structured *state, int32_t group, int32_t distance)
{
	struct search *search = &state->search;
	const struct group *g = &state->groups[group];

	if (search->leap.wanted > 0)
		return;
	if (g->unscheduled_flow > 0)
		lower_best(search, TARGET_UNSCHEDULED, group, distance + g->price - g->unscheduled_cost);
	if (g->unrouted > 0)
		lower_best(search, TARGET_UNROUTED, group, distance + g->price - UNROUTED_COST);
	if (g->pending > 0)
		lower_best(search, TARGET_MARKET, group,
			   distance + g->price - g->aggregator_cost - state->market_price);
}

/* `arc`: own arc towards `column` that would get the unit, NONE for the aggregator's to the market. */
static inline void relax_group(struct structured *state, int32_t group, int32_t distance, int32_t arc, int32_t column)
{
	struct search *search = &state->search;
	struct group *g = &state->groups[group];

	if (distance >= search->best || (g->stamp == search->stamp && g->distance <= distance))
		return;
	g->stamp = search->stamp;
	g->distance = distance;
	g->parent_arc = arc;
	g->parent_column = column;
	group_targets(state, group, distance);
	queue_push(&search->queue, ~group, distance);
}

static inline void relax_column(struct structured *state, int32_t column, int32_t distance, int32_t group, int32_t arc)
{
	struct search *search = &state->search;
	struct column *c = &state->columns[column];

	if (distance >= search->best || (c->stamp == search->stamp && c->distance <= distance))
		return;
	c->stamp = search->stamp;
	c->distance = distance;
	c->parent_group = group;
	c->parent_arc = arc;
	if (search->source != NONE)
		lower_best(search, TARGET_COLUMN, column, distance + c->price - state->market_price);
	queue_push(&search->queue, column, distance);
}

static void relax_block(struct structured *state, int32_t column, int32_t distance)
{
	struct search *search = &state->search;
	const struct column *c = &state->columns[column];
	struct block *b = &state->blocks[c->block];

	/* Its groups' reduced costs count from the least price in the block. */
	if (state->block_references[c->block].count == 0)
		return;
	distance += c->price - block_exact_floor(state, c->block);
	if (distance >= search->best || (b->stamp == search->stamp && b->distance <= distance))
		return;
	b->stamp = search->stamp;
	b->distance = distance;
	b->parent_column = column;
	queue_push(&search->queue, c->block + NODE_BLOCK, distance);
}

/* Most references are too dear: they are told by the group's price alone, without a look at the arc. */
static void settle_references(struct structured *state, const struct reference_list *list, int32_t target, int32_t base,
			      int32_t column)
{
	for (int32_t i = 0; i < list->count; i++) {
		const struct reference reference = list->items[i];

		if (reference.group == NONE)
			continue;
		int32_t distance = base + reference.cost - state->bids[reference.group], arc;

		if (distance >= state->search.best)
			continue;
		const struct group *g = &state->groups[reference.group];

		if (g->stamp == state->search.stamp && g->distance <= distance)
			continue;
		arc = reference_arc(g, target, reference.cost);
		if (arc != NONE)
			relax_group(state, reference.group, distance, arc, column);
	}
	state->scans += (uint64_t)list->count;
}

static void settle_column(struct structured *state, int32_t column, int32_t distance)
{
	relax_block(state, column, distance);
	settle_references(state, &state->column_references[column], column, distance + state->columns[column].price,
			  column);
}

static void settle_group(struct structured *state, int32_t group, int32_t distance)
{
	const struct group *g = &state->groups[group];

	for (int32_t i = next_flow_arc(state, g, 0); i < g->arc_count; i = next_flow_arc(state, g, i + 1)) {
		const struct arc *arc = &g->arcs[i];

		relax_column(state, arc->target, distance + g->price - arc->cost - state->columns[arc->target].price,
			     group, i);
	}
	state->scans += (uint64_t)g->arc_count;
}

static void lower_prices(struct structured *state)
{
	struct search *search = &state->search;

	for (int32_t i = 0; i < search->visited_count; i++) {
		int32_t node = search->visited[i];

		if (node < 0) {
			struct group *g = &state->groups[~node];

			if (g->distance < search->best) {
				g->price -= search->best - g->distance;
				group_bid(state, ~node);
			}
			continue;
		}
		struct column *c = &state->columns[node];
		struct block *b = &state->blocks[c->block];

		if (c->distance >= search->best)
			continue;
		c->price -= search->best - c->distance;
		b->floor = c->price < b->floor ? c->price : b->floor;
	}
}

static void search_run(struct structured *state)
{
	struct search *search = &state->search;
	int32_t node, key;

	while (queue_pop(&search->queue, &node, &key)) {
		if (key >= search->best)
			break;
		if (node >= NODE_BLOCK) {
			int32_t block = node - NODE_BLOCK;
			const struct block *b = &state->blocks[block];

			if (b->distance == key)
				settle_references(state, &state->block_references[block], ~block, key + b->floor,
						  b->parent_column);
		} else if (node >= 0 && state->columns[node].distance == key) {
			search->visited[search->visited_count++] = node;
			settle_column(state, node, key);
		} else if (node < 0 && state->groups[~node].distance == key) {
			const struct group *g = &state->groups[~node];

			search->visited[search->visited_count++] = node;
			if (search->leap.wanted > 0)
				leap_note(search, key + g->price - g->unscheduled_cost, g->unscheduled_flow);
			settle_group(state, ~node, key);
		}
	}
	lower_prices(state);
}

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
			units = least(units, state->groups[group].arcs[c->parent_arc].flow);
		}
		const struct group *g = &state->groups[group];

		if (g->parent_column == NONE)
			return least(units, 1); /* a free slot is chosen when it is taken */
		if (g->parent_arc != NONE && g->arcs[g->parent_arc].target >= 0)
			units = least(units, arc_room(&g->arcs[g->parent_arc]));
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
			flow_take(state, group, state->columns[column].parent_arc, units);
		}
		const struct group *g = &state->groups[group];
		int32_t arc = g->parent_arc;

		column = g->parent_column == NONE ? market_free_column(state) : g->parent_column;
		if (arc == NONE)
			arc = flow_derived(state, group, column, g->aggregator_cost);
		else if (g->arcs[arc].target < 0)
			arc = flow_derived(state, group, column, g->arcs[arc].cost);
		if (arc >= 0)
			flow_add(state, group, arc, units);
		if (state->groups[group].parent_column == NONE)
			break;
	}
	column_fill(state, column, units);
}

void hole_fill(struct structured *state, int32_t column)
{
	const struct column *c = &state->columns[column];

	while (c->free > 0 && c->capacity > 0 && c->price > state->market_price && !state->no_memory) {
		search_begin(state, column, c->price - state->market_price);
		state->columns[column].parent_group = NONE;
		state->columns[column].stamp = state->search.stamp;
		state->columns[column].distance = 0;
		queue_push(&state->search.queue, column, 0);
		search_run(state);
		if (state->search.target.node != NONE)
			path_apply(state, &state->search.target, c->free);
	}
}

void holes_fill(struct structured *state)
{
	for (int32_t i = 0; i < state->hole_list.count; i++) {
		int32_t column = state->hole_list.ids[i];

		state->columns[column].in_hole_list = false;
		hole_fill(state, column);
	}
	state->hole_list.count = 0;
}

/*
 * More slots than units at a market price above 0: it falls until somebody takes a slot, or to 0. With `wanted`, until
 * that many would take one, who are left to structured_leap.c.
 */
void market_lower(struct structured *state, int64_t wanted, int32_t limit)
{
	struct search *search = &state->search;

	search_begin(state, NONE, limit);
	if (wanted > 0)
		leap_begin(state, wanted);
	for (int32_t i = 0; i < state->free_list.count; i++) {
		struct column *c = &state->columns[state->free_list.ids[i]];

		if (c->free == 0)
			continue;
		c->stamp = search->stamp;
		c->distance = 0;
		c->parent_group = NONE;
		queue_push(&search->queue, state->free_list.ids[i], 0);
	}
	for (int32_t group = 0; group < state->group_count; group++) {
		const struct group *g = &state->groups[group];

		if (g->exists && g->supply > 0 && g->aggregator_cost != STRUCTURED_NO_ARC)
			relax_group(state, group, g->aggregator_cost + state->market_price - g->price, NONE, NONE);
	}
	search_run(state);
	state->market_price -= search->best;
	if (search->target.node != NONE)
		path_apply(state, &search->target, 1);
}
