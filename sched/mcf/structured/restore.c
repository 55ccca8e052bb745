/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Restores placement among ties: of all optimal answers, chooses one in which more units are where the caller prefers
 * them. Prices do not change. A unit moves to its preferred column if that costs its group no more than the unit's
 * current place. Units on that column that do not prefer it leave and become excess. The next solve finds slots for
 * them along paths of reduced cost 0; such paths exist, because the previous answer had the same cost.
 */
#include <errno.h>
#include <stdlib.h>

#include "structured_priv.h"

struct claim {
	int32_t units; /* number of the group's units that prefer this column */
	int32_t kept;  /* number of these units that are on the column */
	int32_t cost;  /* cost of an arc from the group to the column if its reduced cost is 0 */
	int32_t wants; /* number of units that are to move in */
};

struct preferences {
	const struct structured_placement *items;
	struct claim *claims;
	int32_t *of_column; /* indices of items, sorted by column */
	int32_t *starts;    /* [column_count + 1] where each column begins in of_column */
	int32_t count;
};

static bool preferences_legal(const struct structured *state, const struct structured_placement *items, int32_t count)
{
	for (int32_t i = 0; i < count; i++)
		if (items[i].group < 0 || items[i].group >= state->group_count ||
		    !state->groups[items[i].group].exists || items[i].column < 0 ||
		    items[i].column >= state->column_count || items[i].units < 0)
			return false;
	return true;
}

static void preferences_free(struct preferences *prefs)
{
	free(prefs->claims);
	free(prefs->of_column);
	free(prefs->starts);
}

/* Returns the end of the items that have the same group as item `first`. */
static int32_t group_end(const struct preferences *prefs, int32_t first)
{
	int32_t end = first + 1;

	while (end < prefs->count && prefs->items[end].group == prefs->items[first].group)
		end++;
	return end;
}

/* Returns the claim of the first item with this group and column, or NULL. */
static struct claim *claim_of(const struct preferences *prefs, int32_t group, int32_t column)
{
	for (int32_t k = prefs->starts[column]; k < prefs->starts[column + 1]; k++)
		if (prefs->items[prefs->of_column[k]].group == group)
			return &prefs->claims[prefs->of_column[k]];
	return NULL;
}

/* Sorts the items by column and counts their units. Returns 0 or -ENOMEM; call preferences_free() in both cases. */
static int preferences_index(const struct structured *state, struct preferences *prefs)
{
	prefs->claims = calloc((size_t)prefs->count + 1, sizeof(*prefs->claims));
	prefs->of_column = malloc(((size_t)prefs->count + 1) * sizeof(*prefs->of_column));
	prefs->starts = calloc((size_t)state->column_count + 2, sizeof(*prefs->starts));
	if (!prefs->claims || !prefs->of_column || !prefs->starts)
		return -ENOMEM;
	for (int32_t i = 0; i < prefs->count; i++)
		prefs->starts[prefs->items[i].column + 2]++;
	for (int32_t c = 2; c <= state->column_count + 1; c++)
		prefs->starts[c] += prefs->starts[c - 1];
	for (int32_t i = 0; i < prefs->count; i++)
		prefs->of_column[prefs->starts[prefs->items[i].column + 1]++] = i;
	for (int32_t i = 0; i < prefs->count; i++)
		claim_of(prefs, prefs->items[i].group, prefs->items[i].column)->units += prefs->items[i].units;
	return 0;
}

/*
 * Returns the number of units of the group's share of this column and cost that may leave because they do not prefer
 * the column. Returns 0 if leaving would increase the cost: units on a full limited arc may cost less than the group's
 * price.
 */
static int32_t loose_units(const struct structured *state, const struct preferences *prefs, int32_t group,
			   int32_t column, int32_t cost)
{
	const struct group *g = &state->groups[group];
	const struct claim *claim = claim_of(prefs, group, column);

	if (cost + state->prices[column] != g->price)
		return 0;
	return least(flow_units(g, column, cost), flow_units_on(g, column) - (claim ? claim->kept : 0));
}

/* Sets `kept` of a group's items first..end-1. Returns true if some units are not on their preferred column. */
static bool count_kept(const struct structured *state, const struct preferences *prefs, int32_t first, int32_t end)
{
	bool away = false;

	for (int32_t i = first; i < end; i++) {
		struct claim *claim = &prefs->claims[i];

		claim->kept = least(claim->units,
				    flow_units_on(&state->groups[prefs->items[i].group], prefs->items[i].column));
		away |= claim->kept < claim->units;
	}
	return away;
}

/*
 * Sets `wants` of each item to the residual capacity of the group's arc of reduced cost 0 to the preferred column. The
 * capacity is unlimited if that arc leads to the column's block or to the aggregator.
 */
static void find_capacity(struct structured *state, const struct preferences *prefs, int32_t first, int32_t end)
{
	const struct group *g = &state->groups[prefs->items[first].group];
	int32_t *unplaced = state->scratch.unplaced;

	for (int32_t i = first; i < end; i++) {
		int32_t column = prefs->items[i].column;

		prefs->claims[i].cost = g->price - state->prices[column];
		if (prefs->claims[i].kept < prefs->claims[i].units)
			unplaced[column] = i + 1;
	}
	for (int32_t a = 0; a < g->arc_count; a++) {
		struct arc arc = g->arcs[a];

		if (arc.target < 0)
			state->blocks[~arc.target].row_cost = arc.cost;
		else if (unplaced[arc.target] != 0 && prefs->claims[unplaced[arc.target] - 1].cost == arc.cost)
			prefs->claims[unplaced[arc.target] - 1].wants = arc_residual(g, a);
	}
	for (int32_t i = first; i < end; i++) {
		struct claim *claim = &prefs->claims[i];
		int32_t block = state->column_blocks[prefs->items[i].column];

		unplaced[prefs->items[i].column] = 0;
		if (block == NONE || claim->cost < 0) /* -1 would match ARC_ABSENT below */
			claim->wants = 0;
		else if (claim->cost == g->aggregator_cost || claim->cost == state->blocks[block].row_cost)
			claim->wants = INT32_MAX;
	}
	for (int32_t a = 0; a < g->arc_count; a++)
		if (g->arcs[a].target < 0)
			state->blocks[~g->arcs[a].target].row_cost = INT32_MAX;
}

/*
 * Sets `wants` of the group's items first..end-1 to the number of units that are to move to the preferred column. They
 * move only if the column costs no more than their present places.
 */
static void claim_columns(struct structured *state, const struct preferences *prefs, int32_t first, int32_t end)
{
	if (!count_kept(state, prefs, first, end))
		return;
	find_capacity(state, prefs, first, end);
	for (int32_t i = first; i < end; i++)
		prefs->claims[i].wants = least(prefs->claims[i].wants, prefs->claims[i].units - prefs->claims[i].kept);
}

/*
 * Takes up to `wanted` of the group's units from their places: first those on columns that they do not prefer, then
 * unscheduled ones. Returns the number taken.
 */
static int32_t release(struct structured *state, const struct preferences *prefs, int32_t group, int32_t wanted)
{
	struct group *g = &state->groups[group];
	int32_t left = wanted;

	for (int32_t i = g->share_count - 1; i >= 0 && left > 0; i--) {
		struct structured_share share = g->shares[i];
		int32_t units = least(loose_units(state, prefs, group, share.column, share.cost), left);

		if (units <= 0)
			continue;
		flow_take(state, group, share.column, share.cost, units);
		column_free(state, share.column, units);
		left -= units;
	}
	int32_t waiting = g->unscheduled_cost == g->price ? least(g->unscheduled_flow, left) : 0;

	g->unscheduled_flow -= waiting;
	if (waiting > 0)
		group_changed(state, group);
	return wanted - left + waiting;
}

/*
 * Takes the units that the group's items first..end-1 want from their present places. Lowers each item's `wants` to the
 * number of units taken for it.
 */
static void release_group(struct structured *state, const struct preferences *prefs, int32_t first, int32_t end)
{
	int32_t wanted = 0, left;

	for (int32_t i = first; i < end; i++)
		wanted += prefs->claims[i].wants;
	left = wanted > 0 ? release(state, prefs, prefs->items[first].group, wanted) : 0;
	for (int32_t i = first; i < end; i++) {
		prefs->claims[i].wants = least(prefs->claims[i].wants, left);
		left -= prefs->claims[i].wants;
	}
}

/* Removes from the column up to `wanted` units that do not prefer it. They become excess. */
static void evict(struct structured *state, const struct preferences *prefs, int32_t column, int32_t wanted)
{
	const struct column *c = &state->columns[column];

	for (int32_t i = c->entry_count - 1; i >= 0 && wanted > 0; i--) {
		struct entry entry = c->entries[i];
		int32_t units = least(loose_units(state, prefs, entry.group, column, entry.cost), wanted);

		if (units <= 0)
			continue;
		flow_take(state, entry.group, column, entry.cost, units);
		column_free(state, column, units);
		group_add_excess(state, entry.group, units);
		wanted -= units;
	}
}

static void move_in(struct structured *state, const struct preferences *prefs, int32_t i)
{
	const struct structured_placement *preferred = &prefs->items[i];
	struct claim *claim = &prefs->claims[i];
	int32_t units;

	evict(state, prefs, preferred->column, claim->wants - state->free_slots[preferred->column]);
	units = least(claim->wants, state->free_slots[preferred->column]);
	if (units > 0) {
		flow_add(state, preferred->group, preferred->column, claim->cost, units);
		column_fill(state, preferred->column, units);
		claim->kept += units;
	}
	group_add_excess(state, preferred->group, claim->wants - units);
}

int structured_restore_placement(struct structured *state, const struct structured_placement *items, int32_t count)
{
	struct preferences prefs = {.items = items, .count = count};
	int code;

	if (count < 0 || !state->solved || !preferences_legal(state, items, count))
		return -EINVAL;
	code = preferences_index(state, &prefs);
	for (int32_t first = 0; code == 0 && first < count; first = group_end(&prefs, first))
		claim_columns(state, &prefs, first, group_end(&prefs, first));
	for (int32_t first = 0; code == 0 && first < count; first = group_end(&prefs, first))
		release_group(state, &prefs, first, group_end(&prefs, first));
	for (int32_t i = 0; code == 0 && i < count && !state->no_memory; i++)
		if (prefs.claims[i].wants > 0)
			move_in(state, &prefs, i);
	preferences_free(&prefs);
	return code == 0 && state->no_memory ? -ENOMEM : code;
}
