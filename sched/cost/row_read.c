/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks up arcs in one row. */
#include <base/array.h>

#include "cost_priv.h"

uint32_t row_find_span(const struct cost_row *row, uint32_t rack)
{
	uint32_t at;

	SEARCH_LOWER_BOUND(at, 0, row->span_count, row->spans[at].rack < rack);
	return at;
}

uint32_t row_find_rack(const struct cost_row *row, uint32_t rack)
{
	uint32_t at;

	SEARCH_LOWER_BOUND(at, 0, row->rack_count, (uint32_t)row->racks[at].target < rack);
	return at;
}

/*
 * A rack's machines usually have consecutive numbers, and nearly all of them have an arc. So the search starts at the
 * index that the machine's arc has if no arc is missing; it goes down from there, then up.
 */
static int32_t machine_among(const struct arc *arcs, uint32_t count, uint32_t machine)
{
	int64_t ahead = count > 0 ? (int64_t)machine - arcs[0].target : 0;
	uint32_t guess = ahead < 0 || count == 0 ? 0 : ahead < count ? (uint32_t)ahead : count - 1;

	for (uint32_t i = guess + 1; i > 0 && i <= count; i--) {
		if (arcs[i - 1].target == (int32_t)machine)
			return arcs[i - 1].cost;
	}
	for (uint32_t i = guess + 1; i < count; i++) {
		if (arcs[i].target == (int32_t)machine)
			return arcs[i].cost;
	}
	return COST_ABSENT;
}

int32_t cost_row_machine(const struct cost_row *row, uint32_t rack, uint32_t machine)
{
	uint32_t span, first;

	if (!row->spans)
		return machine_among(row->machines, row->machine_count, machine);
	span = row_find_span(row, rack);
	if (span == row->span_count || row->spans[span].rack != rack)
		return COST_ABSENT;
	first = row->spans[span].first;
	return machine_among(row->machines + first, row->spans[span + 1].first - first, machine);
}

int32_t cost_row_rack_cost(const struct cost_row *row, uint32_t rack)
{
	uint32_t place = row_find_rack(row, rack);

	return place < row->rack_count && row->racks[place].target == (int32_t)rack ? row->racks[place].cost
										    : COST_ABSENT;
}

struct block_arcs cost_row_rack(const struct cost_row *row, uint32_t rack)
{
	uint32_t span = row_find_span(row, rack);
	int32_t cost = cost_row_rack_cost(row, rack);
	struct block_arcs arcs = {.block = (int32_t)rack, .cost = cost == COST_ABSENT ? ARC_ABSENT : cost};

	if (span < row->span_count && row->spans[span].rack == rack) {
		arcs.columns = row->machines + row->spans[span].first;
		arcs.column_count = (int32_t)(row->spans[span + 1].first - row->spans[span].first);
	}
	return arcs;
}
