/* SPDX-License-Identifier: BSD-3-Clause */
/* The vectors find the same near references as the portable way: spare items, full arcs, ragged ends, ties. */
#include <criterion/criterion.h>

#include <base/rng.h>

#include "structured_search.h"

enum { GROUPS = 300, DRAWS = 20000 };

#if defined(__x86_64__)
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

Test(structured_near, vectors_find_what_the_portable_way_finds)
{
	int32_t bids[GROUPS], near[SEARCH_SPAN], wanted[SEARCH_SPAN], total = 0;
	struct reference items[SEARCH_SPAN];
	struct rng rng;

	if (!__builtin_cpu_supports("avx512f"))
		cr_skip_test("this processor has no AVX-512");
	rng_seed(&rng, 11);
	for (int32_t draw = 0; draw < DRAWS; draw++) {
		int32_t count = (int32_t)rng_below(&rng, SEARCH_SPAN + 1), below = (int32_t)rng_below(&rng, 9) - 4;

		for (int32_t g = 0; g < GROUPS && draw % 50 == 0; g++)
			bids[g] = rng_below(&rng, 9) ? 98 + (int32_t)rng_below(&rng, 10) : BIDS_NOTHING;
		draw_items(&rng, items, count);
		int32_t found = near_portable(items, count, bids, below, wanted);

		cr_assert_eq(near_avx512(items, count, bids, below, near), found, "draw %d", draw);
		for (int32_t i = 0; i < found; i++)
			cr_assert_eq(near[i], wanted[i], "draw %d: place %d, not %d", draw, near[i], wanted[i]);
		total += found;
	}
	cr_assert_gt(total, DRAWS);
}
#endif

Test(structured_near, a_reference_is_near_when_its_cost_exceeds_the_bid_by_less)
{
	const struct reference items[] = {{0, 105}, {NONE, 0}, {1, REFERENCE_FULL}, {1, 104}, {2, 100}};
	const int32_t bids[] = {103, 103, BIDS_NOTHING};
	int32_t near[5];

	cr_assert_eq(near_portable(items, 5, bids, 2, near), 1);
	cr_assert_eq(near[0], 3);
	cr_assert_eq(near_references(items, 5, bids, 3, near), 2);
	cr_assert_eq(near[0], 0);
	cr_assert_eq(near[1], 3);
}
