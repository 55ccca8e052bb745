/* SPDX-License-Identifier: BSD-3-Clause */
/* What is near, by its definition: spare items, full arcs, labels of this search and others, links. */
#include <criterion/criterion.h>

#include <base/rng.h>

#include "structured_search.h"

enum { GROUPS = 300, COLUMNS = 200, DRAWS = 20000 };

static void draw_items(struct rng *rng, struct reference *items, int32_t count)
{
	for (int32_t i = 0; i < count; i++) {
		int32_t cost = 100 + (int32_t)rng_below(rng, 6);

		items[i] =
			(struct reference){(int32_t)rng_below(rng, GROUPS), rng_below(rng, 8) ? cost : REFERENCE_FULL};
		if (rng_below(rng, 10) == 0)
			items[i] = (struct reference){NONE, (int32_t)rng_below(rng, SEARCH_SPAN)};
	}
}

Test(structured_near, references_are_found_by_their_definition)
{
	int32_t group_prices[GROUPS] = {0}, near[SEARCH_SPAN], wanted[SEARCH_SPAN], total = 0;
	struct reference items[SEARCH_SPAN];
	struct rng rng;

	rng_seed(&rng, 11);
	for (int32_t draw = 0; draw < DRAWS; draw++) {
		int32_t count = (int32_t)rng_below(&rng, SEARCH_SPAN + 1), below = (int32_t)rng_below(&rng, 9) - 4;

		for (int32_t g = 0; g < GROUPS && draw % 50 == 0; g++)
			group_prices[g] = rng_below(&rng, 9) ? 98 + (int32_t)rng_below(&rng, 10) : PRICE_NO_SUPPLY;
		draw_items(&rng, items, count);
		int32_t found = 0;

		for (int32_t i = 0; i < count; i++) {
			if (items[i].group != NONE && items[i].cost < group_prices[items[i].group] + below)
				wanted[found++] = i;
		}
		cr_assert_eq(near_references(items, count, group_prices, below, near), found, "draw %d", draw);
		for (int32_t i = 0; i < found; i++)
			cr_assert_eq(near[i], wanted[i], "draw %d: place %d, not %d", draw, near[i], wanted[i]);
		total += found;
	}
	cr_assert_gt(total, DRAWS);
}

/* Ascending by cost, a tenth of them to blocks. */
static void draw_arcs(struct rng *rng, struct arc *arcs, int32_t count)
{
	int32_t cost = 100;

	for (int32_t i = 0; i < count; i++) {
		int32_t target = (int32_t)rng_below(rng, COLUMNS);

		cost += rng_below(rng, 8) == 0;
		arcs[i] = (struct arc){rng_below(rng, 10) ? target : ~target, cost};
	}
}

/* A column's label is of this search, and says how near it is known to be; or it is of an earlier one. */
static bool is_wanted(const struct arc *arc, const struct near_scope *scope)
{
	int32_t distance;

	if (scope->base + arc->cost + scope->aggregator_price >= scope->below)
		return false;
	if (arc->target < 0)
		return true;
	distance = scope->base + arc->cost + scope->prices[arc->target];
	if (distance >= scope->below || !scope->labels || scope->labels[arc->target] >> 32 != scope->label_base >> 32)
		return distance < scope->below;
	return distance < (int32_t)(scope->labels[arc->target] & UINT32_MAX);
}

static int32_t wanted_arcs(const struct arc *arcs, int32_t count, const struct near_scope *scope, int32_t *wanted)
{
	int32_t found = 0;

	for (int32_t i = 0; i < count; i++) {
		if (is_wanted(&arcs[i], scope))
			wanted[found++] = i;
	}
	return found;
}

Test(structured_near, arcs_are_found_by_their_definition)
{
	int32_t prices[COLUMNS], near[SEARCH_SPAN], wanted[SEARCH_SPAN], seen, total = 0, pruned = 0;
	struct arc arcs[SEARCH_SPAN];
	uint64_t labels[COLUMNS];
	struct rng rng;

	rng_seed(&rng, 17);
	for (int32_t draw = 0; draw < DRAWS; draw++) {
		int32_t count = (int32_t)rng_below(&rng, SEARCH_SPAN + 1);
		struct near_scope scope = {.prices = prices,
					   .labels = rng_below(&rng, 4) ? labels : NULL,
					   .label_base = UINT64_C(0xfffffff0) << 32,
					   .base = -100 - (int32_t)rng_below(&rng, 3), /* no distance is negative */
					   .aggregator_price = (int32_t)rng_below(&rng, 3),
					   .below = 1 + (int32_t)rng_below(&rng, 12)};

		for (int32_t c = 0; c < COLUMNS && draw % 20 == 0; c++) {
			prices[c] = rng_below(&rng, 9) ? 2 + (int32_t)rng_below(&rng, 8) : PRICE_CLOSED;
			labels[c] = rng_below(&rng, 2) ? scope.label_base | rng_below(&rng, 12) : UINT64_MAX;
		}
		draw_arcs(&rng, arcs, count);
		int32_t found = wanted_arcs(arcs, count, &scope, wanted);

		cr_assert_eq(near_arcs(arcs, count, &scope, near, &seen), found, "draw %d", draw);
		cr_assert(seen == count || arcs[seen].cost + scope.aggregator_price >= scope.below - scope.base,
			  "draw %d", draw);
		cr_assert(seen == 0 || arcs[seen - 1].cost + scope.aggregator_price < scope.below - scope.base,
			  "draw %d", draw);
		for (int32_t i = 0; i < found; i++)
			cr_assert_eq(near[i], wanted[i], "draw %d: place %d, not %d", draw, near[i], wanted[i]);
		total += found;
		pruned += seen < count;
	}
	cr_assert_gt(total, DRAWS);
	cr_assert_gt(pruned, DRAWS / 10);
}

Test(structured_near, an_arc_is_near_over_a_block_or_to_a_column_that_its_label_says_is_farther)
{
	const struct arc arcs[] = {{0, 100}, {~0, 100}, {1, 101}, {2, 101}, {3, 102}, {~1, 109}};
	const int32_t prices[] = {5, 0, 0, 9};
	const uint64_t labels[] = {UINT64_MAX, 7U << 8 | 1, 7U << 8 | 2, UINT64_MAX};
	const struct near_scope scope = {.prices = prices,
					 .labels = labels,
					 .label_base = 7U << 8,
					 .base = -100,
					 .aggregator_price = 1,
					 .below = 6};
	int32_t near[SEARCH_SPAN], seen;

	/* Column 0 is at 5, 1 was at 1 before, 2 is at 1 and was at 2, 3 is too dear; the last block's arc is pruned.
	 */
	cr_assert_eq(near_arcs(arcs, 6, &scope, near, &seen), 3);
	cr_assert_eq(near[0], 0);
	cr_assert_eq(near[1], 1);
	cr_assert_eq(near[2], 3);
	cr_assert_eq(seen, 5);
}

Test(structured_near, a_reference_is_near_when_its_cost_exceeds_the_bid_by_less)
{
	const struct reference items[] = {{0, 105}, {NONE, 0}, {1, REFERENCE_FULL}, {1, 104}, {2, 100}};
	const int32_t group_prices[] = {103, 103, PRICE_NO_SUPPLY};
	int32_t near[5];

	cr_assert_eq(near_references(items, 5, group_prices, 2, near), 1);
	cr_assert_eq(near[0], 3);
	cr_assert_eq(near_references(items, 5, group_prices, 3, near), 2);
	cr_assert_eq(near[0], 0);
	cr_assert_eq(near[1], 3);
}
