/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Units on columns, and the queues and lists that depend on them. A column's entries and the shares of its groups
 * describe the same flow from both sides: an entry exists exactly while the share of its column and cost has units.
 */
#include <string.h>

#include "structured_priv.h"

static void entry_add(struct structured *state, int32_t group, int32_t number, int32_t cost)
{
	struct column *column = &state->columns[number];

	if (column->entry_count == state->entry_allocated[number]) {
		int32_t slots = state->capacities[number];
		int32_t needed = column->entry_count ? column->entry_count + 1 : slots < 10 ? slots : 10;
		struct entry *entries = items_grow(state, column->entries, &state->entry_allocated[number],
						   needed < 2 ? 2 : needed, sizeof(*entries));

		if (!entries) {
			state->no_memory = true;
			return;
		}
		column->entries = entries;
	}
	column->entries[column->entry_count++] = (struct entry){group, cost};
}

static void entry_drop(struct column *column, int32_t group, int32_t cost)
{
	for (int32_t i = 0; i < column->entry_count; i++) {
		if (column->entries[i].group == group && column->entries[i].cost == cost) {
			column->entries[i] = column->entries[--column->entry_count];
			return;
		}
	}
}

void group_changed(struct structured *state, int32_t group)
{
	if (state->groups[group].in_changed_list)
		return;
	state->groups[group].in_changed_list = true;
	list_push(state, &state->changed_list, group);
}

void group_waits(struct structured *state, int32_t group)
{
	group_changed(state, group);
	if (state->groups[group].in_waiting_list)
		return;
	state->groups[group].in_waiting_list = true;
	list_push(state, &state->waiting_list, group);
}

/*
 * Returns the index of the share with this column and cost; if there is none, that of the first share that sorts after
 * it.
 */
static int32_t share_place(const struct group *g, int32_t column, int32_t cost)
{
	int32_t low = 0, high = g->share_count;

	while (low < high) {
		int32_t middle = low + (high - low) / 2;
		const struct structured_share *share = &g->shares[middle];

		if (share->column < column || (share->column == column && share->cost < cost))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool share_is(const struct group *g, int32_t place, int32_t column, int32_t cost)
{
	return place < g->share_count && g->shares[place].column == column && g->shares[place].cost == cost;
}

int32_t flow_units(const struct group *group, int32_t column, int32_t cost)
{
	int32_t place = share_place(group, column, cost);

	return share_is(group, place, column, cost) ? group->shares[place].units : 0;
}

int32_t flow_units_on(const struct group *group, int32_t column)
{
	int32_t units = 0;

	for (int32_t i = share_place(group, column, 0); i < group->share_count && group->shares[i].column == column;
	     i++)
		units += group->shares[i].units;
	return units;
}

static void share_add(struct structured *state, struct group *g, int32_t place, int32_t column, int32_t cost)
{
	struct structured_share *shares =
		items_grow(state, g->shares, &allocated_of(state, g)->shares, g->share_count + 1, sizeof(*shares));

	if (!shares) {
		state->no_memory = true;
		return;
	}
	g->shares = shares;
	memmove(shares + place + 1, shares + place, (size_t)(g->share_count - place) * sizeof(*shares));
	shares[place] = (struct structured_share){.column = column, .cost = cost};
	g->share_count++;
}

static void limited_flow(struct structured *state, int32_t group, int32_t column, int32_t cost, int32_t units)
{
	const struct group *g = &state->groups[group];
	int32_t place = limited_find(g, column, cost);

	if (place != NONE)
		limited_change(state, group, place, units, 0);
}

void flow_add(struct structured *state, int32_t group, int32_t column, int32_t cost, int32_t units)
{
	struct group *g = &state->groups[group];
	int32_t place = share_place(g, column, cost);

	if (!share_is(g, place, column, cost)) {
		entry_add(state, group, column, cost);
		share_add(state, g, place, column, cost);
		if (state->no_memory)
			return;
	}
	g->shares[place].units += units;
	limited_flow(state, group, column, cost, units);
	state->column_cost += (int64_t)units * cost;
	group_changed(state, group);
}

/* The share must have at least `units` units. */
void flow_take(struct structured *state, int32_t group, int32_t column, int32_t cost, int32_t units)
{
	struct group *g = &state->groups[group];
	int32_t place = share_place(g, column, cost);

	group_changed(state, group);
	g->shares[place].units -= units;
	limited_flow(state, group, column, cost, -units);
	state->column_cost -= (int64_t)units * cost;
	if (g->shares[place].units > 0)
		return;
	entry_drop(&state->columns[column], group, cost);
	g->share_count--;
	memmove(g->shares + place, g->shares + place + 1, (size_t)(g->share_count - place) * sizeof(*g->shares));
}

void flow_detach(struct structured *state, int32_t group, int32_t place, int32_t *count)
{
	struct structured_share *share = &state->groups[group].shares[place];

	state->scratch.detached[(*count)++] = *share;
	group_changed(state, group);
	state->column_cost -= (int64_t)share->units * share->cost;
	share->units = -share->units;
}

/* Reuses the group's detached share at this index for `units` units at another cost. */
static void share_reuse(struct structured *state, int32_t group, int32_t place, int32_t cost, int32_t units,
			int32_t limited)
{
	struct structured_share *share = &state->groups[group].shares[place];
	struct column *column = &state->columns[share->column];
	int32_t i = 0;

	while (column->entries[i].group != group || column->entries[i].cost != share->cost)
		i++;
	column->entries[i].cost = cost;
	share->cost = cost;
	share->units = units;
	if (limited != NONE)
		limited_change(state, group, limited, units, 0);
	state->column_cost += (int64_t)units * cost;
}

void flow_attach(struct structured *state, int32_t group, int32_t column, int32_t cost, int32_t units, int32_t limited)
{
	const struct group *g = &state->groups[group];
	int32_t place = share_place(g, column, 0);

	while (place < g->share_count && g->shares[place].column == column && g->shares[place].units > 0)
		place++;
	if (place < g->share_count && g->shares[place].column == column)
		share_reuse(state, group, place, cost, units, limited);
	else
		flow_add(state, group, column, cost, units);
}

void flow_drop_detached(struct structured *state, int32_t group)
{
	struct group *g = &state->groups[group];
	int32_t kept = 0;

	for (int32_t i = 0; i < g->share_count; i++) {
		struct structured_share share = g->shares[i];

		g->shares[kept] = share;
		if (share.units > 0)
			kept++;
		else
			entry_drop(&state->columns[share.column], group, share.cost);
	}
	g->share_count = kept;
}

void column_free(struct structured *state, int32_t column, int32_t units)
{
	uint8_t *lists = &state->column_lists[column];

	state->free_slots[column] += units;
	state->total_free += units;
	if (state->free_slots[column] == 0)
		return;
	state->slot_epoch++;
	if (!(*lists & IN_FREE_LIST)) {
		*lists |= IN_FREE_LIST;
		list_push(state, &state->free_list, column);
	}
	if (state->prices[column] > state->aggregator_price && !(*lists & IN_DEFICIT_LIST)) {
		*lists |= IN_DEFICIT_LIST;
		list_push(state, &state->deficit_list, column);
	}
}

void column_fill(struct structured *state, int32_t column, int32_t units)
{
	state->free_slots[column] -= units;
	state->total_free -= units;
}

void group_add_excess(struct structured *state, int32_t group, int32_t units)
{
	struct group *g = &state->groups[group];

	g->excess += units;
	if (units > 0 && !g->in_excess_list) {
		g->in_excess_list = true;
		list_push(state, &state->excess_list, group);
	}
}

void group_add_deferred(struct structured *state, int32_t group, int32_t units)
{
	struct group *g = &state->groups[group];

	g->deferred += units;
	state->total_deferred += units;
	if (units > 0 && !g->in_deferred_list) {
		g->in_deferred_list = true;
		list_push(state, &state->deferred_list, group);
	}
}

void flow_bind(struct structured *state, int32_t column, int32_t units)
{
	struct id_list *list = &state->deferred_list;

	while (units > 0 && list->count > 0) {
		int32_t group = list->ids[list->count - 1];
		struct group *g = &state->groups[group];
		int32_t taken = g->deferred < units ? g->deferred : units;

		if (taken > 0) {
			group_add_deferred(state, group, -taken);
			flow_add(state, group, column, g->aggregator_cost, taken);
			units -= taken;
		}
		if (g->deferred == 0) {
			g->in_deferred_list = false;
			list->count--;
		}
	}
}

int32_t group_waiting_cost(const struct group *g)
{
	return g->unscheduled_flow < g->unscheduled_capacity ? g->unscheduled_cost : UNROUTED_COST;
}

int32_t group_waiting_capacity(const struct group *g, int32_t units)
{
	if (group_waiting_cost(g) != g->price)
		return 0;
	return g->price == UNROUTED_COST ? units : least(units, g->unscheduled_capacity - g->unscheduled_flow);
}

int32_t group_wait(struct structured *state, int32_t group, int32_t units)
{
	struct group *g = &state->groups[group];

	units = group_waiting_capacity(g, units);
	if (units == 0)
		return 0;
	*(g->price == UNROUTED_COST ? &g->unrouted : &g->unscheduled_flow) += units;
	group_waits(state, group);
	return units;
}

/*
 * Limited arcs: finds one, returns its capacity or residual capacity, and changes its flow or capacity. See group.c.
 */

int32_t limited_find(const struct group *group, int32_t column, int32_t cost)
{
	int32_t low = 0, high = group->limited_count;

	while (low < high) {
		int32_t middle = low + (high - low) / 2;
		const struct running *running = &group->running[middle];

		if (running->cost < cost || (running->cost == cost && running->column < column))
			low = middle + 1;
		else
			high = middle;
	}
	return low < group->limited_count && group->running[low].column == column && group->running[low].cost == cost
		       ? low
		       : NONE;
}

int32_t arc_capacity(const struct group *group, int32_t target, int32_t cost)
{
	int32_t place = limited_find(group, target, cost);

	return place == NONE ? INT32_MAX : group->running[place].units;
}

/*
 * Units that use a block or the aggregator at the same cost count as units on this arc, so the result may be too small.
 */
int32_t arc_residual_at(const struct group *group, int32_t target, int32_t cost)
{
	int32_t place = limited_find(group, target, cost);

	if (place == NONE)
		return INT32_MAX;
	int32_t room = group->running[place].units - group->running[place].flow;

	return room > 0 ? room : 0;
}

void limited_change(struct structured *state, int32_t group, int32_t place, int32_t flow, int32_t units)
{
	struct group *g = &state->groups[group];
	struct running *running = &g->running[place];
	bool was_full = running->flow >= running->units, full;

	running->flow += flow;
	running->units += units;
	full = running->flow >= running->units;
	if (full == was_full)
		return;
	struct link *link = &g->links[running->arc];

	link->full = full;
	if (state->referenced)
		state->column_references[running->column].items[link->place].cost =
			full ? REFERENCE_FULL : running->cost;
}

/*
 * Finds arcs to free slots, and the floors of blocks. All free slots except deficits have the aggregator's price, so
 * the best slot of a group is that of its cheapest arc with a free slot. While excess is pushed, slots are only filled:
 * so the cursors slot_arc and slot_member only advance, and pass each arc and member once per solve.
 */

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
