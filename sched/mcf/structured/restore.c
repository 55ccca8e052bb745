/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Restores placement among ties: of all optimal answers, one in which more units are where the caller prefers them.
 * Prices stay. A unit whose home (preferred column) costs its group no more than its place moves there; units there
 * without a claim leave. The next solve finds slots for them along paths of reduced cost 0: the previous answer is at
 * the end of such paths.
 */
#include <errno.h>
#include <stdlib.h>

#include "structured_priv.h"

struct claim {
	int32_t units; /* that have their home here */
	int32_t kept;  /* of them, on the column */
	int32_t cost;  /* of an arc of reduced cost 0 to the column */
	int32_t wants; /* units that will move in */
};

struct homes {
	const struct structured_placement *items;
	struct claim *claims;
	int32_t *of_column; /* item numbers, by column */
	int32_t *starts;    /* [column_count + 1] in of_column */
	int32_t count;
};

static bool homes_legal(const struct structured *state, const struct structured_placement *items, int32_t count)
{
	for (int32_t i = 0; i < count; i++)
		if (items[i].group < 0 || items[i].group >= state->group_count ||
		    !state->groups[items[i].group].exists || items[i].column < 0 ||
		    items[i].column >= state->column_count || items[i].units < 0)
			return false;
	return true;
}

static void homes_free(struct homes *homes)
{
	free(homes->claims);
	free(homes->of_column);
	free(homes->starts);
}

/* The end of the items of the group of this one. */
static int32_t group_end(const struct homes *homes, int32_t first)
{
	int32_t end = first + 1;

	while (end < homes->count && homes->items[end].group == homes->items[first].group)
		end++;
	return end;
}

/* The first item of that group and column. */
static struct claim *claim_of(const struct homes *homes, int32_t group, int32_t column)
{
	for (int32_t k = homes->starts[column]; k < homes->starts[column + 1]; k++)
		if (homes->items[homes->of_column[k]].group == group)
			return &homes->claims[homes->of_column[k]];
	return NULL;
}

/* 0 or -ENOMEM; call homes_free() in both cases. */
static int homes_index(const struct structured *state, struct homes *homes)
{
	homes->claims = calloc((size_t)homes->count + 1, sizeof(*homes->claims));
	homes->of_column = malloc(((size_t)homes->count + 1) * sizeof(*homes->of_column));
	homes->starts = calloc((size_t)state->column_count + 2, sizeof(*homes->starts));
	if (!homes->claims || !homes->of_column || !homes->starts)
		return -ENOMEM;
	for (int32_t i = 0; i < homes->count; i++)
		homes->starts[homes->items[i].column + 2]++;
	for (int32_t c = 2; c <= state->column_count + 1; c++)
		homes->starts[c] += homes->starts[c - 1];
	for (int32_t i = 0; i < homes->count; i++)
		homes->of_column[homes->starts[homes->items[i].column + 1]++] = i;
	for (int32_t i = 0; i < homes->count; i++)
		claim_of(homes, homes->items[i].group, homes->items[i].column)->units += homes->items[i].units;
	return 0;
}

/*
 * Units of the group's share of that column and cost that may leave at no loss. Units of a full limited arc may cost
 * less than the group's price: they stay.
 */
static int32_t loose_units(const struct structured *state, const struct homes *homes, int32_t group, int32_t column,
			   int32_t cost)
{
	const struct group *g = &state->groups[group];
	const struct claim *claim = claim_of(homes, group, column);

	if (cost + state->prices[column] != g->price)
		return 0;
	return least(flow_units(g, column, cost), flow_units_on(g, column) - (claim ? claim->kept : 0));
}

/* Sets `kept` of a group's items first..end-1; true if some units are elsewhere. */
static bool count_kept(const struct structured *state, const struct homes *homes, int32_t first, int32_t end)
{
	bool away = false;

	for (int32_t i = first; i < end; i++) {
		struct claim *claim = &homes->claims[i];

		claim->kept = least(claim->units,
				    flow_units_on(&state->groups[homes->items[i].group], homes->items[i].column));
		away |= claim->kept < claim->units;
	}
	return away;
}

/*
 * Sets `wants` to the residual capacity of arcs of reduced cost 0 to each home: over a block or the aggregator it is
 * unlimited.
 */
static void find_capacity(struct structured *state, const struct homes *homes, int32_t first, int32_t end)
{
	const struct group *g = &state->groups[homes->items[first].group];
	int32_t *unplaced = state->scratch.unplaced;

	for (int32_t i = first; i < end; i++) {
		int32_t column = homes->items[i].column;

		homes->claims[i].cost = g->price - state->prices[column];
		if (homes->claims[i].kept < homes->claims[i].units)
			unplaced[column] = i + 1;
	}
	for (int32_t a = 0; a < g->arc_count; a++) {
		struct arc arc = g->arcs[a];

		if (arc.target < 0)
			state->blocks[~arc.target].row_cost = arc.cost;
		else if (unplaced[arc.target] != 0 && homes->claims[unplaced[arc.target] - 1].cost == arc.cost)
			homes->claims[unplaced[arc.target] - 1].wants = arc_residual(g, a);
	}
	for (int32_t i = first; i < end; i++) {
		struct claim *claim = &homes->claims[i];
		int32_t block = state->column_blocks[homes->items[i].column];

		unplaced[homes->items[i].column] = 0;
		if (block == NONE || claim->cost < 0) /* ARC_ABSENT < 0 too */
			claim->wants = 0;
		else if (claim->cost == g->aggregator_cost || claim->cost == state->blocks[block].row_cost)
			claim->wants = INT32_MAX;
	}
	for (int32_t a = 0; a < g->arc_count; a++)
		if (g->arcs[a].target < 0)
			state->blocks[~g->arcs[a].target].row_cost = INT32_MAX;
}

/* Claims homes that cost the group no more than the places of its units. */
static void claim_homes(struct structured *state, const struct homes *homes, int32_t first, int32_t end)
{
	if (!count_kept(state, homes, first, end))
		return;
	find_capacity(state, homes, first, end);
	for (int32_t i = first; i < end; i++)
		homes->claims[i].wants = least(homes->claims[i].wants, homes->claims[i].units - homes->claims[i].kept);
}

/* Up to `wanted` units of the group leave columns that are not their homes, or stop waiting; returns the number. */
static int32_t release(struct structured *state, const struct homes *homes, int32_t group, int32_t wanted)
{
	struct group *g = &state->groups[group];
	int32_t left = wanted;

	for (int32_t i = g->share_count - 1; i >= 0 && left > 0; i--) {
		struct structured_share share = g->shares[i];
		int32_t units = least(loose_units(state, homes, group, share.column, share.cost), left);

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

/* Limits a group's claims, items first..end-1, to the units that have left other places. */
static void release_group(struct structured *state, const struct homes *homes, int32_t first, int32_t end)
{
	int32_t wanted = 0, left;

	for (int32_t i = first; i < end; i++)
		wanted += homes->claims[i].wants;
	left = wanted > 0 ? release(state, homes, homes->items[first].group, wanted) : 0;
	for (int32_t i = first; i < end; i++) {
		homes->claims[i].wants = least(homes->claims[i].wants, left);
		left -= homes->claims[i].wants;
	}
}

/* Up to `wanted` units that are not at home leave the column and become excess. */
static void evict(struct structured *state, const struct homes *homes, int32_t column, int32_t wanted)
{
	const struct column *c = &state->columns[column];

	for (int32_t i = c->entry_count - 1; i >= 0 && wanted > 0; i--) {
		struct entry entry = c->entries[i];
		int32_t units = least(loose_units(state, homes, entry.group, column, entry.cost), wanted);

		if (units <= 0)
			continue;
		flow_take(state, entry.group, column, entry.cost, units);
		column_free(state, column, units);
		group_add_excess(state, entry.group, units);
		wanted -= units;
	}
}

static void move_in(struct structured *state, const struct homes *homes, int32_t i)
{
	const struct structured_placement *home = &homes->items[i];
	struct claim *claim = &homes->claims[i];
	int32_t units;

	evict(state, homes, home->column, claim->wants - state->free_slots[home->column]);
	units = least(claim->wants, state->free_slots[home->column]);
	if (units > 0) {
		flow_add(state, home->group, home->column, claim->cost, units);
		column_fill(state, home->column, units);
		claim->kept += units;
	}
	group_add_excess(state, home->group, claim->wants - units);
}

int structured_restore_placement(struct structured *state, const struct structured_placement *items, int32_t count)
{
	struct homes homes = {.items = items, .count = count};
	int code;

	if (count < 0 || !state->solved || !homes_legal(state, items, count))
		return -EINVAL;
	code = homes_index(state, &homes);
	for (int32_t first = 0; code == 0 && first < count; first = group_end(&homes, first))
		claim_homes(state, &homes, first, group_end(&homes, first));
	for (int32_t first = 0; code == 0 && first < count; first = group_end(&homes, first))
		release_group(state, &homes, first, group_end(&homes, first));
	for (int32_t i = 0; code == 0 && i < count && !state->no_memory; i++)
		if (homes.claims[i].wants > 0)
			move_in(state, &homes, i);
	homes_free(&homes);
	return code == 0 && state->no_memory ? -ENOMEM : code;
}
