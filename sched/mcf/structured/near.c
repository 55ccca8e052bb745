/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Without branches on what is near, which are unpredictable. Vectors that gather prices and labels were no faster in
 * rounds, and made a start from nothing a tenth slower.
 */
#include "structured_search.h"

int32_t near_references(const struct reference *items, int32_t count, const int32_t *group_prices, int32_t below,
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

int32_t near_arcs(const struct arc *arcs, int32_t count, const struct near_scope *scope, int32_t *near, int32_t *seen)
{
	int32_t found = 0, i = 0;

	for (; i < count && scope->base + arcs[i].cost + scope->aggregator_price < scope->below; i++) {
		int32_t target = arcs[i].target, column = target < 0 ? 0 : target;
		int32_t distance = scope->base + arcs[i].cost + scope->prices[column];
		uint64_t label = scope->label_base | (uint32_t)distance;

		near[found] = i;
		found += (target < 0) | ((distance < scope->below) & (!scope->labels || label < scope->labels[column]));
	}
	*seen = i;
	return found;
}
