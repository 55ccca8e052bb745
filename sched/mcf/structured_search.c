/* SPDX-License-Identifier: BSD-3-Clause */
#include "structured_search.h"

/* The stamp has come round: labels of 2^32 searches ago would look fresh. */
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
	search->era = (uint64_t)~search->stamp << 32;
	search->source = source;
	search->best = limit;
	search->reached = 0;
	search->visited_count = 0;
	state->meeting_list.count = 0;
	search->target.node = NONE;
	state->searches++;
}

/* The list of references that a backward search will ask for next. */
static void fetch_next(const struct structured *state)
{
	int32_t node;

	if (state->referenced && queue_peek(&state->search.queue, &node) && node >= 0 && node < NODE_BLOCK)
		search_fetch(state->column_references[node].items);
}

/*
 * Searches for a move of the market's price look for several targets, so that nodes as far as the nearest one are of
 * use and `best` is one more than its distance; but nothing is expanded there.
 */
void search_run(struct structured *state, const struct search_direction *direction)
{
	struct search *search = &state->search;
	int32_t node, key, ties = search->source == TO_MARKET || search->source == FROM_WAITING;

	while (queue_pop(&search->queue, &node, &key)) {
		if (key >= search->best - ties)
			break;
		search->reached = key;
		fetch_next(state);
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

/* A block has no price of its own, only a bound on its columns'. */
void search_move_prices(struct structured *state, int32_t sign)
{
	const struct search *search = &state->search;

	for (int32_t i = 0; i < search->visited_count; i++) {
		int32_t node = search->visited[i];
		int32_t moved =
			search->best - (int32_t)(node >= 0 ? state->column_labels[node] : state->group_labels[~node]);

		if (moved <= 0)
			continue;
		if (node < 0) {
			state->groups[~node].price += sign * moved;
			group_bid(state, ~node);
			continue;
		}
		struct block *b = &state->blocks[state->column_blocks[node]];
		int32_t price = state->prices[node] += sign * moved;

		b->floor = least(b->floor, price);
	}
}
