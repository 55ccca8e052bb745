/* SPDX-License-Identifier: BSD-3-Clause */
/* One phase: pushes excess along short admissible paths (partial augmentation), and relabels nodes on the way. */
#include <string.h>

#include "scaling_priv.h"

enum { PATH_LONGEST = 4 };
/*
 * Number of relabels per node before a global update. Measured: 2 instead of 1 doubles the number of relabels on grids.
 * Nodes of scheduling networks have tens of arcs, so that an update takes longer, and 2 hardly increases the relabels:
 * with 1 everywhere, scheduling, transport and dense networks take 1.12 to 1.22 times as long.
 */
enum { RELABELS_PER_NODE = 1, RELABELS_PER_NODE_DENSE = 2, DENSE_ARCS_PER_NODE = 16 };
/*
 * Maximum number of relabels per node in one phase, four times the largest number measured. If a phase exceeds it, some
 * of the fixed arcs are probably needed, so all are released.
 */
enum { RELABELS_PER_NODE_MOST = 100 };
/* Prices and scaled costs stay well inside int64: a price this low ends the solve with MCF_COST_RANGE. */
#define PRICE_LOWEST (-(INT64_C(1) << 61))

static int64_t relabels_per_update(const struct scaling *scaling)
{
	bool dense = scaling->problem->arc_count / DENSE_ARCS_PER_NODE >= scaling->node_count;

	return (dense ? RELABELS_PER_NODE_DENSE : RELABELS_PER_NODE) * (int64_t)scaling->node_count;
}

static bool is_update_due(const struct scaling *scaling)
{
	return scaling->relabels_since_update >= scaling->relabels_per_update;
}

static void enqueue(struct scaling *scaling, int32_t node)
{
	int32_t at = scaling->queue_begin + scaling->queue_count;

	if (scaling->queued[node])
		return;
	scaling->queue[at < scaling->node_count ? at : at - scaling->node_count] = node;
	scaling->queue_count++;
	scaling->queued[node] = true;
}

static void dequeue(struct scaling *scaling)
{
	scaling->queued[scaling->queue[scaling->queue_begin]] = false;
	scaling->queue_begin = scaling->queue_begin + 1 < scaling->node_count ? scaling->queue_begin + 1 : 0;
	scaling->queue_count--;
}

static void begin_queue(struct scaling *scaling)
{
	scaling->queue_begin = scaling->queue_count = 0;
	memset(scaling->queued, 0, (size_t)scaling->node_count * sizeof *scaling->queued);
	for (int32_t v = 0; v < scaling->node_count; v++) {
		scaling->next[v] = scaling->first[v];
		if (scaling->excess[v] > 0)
			enqueue(scaling, v);
	}
}

/*
 * Returns the first admissible arc out of `node` from next[node] on, or -1. If -1, *least is the minimum of cost -
 * price[head] over the scanned arcs.
 */
static int32_t find_admissible(struct scaling *scaling, int32_t node, int64_t *least)
{
	const struct residual *arcs = scaling->arcs;
	const int64_t *price = scaling->price;
	int64_t own = price[node], smallest = INT64_MAX;
	int32_t end = scaling->end[node];

	for (int32_t i = scaling->next[node]; i < end; i++) {
		int64_t seen = scaling_seen(price, &arcs[i]);

		if (seen < -own) {
			scaling->scans += i - scaling->next[node];
			scaling->next[node] = i;
			return i;
		}
		smallest = seen < smallest ? seen : smallest;
	}
	*least = smallest;
	return -1;
}

/*
 * Lowers a node's price until an outgoing arc is admissible. `least` is the minimum of cost - price[head] over the arcs
 * from next[node] on. `back`, the reverse of the arc by which the path reached the node (-1 at the path's start),
 * counts as residual, as it will be after the push. So there is always a way out of a dead end.
 */
static void relabel(struct scaling *scaling, int32_t node, int32_t back, int64_t least)
{
	const struct residual *arcs = scaling->arcs;
	const int64_t *price = scaling->price;

	if (back >= 0 && arcs[back].cost - price[arcs[back].head] < least)
		least = arcs[back].cost - price[arcs[back].head];
	for (int32_t i = scaling->first[node]; i < scaling->next[node]; i++) {
		int64_t seen = scaling_seen(price, &arcs[i]);

		least = seen < least ? seen : least;
	}
	scaling->scans += scaling->end[node] - scaling->first[node];
	scaling->relabels++;
	scaling->relabels_since_update++;
	if (least == INT64_MAX) { /* no outgoing arc has residual capacity, except perhaps fixed ones */
		scaling->infeasible = !scaling_deficits_reachable(scaling);
		scaling_release_fixed(scaling);
		return;
	}
	scaling->price[node] = -least - scaling->epsilon;
	scaling->next[node] = scaling->first[node];
	scaling->out_of_range = scaling->out_of_range || scaling->price[node] < PRICE_LOWEST;
}

/* Grows an admissible path from `start`, up to a deficit or to the maximum length. Returns its length. */
static int32_t grow_path(struct scaling *scaling, int32_t start, int32_t path[PATH_LONGEST])
{
	int32_t length = 0, tip = start;

	/*
	 * Ends when a global update is due. Otherwise, relabelling would never end in a part of the network from which
	 * no deficit can be reached; the update finds this out.
	 */
	while (length < PATH_LONGEST && (length == 0 || scaling->excess[tip] >= 0) && !is_update_due(scaling)) {
		int64_t least = INT64_MAX;
		int32_t arc = find_admissible(scaling, tip, &least);

		if (arc >= 0) {
			path[length++] = arc;
			tip = scaling->arcs[arc].head;
			continue;
		}
		relabel(scaling, tip, length > 0 ? scaling->reverse[path[length - 1]] : -1, least);
		if (scaling->infeasible || scaling->out_of_range)
			return 0;
		if (length > 0)
			tip = scaling->arcs[scaling->reverse[path[--length]]].head;
	}
	return length;
}

static void push_path(struct scaling *scaling, int32_t start, const int32_t *path, int32_t length)
{
	int32_t tail = start;

	for (int32_t i = 0; i < length; i++) {
		const struct residual *arc = &scaling->arcs[path[i]];
		int64_t amount = arc->residual < scaling->excess[tail] ? arc->residual : scaling->excess[tail];
		int32_t head = arc->head;

		scaling_push(scaling, tail, path[i], (int32_t)amount);
		if (scaling->excess[head] > 0)
			enqueue(scaling, head);
		tail = head;
	}
}

void scaling_refine(struct scaling *scaling)
{
	uint64_t relabels_most = scaling->relabels + RELABELS_PER_NODE_MOST * (uint64_t)scaling->node_count;
	int32_t path[PATH_LONGEST];

	begin_queue(scaling);
	scaling->phases++;
	scaling->relabels_per_update = relabels_per_update(scaling);
	scaling->relabels_since_update = scaling->relabels_per_update; /* begin with an update */
	while (scaling->queue_count > 0) {
		int32_t node = scaling->queue[scaling->queue_begin];

		if (scaling->excess[node] <= 0) {
			dequeue(scaling);
			continue;
		}
		if (is_update_due(scaling)) {
			if (!scaling_global_update(scaling))
				scaling->infeasible = true;
			scaling->relabels_since_update = 0;
			scaling_report(scaling);
			if (scaling->has_fixed && scaling->relabels > relabels_most)
				scaling_release_fixed(scaling);
		}
		if (!scaling->infeasible && !scaling->out_of_range)
			push_path(scaling, node, path, grow_path(scaling, node, path));
		if (scaling->infeasible || scaling->out_of_range)
			return;
	}
}
