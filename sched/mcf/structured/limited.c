/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limited arcs: finds one, returns its capacity or residual capacity, and changes its flow or capacity. See running.c.
 */
#include "structured_priv.h"

int32_t limited_find(const struct group *group, int32_t column, int32_t cost)
{
	int32_t low = 0, high = group->limited_count;

	while (low < high) {
		int32_t middle = low + (high - low) / 2;
		const struct running *running = &group->running[middle];

		if (running->cost < cost || (running->cost == cost && running->column < column))
			low = middle + 1;
		else
			high = middle;
	}
	return low < group->limited_count && group->running[low].column == column && group->running[low].cost == cost
		       ? low
		       : NONE;
}

int32_t arc_capacity(const struct group *group, int32_t target, int32_t cost)
{
	int32_t place = limited_find(group, target, cost);

	return place == NONE ? INT32_MAX : group->running[place].units;
}

/*
 * Units that use a block or the aggregator at the same cost count as units on this arc, so the result may be too small.
 */
int32_t arc_residual_at(const struct group *group, int32_t target, int32_t cost)
{
	int32_t place = limited_find(group, target, cost);

	if (place == NONE)
		return INT32_MAX;
	int32_t room = group->running[place].units - group->running[place].flow;

	return room > 0 ? room : 0;
}

void limited_change(struct structured *state, int32_t group, int32_t place, int32_t flow, int32_t units)
{
	struct group *g = &state->groups[group];
	struct running *running = &g->running[place];
	bool was_full = running->flow >= running->units, full;

	running->flow += flow;
	running->units += units;
	full = running->flow >= running->units;
	if (full == was_full)
		return;
	struct link *link = &g->links[running->arc];

	link->full = full;
	if (state->referenced)
		state->column_references[running->column].items[link->place].cost =
			full ? REFERENCE_FULL : running->cost;
}
