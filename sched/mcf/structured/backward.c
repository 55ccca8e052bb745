/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Backward searches follow references. There are two kinds:
 * - from a deficit (a free slot at a price above the aggregator's) to the unit that gains most by moving there
 * - from all arcs for waiting to deferred units without slots
 * At the aggregator's price a free slot is no deficit. So a search from a deficit goes no farther than the difference
 * between the price of the deficit and that of the aggregator.
 */
#include "structured_search.h"

enum { NEAR_SPAN = 64 }; /* number of references examined at a time */

/* Considers as targets the group's units that would gain by moving. */
static void group_targets(struct structured *state, int32_t group, int32_t distance)
{
	struct search *search = &state->search;
	const struct group *g = &state->groups[group];

	if (search->source == TO_AGGREGATOR) {
		if (g->deferred > 0)
			search_meet(state, ~group, distance);
		return;
	}
	if (g->unscheduled_flow > 0)
		search_target(search, TARGET_UNSCHEDULED, group, distance + g->price - g->unscheduled_cost);
	if (g->unrouted > 0)
		search_target(search, TARGET_UNROUTED, group, distance + g->price - UNROUTED_COST);
	if (g->deferred > 0)
		search_target(search, TARGET_AGGREGATOR, group,
			      distance + g->price - g->aggregator_cost - state->aggregator_price);
}

/* `cost` is the cost of the group's arc whose flow to `column` rises; ~cost if the arc leads to the column's block. */
static void relax_group(struct structured *state, int32_t group, int32_t distance, int32_t cost, int32_t column)
{
	struct search *search = &state->search;
	struct group *g = &state->groups[group];

	if (!search_improves(search, distance, state->group_labels[group]))
		return;
	state->group_labels[group] = search_label(search, distance);
	g->parent_cost = cost;
	g->parent_column = column;
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
	c->parent_cost = cost;
	if (search->source == FROM_DEFICIT)
		search_target(search, TARGET_COLUMN, column,
			      distance + state->prices[column] - state->aggregator_price);
	else
		search_meet(state, column, distance + state->prices[column] - state->aggregator_price);
	search_enqueue(search, column, distance);
}

static void relax_block(struct structured *state, int32_t column, int32_t distance)
{
	struct search *search = &state->search;
	int32_t block = state->column_blocks[column];
	struct block *b = &state->blocks[block];

	/* In the reduced cost of an arc to the block, the block's price is the least price of its columns. */
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

/*
 * Lists in near[] the indices of those references for which cost minus the group's price is less than `below`, and
 * returns their number. Most references are rejected, and the outcome is unpredictable: with branches, rounds with too
 * few slots take 1.10 to 1.15 times as long.
 */
static int32_t near_references(const struct reference *items, int32_t count, const int32_t *group_prices, int32_t below,
			       int32_t *near)
{
	int32_t found = 0;

	for (int32_t i = 0; i < count; i++) {
		int32_t group = items[i].group == NONE ? 0 : items[i].group;

		near[found] = i;
		found += (items[i].group != NONE) & (items[i].cost - group_prices[group] < below);
	}
	return found;
}

/* `base` is the distance plus the price of the column or block to which the references lead. */
static void settle_references(struct structured *state, const struct reference_list *list, bool over_block,
			      int32_t base, int32_t column)
{
	int32_t near[NEAR_SPAN];

	for (int32_t first = 0; first < list->count; first += NEAR_SPAN) {
		const struct reference *items = list->items + first;
		int32_t count = near_references(items, least(list->count - first, NEAR_SPAN), state->group_prices,
						state->search.best - base, near);

		for (int32_t i = 0; i < count; i++) {
			struct reference reference = items[near[i]];

			relax_group(state, reference.group,
				    base + reference.cost - state->group_prices[reference.group],
				    over_block ? ~reference.cost : reference.cost, column);
		}
	}
	state->effort.scans += (uint64_t)list->count;
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
	state->effort.scans += (uint64_t)g->share_count;
}

static const struct search_direction backward = {settle_group, settle_column, settle_block};

void search_from_deficit(struct structured *state, int32_t column)
{
	struct search *search = &state->search;

	search_begin(state, FROM_DEFICIT, state->prices[column] - state->aggregator_price);
	state->columns[column].parent_group = NONE;
	state->column_labels[column] = search_label(search, 0);
	queue_push(&search->queue, column, 0);
	search_run(state, &backward);
}

/*
 * Searches from all arcs for waiting to the aggregator. A search in the other direction would visit most of the
 * network, as nearly all columns and groups are at distance 0 from the aggregator. This search visits only nodes that
 * are nearer to an arc for waiting than the aggregator is.
 */
void search_to_aggregator(struct structured *state)
{
	search_begin(state, TO_AGGREGATOR, INT32_MAX);
	for (int32_t i = 0; i < state->group_count; i++)
		if (state->groups[i].supply > 0)
			relax_group(state, i, group_waiting_cost(&state->groups[i]) - state->groups[i].price, NONE,
				    NONE);
	search_run_layers(state, &backward);
	state->search.best--;
}
