/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shortest paths in reduced costs: the part that both directions share. Forward searches start at units that need a
 * slot (forward.c), backward searches at slots that need a unit (backward.c). Nodes are settled in order of their
 * distance from the roots up to the nearest target; then the price of each settled node changes by the target's
 * distance minus the node's. The caller labels and queues the roots, runs the search, and uses the path to
 * search.target.
 *
 * A label has the distance at which a search has reached a column or group in its lower half, and the complement of the
 * search's number in its upper half. So labels of earlier searches are larger than any of the current one, and one
 * comparison tells whether a node comes nearer. Distances are never negative, as reduced costs of arcs with residual
 * capacity are not.
 */
#ifndef STRUCTURED_SEARCH_H
#define STRUCTURED_SEARCH_H

#include "structured_priv.h"

/* Expands a settled node in one direction. */
struct search_direction {
	void (*group)(struct structured *state, int32_t group, int32_t distance);
	void (*column)(struct structured *state, int32_t column, int32_t distance);
	void (*block)(struct structured *state, int32_t block);
};

/* limit: the search ignores targets at this distance or beyond. */
void search_begin(struct structured *state, enum search_source source, int32_t limit);
void search_run(struct structured *state, const struct search_direction *direction);
/*
 * As search_run(), but settles all nodes of one distance before the next (in layers), and goes slightly beyond the
 * first meeting with the aggregator. Marks settled nodes and meetings for a blocking flow.
 */
void search_run_layers(struct structured *state, const struct search_direction *direction);
/*
 * Records that the search meets the aggregator at `node`, at this distance. The search continues to other nodes at the
 * same distance.
 */
void search_meet(struct structured *state, int32_t node, int32_t distance);
/* Changes the prices of settled nodes by their distance to the target: up (sign 1) or down (-1). */
void search_move_prices(struct structured *state, int32_t sign);

static inline uint64_t search_label(const struct search *search, int32_t distance)
{
	return search->label_base | (uint32_t)distance;
}

/*
 * True if `distance` is shorter than the label `known`. Also false for a node nearer than the one being settled, which
 * only wrong prices could cause.
 */
static inline bool search_improves(const struct search *search, int32_t distance, uint64_t known)
{
	return distance < search->best && search_label(search, distance) < known && distance >= search->reached;
}

/*
 * A search in layers (to the aggregator) takes nodes of equal distance first in, first out, so that paths have few
 * arcs: nodes found at the distance being settled are appended to `visited`.
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
