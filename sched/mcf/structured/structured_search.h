/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shortest paths in reduced costs, what both directions share: forward from units that need a slot (forward.c),
 * backward from slots that need a unit (deficit.c). Nodes are settled in order of their distance from the roots up to
 * the nearest target; then the prices of those settled move by what they are nearer than it. The caller labels and
 * queues the roots, runs the search, and uses the path to search.target.
 *
 * A label says how near the current search has come to a column or group: the search's number, complemented, above the
 * distance. Labels of earlier searches are larger than any of this one, so that one comparison tells whether a node is
 * nearer than known. Distances are never negative: reduced costs of arcs with room are not.
 */
#ifndef STRUCTURED_SEARCH_H
#define STRUCTURED_SEARCH_H

#include "structured_priv.h"

/* Nodes looked at in one go, without a branch that depends on their labels: such branches are not foreseeable. */
enum { SEARCH_SPAN = 64 };

/* How one direction goes on from a settled node. */
struct search_direction {
	void (*group)(struct structured *state, int32_t group, int32_t distance);
	void (*column)(struct structured *state, int32_t column, int32_t distance);
	void (*block)(struct structured *state, int32_t block);
};

void search_begin(struct structured *state, enum search_source source, int32_t limit);
void search_run(struct structured *state, const struct search_direction *direction);
/* The same in layers, and somewhat beyond the first meeting; marks for a flood what it settles, and the meetings. */
void search_run_layers(struct structured *state, const struct search_direction *direction);
/* Both ends meet at `node`, at this distance; the search continues to others at the same distance. */
void search_meet(struct structured *state, int32_t node, int32_t distance);
/* Of the settled nodes nearer than the target: up (sign 1) or down (-1) by as much. */
void search_move_prices(struct structured *state, int32_t sign);

/*
 * near.c: places in near[] of those of `items` whose cost exceeds their group's bid by less than `below`,
 * ascending; how many. Most references are too dear: that is told by the bid alone, without a look at the group or the
 * arc. `near` has room for `count`.
 */
int32_t near_references(const struct reference *items, int32_t count, const int32_t *group_prices, int32_t below,
			int32_t *near);

/* Where a group's arcs may lead to anything near. */
struct near_scope {
	const int32_t *prices;  /* of columns */
	const uint64_t *labels; /* of columns; NULL: all that is near is of use, whatever is known of it */
	uint64_t era;           /* of the labels */
	int32_t base;           /* of the distance over an arc: with its cost and its target's price */
	int32_t aggregator_price;
	int32_t below;
};

/*
 * near.c: places in near[], which has room for `count`, of those of the arcs, which ascend by cost, that lead to a
 * block or to a column at a distance less than `below` that its label improves on; how many. *seen is how many arcs
 * were looked at: the rest are too dear for any column.
 */
int32_t near_arcs(const struct arc *arcs, int32_t count, const struct near_scope *scope, int32_t *near, int32_t *seen);

static inline uint64_t search_label(const struct search *search, int32_t distance)
{
	return search->era | (uint32_t)distance;
}

/* False as well for what only broken prices could make: a node nearer than the one that is being settled. */
static inline bool search_improves(const struct search *search, int32_t distance, uint64_t known)
{
	return distance < search->best && search_label(search, distance) < known && distance >= search->reached;
}

/*
 * A search in layers (toward the market) takes the nodes of one distance first come first served, so that paths have
 * few arcs: those that come up at the distance that is being settled join the end of `visited`.
 */
static inline void search_enqueue(struct search *search, int32_t node, int32_t distance)
{
	if (search->source == TO_AGGREGATOR && distance == search->reached)
		search->visited[search->visited_count++] = node;
	else
		queue_push(&search->queue, node, distance);
}

static inline void search_target(struct search *search, enum target_kind kind, int32_t node, int32_t distance)
{
	if (distance >= search->best)
		return;
	search->best = distance;
	search->target = (struct target){kind, node};
}

#endif
