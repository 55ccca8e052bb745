/* SPDX-License-Identifier: BSD-3-Clause */
#include "structured_search.h"

enum { LAYERS_BEYOND_PART = 4 }; /* after the first meeting, at most 1/4 more nodes are settled */

/* Call it when the stamp wraps around: the labels of 2^32 searches ago would look current. */
static void forget_labels(struct structured *state)
{
	for (int32_t i = 0; i < state->column_count; i++)
		state->column_labels[i] = UINT64_MAX;
	for (int32_t i = 0; i < state->group_count; i++)
		state->group_labels[i] = UINT64_MAX;
	for (int32_t i = 0; i < state->block_count; i++)
		state->blocks[i].stamp = 0;
	state->search.stamp = 1;
}

void search_begin(struct structured *state, enum search_source source, int32_t limit)
{
	struct search *search = &state->search;

	queue_clear(&search->queue);
	if (++search->stamp == UINT32_MAX)
		forget_labels(state);
	search->label_base = (uint64_t)~search->stamp << 32;
	search->source = source;
	search->best = limit;
	search->reached = 0;
	search->visited_count = 0;
	state->meeting_list.count = 0;
	search->target.node = NONE;
	state->effort.searches++;
}

/*
 * A search for a change of the aggregator's price has several targets: all nodes where it meets the aggregator at the
 * least distance. To find them all, `best` is this distance + 1; nodes at this distance are not expanded.
 */
void search_run(struct structured *state, const struct search_direction *direction)
{
	struct search *search = &state->search;
	int32_t node, key, links = search->source == TO_AGGREGATOR || search->source == FROM_WAITING;

	while (!state_halted(state) && queue_pop(&search->queue, &node, &key)) {
		if (key >= search->best - links)
			break;
		search->reached = key;
		if (node >= NODE_BLOCK) {
			if (state->blocks[node - NODE_BLOCK].key == key)
				direction->block(state, node - NODE_BLOCK);
		} else if (node >= 0) {
			if ((int32_t)state->column_labels[node] != key)
				continue;
			search->visited[search->visited_count++] = node;
			direction->column(state, node, key);
		} else {
			if ((int32_t)state->group_labels[~node] != key)
				continue;
			search->visited[search->visited_count++] = node;
			direction->group(state, ~node, key);
		}
	}
}

/*
 * Sets the node's layer for BLOCKING_OUTWARD. The roots, at the arcs for waiting, have layer 0. Each step away from the
 * roots lowers the layer by one, so that layers rise along a path of units towards an arc for waiting.
 */
static void search_mark(struct structured *state, int32_t node)
{
	struct visit *visit = node_visit(state, node);

	*visit = (struct visit){.stamp = state->blocking.stamp};
	if (node >= NODE_BLOCK) {
		visit->level = state->columns[state->blocks[node - NODE_BLOCK].parent_column].visit.level - 1;
	} else if (node >= 0) {
		visit->level = state->groups[state->columns[node].parent_group].visit.level - 1;
	} else if (state->groups[~node].parent_column != NONE) {
		const struct group *g = &state->groups[~node];

		visit->level = g->parent_cost >= 0
				       ? state->columns[g->parent_column].visit.level - 1
				       : state->blocks[state->column_blocks[g->parent_column]].visit.level - 1;
	}
}

void search_meet(struct structured *state, int32_t node, int32_t distance)
{
	struct search *search = &state->search;

	if (distance >= search->best)
		return;
	if (distance < search->best - 1) {
		search->best = distance + 1;
		state->meeting_list.count = 0;
	}
	list_push(state, &state->meeting_list, node);
}

/*
 * True if deferred units can leave through this node directly. The search need not go beyond the node, as paths for
 * deferred units begin here.
 */
static bool at_aggregator_price(const struct structured *state, int32_t node)
{
	if (node < 0)
		return state->groups[~node].deferred > 0;
	return node < NODE_BLOCK && state->prices[node] == state->aggregator_price;
}

static void settle(struct structured *state, const struct search_direction *direction, int32_t node, int32_t key)
{
	search_mark(state, node);
	if (at_aggregator_price(state, node))
		return;
	if (node >= NODE_BLOCK)
		direction->block(state, node - NODE_BLOCK);
	else if (node >= 0)
		direction->column(state, node, key);
	else
		direction->group(state, ~node, key);
}

/* True if the queued distance is still the node's shortest. */
static bool is_fresh(const struct structured *state, int32_t node, int32_t key)
{
	if (node >= NODE_BLOCK)
		return state->blocks[node - NODE_BLOCK].key == key;
	return (int32_t)(node >= 0 ? state->column_labels[node] : state->group_labels[~node]) == key;
}

/*
 * Settles the nodes in `visited` from *next on. Returns false if the search has met the aggregator and enough nodes at
 * that distance are settled: more nodes would only add other paths at the same distance, most of them useless. Settling
 * all nodes at that distance makes rounds take 1.12 times as long, the slowest 1.83 times.
 */
static bool settle_layer(struct structured *state, const struct search_direction *direction, int32_t *next,
			 int32_t *most)
{
	struct search *search = &state->search;

	for (; *next < search->visited_count; ++*next) {
		if (state->meeting_list.count > 0 && search->reached == search->best - 1) {
			*most = least(*most, *next + *next / LAYERS_BEYOND_PART);
			if (*next >= *most)
				return false;
		}
		settle(state, direction, search->visited[*next], search->reached);
	}
	return true;
}

void search_run_layers(struct structured *state, const struct search_direction *direction)
{
	struct search *search = &state->search;
	int32_t node, key, next = 0, most = INT32_MAX;

	while (settle_layer(state, direction, &next, &most)) {
		if (!queue_pop(&search->queue, &node, &key) || key >= search->best)
			break;
		search->reached = key;
		do {
			if (is_fresh(state, node, key))
				search->visited[search->visited_count++] = node;
		} while (queue_peek(&search->queue, &node) && queue_pop(&search->queue, &node, &key));
	}
	search->visited_count = next;
	for (int32_t i = 0; i < state->meeting_list.count; i++)
		search_mark(state, state->meeting_list.ids[i]);
}

/* A block has no price of its own, only a floor: a lower bound on the prices of its columns. */
void search_move_prices(struct structured *state, int32_t sign)
{
	const struct search *search = &state->search;

	for (int32_t i = 0; i < search->visited_count; i++) {
		int32_t node = search->visited[i];

		if (node >= NODE_BLOCK)
			continue;
		int32_t moved =
			search->best - (int32_t)(node >= 0 ? state->column_labels[node] : state->group_labels[~node]);

		if (moved <= 0)
			continue;
		if (node < 0) {
			state->groups[~node].price += sign * moved;
			group_note_price(state, ~node);
			continue;
		}
		struct block *b = &state->blocks[state->column_blocks[node]];
		int32_t price = state->prices[node] += sign * moved;

		b->floor = least(b->floor, price);
	}
}
