/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Units on arcs, and the lists of those who must hear of it. A column's entries and the arcs of its groups say the same
 * from both sides: an entry exists exactly while its arc carries flow.
 */
#include "structured_priv.h"

static void entry_add(struct structured *state, int32_t group, int32_t arc)
{
	const struct arc *a = &state->groups[group].arcs[arc];
	struct column *column = &state->columns[a->target];

	if (column->entry_count == column->entry_room) {
		int32_t needed = column->entry_count     ? column->entry_count + 1
				 : column->capacity < 10 ? column->capacity
							 : 10;
		struct entry *entries = arena_grow(&state->arena, column->entries, &column->entry_room,
						   column->entry_count, needed < 2 ? 2 : needed, sizeof(*entries));

		if (!entries) {
			state->no_memory = true;
			return;
		}
		column->entries = entries;
	}
	column->entries[column->entry_count++] = (struct entry){group, arc, a->cost};
}

static int32_t entry_find(const struct column *column, int32_t group, int32_t arc)
{
	for (int32_t i = 0; i < column->entry_count; i++)
		if (column->entries[i].group == group && column->entries[i].arc == arc)
			return i;
	return NONE;
}

void group_changed(struct structured *state, int32_t group)
{
	if (state->groups[group].in_changed_list)
		return;
	state->groups[group].in_changed_list = true;
	list_push(state, &state->changed_list, group);
}

static void share_add(struct structured *state, struct group *g, int32_t arc)
{
	if (g->share_count == g->share_room) {
		struct share *shares = arena_grow(&state->arena, g->shares, &g->share_room, g->share_count,
						  g->share_count + 1, sizeof(*shares));

		if (!shares) {
			state->no_memory = true;
			return;
		}
		g->shares = shares;
	}
	g->uses[arc].place = g->share_count;
	g->shares[g->share_count++] = (struct share){arc, g->arcs[arc].target, g->arcs[arc].cost};
}

static void share_drop(struct group *g, int32_t arc)
{
	int32_t place = g->uses[arc].place;

	g->shares[place] = g->shares[--g->share_count];
	g->uses[g->shares[place].arc].place = place;
}

void flow_add(struct structured *state, int32_t group, int32_t arc, int32_t units)
{
	struct group *g = &state->groups[group];

	if (g->uses[arc].flow == 0) {
		entry_add(state, group, arc);
		share_add(state, g, arc);
		g->dead -= arc >= g->arc_fixed;
	}
	g->uses[arc].flow += units;
	state->column_cost += (int64_t)units * g->arcs[arc].cost;
	group_changed(state, group);
}

void flow_take(struct structured *state, int32_t group, int32_t arc, int32_t units)
{
	struct group *g = &state->groups[group];
	struct column *column = &state->columns[g->arcs[arc].target];

	group_changed(state, group);
	g->uses[arc].flow -= units;
	state->column_cost -= (int64_t)units * g->arcs[arc].cost;
	if (g->uses[arc].flow > 0)
		return;
	int32_t place = entry_find(column, group, arc);

	if (place >= 0)
		column->entries[place] = column->entries[--column->entry_count];
	share_drop(g, arc);
	if (arc >= g->arc_fixed && g->dead++ == 0)
		list_push(state, &state->dead_list, group);
}

/* Room for `needed` arcs, of which the first `used` are kept. */
bool group_reserve_arcs(struct structured *state, struct group *g, int32_t used, int32_t needed)
{
	struct arc *arcs = arena_grow(&state->arena, g->arcs, &g->arc_room, used, needed, sizeof(*arcs));

	if (arcs)
		g->arcs = arcs;
	struct use *uses = arena_grow(&state->arena, g->uses, &g->use_room, used, needed, sizeof(*uses));

	if (uses)
		g->uses = uses;
	if (needed > g->arc_room || needed > g->use_room)
		state->no_memory = true;
	return !state->no_memory;
}

/* The derived arc of this cost to `column`; NONE without memory. A column's few entries are a short search. */
int32_t flow_derived(struct structured *state, int32_t group, int32_t column, int32_t cost)
{
	struct group *g = &state->groups[group];
	const struct column *c = &state->columns[column];

	for (int32_t i = 0; i < c->entry_count; i++)
		if (c->entries[i].group == group && c->entries[i].arc >= g->arc_fixed && c->entries[i].cost == cost)
			return c->entries[i].arc;
	if (!group_reserve_arcs(state, g, g->arc_count, g->arc_count + 1))
		return NONE;
	g->arcs[g->arc_count] = (struct arc){column, cost};
	g->uses[g->arc_count] = (struct use){.capacity = NONE, .back = NONE};
	if (g->dead++ == 0)
		list_push(state, &state->dead_list, group);
	return g->arc_count++;
}

/* Flow onto `column` by an arc of the group, which may be one to the column's block. */
void flow_give(struct structured *state, int32_t group, int32_t arc, int32_t column, int32_t units)
{
	if (state->groups[group].arcs[arc].target < 0)
		arc = flow_derived(state, group, column, state->groups[group].arcs[arc].cost);
	if (arc >= 0)
		flow_add(state, group, arc, units);
}

/* Derived arcs without flow go, but not while a search holds places of arcs. */
void state_drop_dead(struct structured *state)
{
	for (int32_t i = 0; i < state->dead_list.count; i++) {
		int32_t group = state->dead_list.ids[i];
		struct group *g = &state->groups[group];
		int32_t kept = g->arc_fixed;

		for (int32_t arc = g->arc_fixed; arc < g->arc_count; arc++) {
			if (g->uses[arc].flow == 0)
				continue;
			if (arc != kept) {
				struct column *column = &state->columns[g->arcs[arc].target];
				int32_t place = entry_find(column, group, arc);

				g->arcs[kept] = g->arcs[arc];
				g->uses[kept] = g->uses[arc];
				g->shares[g->uses[kept].place].arc = kept;
				if (place >= 0)
					column->entries[place].arc = kept;
			}
			kept++;
		}
		g->arc_count = kept;
		g->dead = 0;
	}
	state->dead_list.count = 0;
}

void column_free(struct structured *state, int32_t column, int32_t units)
{
	struct column *c = &state->columns[column];

	c->free += units;
	state->total_free += units;
	if (c->free == 0)
		return;
	state->exit_epoch++;
	if (!c->in_free_list) {
		c->in_free_list = true;
		list_push(state, &state->free_list, column);
	}
	if (state->prices[column] > state->market_price && !c->in_hole_list) {
		c->in_hole_list = true;
		list_push(state, &state->hole_list, column);
	}
}

void column_fill(struct structured *state, int32_t column, int32_t units)
{
	state->columns[column].free -= units;
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

void group_add_pending(struct structured *state, int32_t group, int32_t units)
{
	struct group *g = &state->groups[group];

	g->pending += units;
	state->total_pending += units;
	if (units > 0 && !g->in_pending_list) {
		g->in_pending_list = true;
		list_push(state, &state->pending_list, group);
	}
}
