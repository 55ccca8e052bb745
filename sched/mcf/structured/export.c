/* SPDX-License-Identifier: BSD-3-Clause */
/* Exports the state as a plain problem with its answer, for the certificate and for the simplex. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mcf_priv.h"
#include "structured_priv.h"

struct writer {
	const struct structured *state;
	int32_t *tail, *head, *capacity;
	int64_t *cost;
	struct mcf_solution *solution;
	int32_t arc;
	int32_t first_column, first_block, aggregator, sink;
	int32_t *column_flow; /* [columns] flow from the block to the column */
	int64_t *block_flow;  /* [blocks] flow from the aggregator to the block */
	bool *block_used;     /* [blocks] true if some group has an arc to the block */
	bool aggregator_used;
};

/* True if the group may need an arc for unrouted units; the export has this arc for such groups only. */
bool export_has_unrouted(const struct group *group)
{
	return group->unscheduled_capacity < group->supply || group->unrouted > 0;
}

static void write_arc(struct writer *w, int32_t tail, int32_t head, int32_t capacity, int32_t cost, int32_t flow)
{
	w->tail[w->arc] = tail;
	w->head[w->arc] = head;
	w->capacity[w->arc] = capacity;
	w->cost[w->arc] = cost;
	w->solution->flow[w->arc] = flow;
	w->arc++;
}

static int64_t count_arcs(const struct structured *state)
{
	int64_t count = (int64_t)state->block_count + 2 * (int64_t)state->column_count;

	for (int32_t i = 0; i < state->group_count; i++)
		count += state->groups[i].arc_count + 3;
	return count;
}

static int32_t find_arc(const struct group *g, int32_t target, int32_t cost)
{
	for (int32_t i = 0; i < g->arc_count && g->arcs[i].cost <= cost; i++)
		if (g->arcs[i].target == target && g->arcs[i].cost == cost)
			return i;
	return NONE;
}

/*
 * Assigns the share's units to the group's own arc to the column, up to this arc's capacity, and the others to the
 * group's arc to the block or to the aggregator. flow[] is the flow of the group's arcs. Returns the number of units
 * that use the aggregator.
 */
static int32_t write_share(struct writer *w, const struct group *g, const struct structured_share *share, int32_t *flow)
{
	int32_t block = w->state->column_blocks[share->column], own = find_arc(g, share->column, share->cost);
	int32_t direct = own == NONE ? 0 : least(share->units, arc_capacity(g, share->column, share->cost)),
		rest = share->units - direct;

	if (direct > 0)
		flow[own] = direct;
	if (rest == 0)
		return 0;
	int32_t over = find_arc(g, ~block, share->cost);

	w->column_flow[share->column] += rest;
	if (over != NONE) {
		flow[over] += rest;
		return 0;
	}
	w->block_flow[block] += rest;
	return rest;
}

/*
 * Writes the group's arcs. Units that went over a block or the aggregator are assigned to the group's arc to it and to
 * the arcs from there to the column.
 */
static void write_group(struct writer *w, int32_t group)
{
	const struct structured *state = w->state;
	const struct group *g = &state->groups[group];
	int32_t first = w->arc, over_aggregator = 0;

	for (int32_t i = 0; i < g->arc_count; i++) {
		const struct arc *arc = &g->arcs[i];
		int32_t head = arc->target >= 0 ? w->first_column + arc->target : w->first_block + ~arc->target;

		write_arc(w, group, head, arc_capacity(g, arc->target, arc->cost), arc->cost, 0);
		if (arc->target < 0)
			w->block_used[~arc->target] = true;
	}
	for (int32_t i = 0; i < g->share_count; i++)
		over_aggregator += write_share(w, g, &g->shares[i], w->solution->flow + first);
	w->aggregator_used |= g->aggregator_cost != ARC_ABSENT;
	if (g->aggregator_cost != ARC_ABSENT)
		write_arc(w, group, w->aggregator, INT32_MAX, g->aggregator_cost, over_aggregator);
	if (g->unscheduled_capacity > 0)
		write_arc(w, group, w->sink, g->unscheduled_capacity, g->unscheduled_cost, g->unscheduled_flow);
	if (export_has_unrouted(g))
		write_arc(w, group, w->sink, INT32_MAX, UNROUTED_COST, g->unrouted);
}

/*
 * Shared arcs that no group can use get capacity 0: otherwise they would join all columns to one large tree in the
 * simplex, in which each pivot moves most nodes.
 */
static void write_shared(struct writer *w)
{
	const struct structured *state = w->state;
	int64_t *potential = w->solution->potential;

	for (int32_t i = 0; i < state->block_count; i++) {
		int32_t flow = w->block_flow[i] > INT32_MAX ? INT32_MAX : (int32_t)w->block_flow[i];

		potential[w->first_block + i] = -(int64_t)block_least_price(state, i);
		write_arc(w, w->aggregator, w->first_block + i, w->aggregator_used ? INT32_MAX : 0, 0, flow);
	}
	for (int32_t i = 0; i < state->column_count; i++) {
		potential[w->first_column + i] = -(int64_t)state->prices[i];
		int32_t block = state->column_blocks[i];

		if (block == NONE)
			continue;
		write_arc(w, w->first_block + block, w->first_column + i,
			  w->aggregator_used || w->block_used[block] ? INT32_MAX : 0, 0, w->column_flow[i]);
		write_arc(w, w->first_column + i, w->sink, state->capacities[i], 0,
			  state->capacities[i] - state->free_slots[i]);
	}
	potential[w->aggregator] = -(int64_t)state->aggregator_price;
}

static int allocate(struct structured_export *out, struct writer *w, int32_t nodes, int64_t arcs)
{
	if (arcs > INT32_MAX / 4)
		return -ERANGE;
	out->arrays = malloc(sizeof(int32_t) * 3 * (size_t)arcs + 1);
	out->numbers = calloc((size_t)(arcs + nodes), sizeof(int64_t));
	w->column_flow = calloc((size_t)w->state->column_count + 1, sizeof(*w->column_flow));
	w->block_flow = calloc((size_t)w->state->block_count + 1, sizeof(*w->block_flow));
	w->block_used = calloc((size_t)w->state->block_count + 1, sizeof(*w->block_used));
	if (!out->arrays || !out->numbers || !w->column_flow || !w->block_flow || !w->block_used ||
	    mcf_solution_reserve(&out->solution, nodes, (int32_t)arcs) != MCF_OPTIMAL)
		return -ENOMEM;
	w->tail = out->arrays;
	w->head = w->tail + arcs;
	w->capacity = w->head + arcs;
	w->cost = out->numbers;
	memset(out->solution.potential, 0, sizeof(int64_t) * (size_t)nodes);
	return 0;
}

static void write_all(struct structured_export *out, struct writer *w, int32_t nodes, int64_t room)
{
	const struct structured *state = w->state;
	int64_t *supply = out->numbers + room;
	mcf_wide total = 0;

	for (int32_t i = 0; i < state->group_count; i++) {
		if (state->groups[i].supply == 0)
			continue;
		supply[i] = state->groups[i].supply;
		supply[w->sink] -= supply[i];
		out->solution.potential[i] = -(int64_t)state->groups[i].price;
		write_group(w, i);
	}
	write_shared(w);
	for (int32_t i = 0; i < w->arc; i++)
		total += (mcf_wide)w->cost[i] * out->solution.flow[i];
	out->solution.status = MCF_OPTIMAL;
	out->solution.cost = (int64_t)total;
	out->solution.statistics = (struct mcf_statistics){.algorithm = "structured", .phases = state->effort.searches};
	out->problem = (struct mcf_problem){.node_count = nodes,
					    .arc_count = w->arc,
					    .tail = w->tail,
					    .head = w->head,
					    .capacity = w->capacity,
					    .cost = w->cost,
					    .supply = supply};
}

int structured_export(const struct structured *state, struct structured_export *out)
{
	struct writer w = {.state = state, .solution = &out->solution};
	int64_t arcs = count_arcs(state);
	int32_t nodes = state->group_count + state->column_count + state->block_count + 2;

	memset(out, 0, sizeof(*out));
	w.first_column = state->group_count;
	w.first_block = w.first_column + state->column_count;
	w.aggregator = w.first_block + state->block_count;
	w.sink = w.aggregator + 1;
	int failed = allocate(out, &w, nodes, arcs);

	if (!failed)
		write_all(out, &w, nodes, arcs);
	else
		structured_export_free(out);
	free(w.column_flow);
	free(w.block_flow);
	free(w.block_used);
	return failed;
}

void structured_export_free(struct structured_export *out)
{
	free(out->arrays);
	free(out->numbers);
	mcf_solution_free(&out->solution);
	memset(out, 0, sizeof(*out));
}

/* Reads the answer, group by group. */

static bool group_exists(const struct structured *state, int32_t group)
{
	return group >= 0 && group < state->group_count && state->groups[group].exists;
}

int32_t structured_unscheduled(const struct structured *state, int32_t group)
{
	return group_exists(state, group) ? state->groups[group].unscheduled_flow : 0;
}

int32_t structured_unrouted(const struct structured *state, int32_t group)
{
	return group_exists(state, group) ? state->groups[group].unrouted : 0;
}

int32_t structured_column_price(const struct structured *state, int32_t column)
{
	return column >= 0 && column < state->column_count ? state->prices[column] : PRICE_CLOSED;
}

int32_t structured_aggregator_price(const struct structured *state)
{
	return state->aggregator_price;
}

int32_t structured_changed(const struct structured *state, const int32_t **groups)
{
	*groups = state->changed_list.ids;
	return state->changed_list.count;
}

void structured_changed_clear(struct structured *state)
{
	for (int32_t i = 0; i < state->changed_list.count; i++)
		state->groups[state->changed_list.ids[i]].in_changed_list = false;
	state->changed_list.count = 0;
}

void structured_fetch_shares(const struct structured *state, int32_t group)
{
	enum { CACHE_LINE = 64, LINES = 4 };

	if (group < 0 || group >= state->group_count)
		return;
	const struct group *g = &state->groups[group];
	size_t bytes = (size_t)g->share_count * sizeof(*g->shares);

	for (size_t line = 0; line < LINES && line * CACHE_LINE < bytes; line++)
		__builtin_prefetch((const char *)g->shares + line * CACHE_LINE);
}

int32_t structured_read(const struct structured *state, int32_t group, struct structured_share *shares, int32_t room)
{
	int32_t count = 0;

	if (!group_exists(state, group))
		return 0;
	const struct group *g = &state->groups[group];

	if (g->share_count > room)
		return g->share_count;
	for (int32_t i = 0; i < g->share_count; i++) {
		const struct structured_share *share = &g->shares[i];

		if (count > 0 && shares[count - 1].column == share->column) {
			shares[count - 1].units += share->units;
			shares[count - 1].cost = share->cost; /* a column's shares ascend by cost */
		} else {
			shares[count++] = *share;
		}
	}
	return count;
}

/*
 * Restores placement among ties: of all optimal answers, chooses one in which more units are where the caller prefers
 * them. Prices do not change. A unit moves to its preferred column if that costs its group no more than the unit's
 * current place. Units on that column that do not prefer it leave and become excess. The next solve finds slots for
 * them along paths of reduced cost 0; such paths exist, because the previous answer had the same cost.
 */

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
