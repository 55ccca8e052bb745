/* SPDX-License-Identifier: BSD-3-Clause */
/* The simplex's pricing by vectors picks the same arc as the portable one: many ties, ragged ends, wrapped numbers. */
#include <criterion/criterion.h>

#include <base/rng.h>

#include "simplex_price_priv.h"

enum { NODES = 50, ARCS = 500, DRAWS = 20000 };

#if defined(__x86_64__)
static void draw_network(struct rng *rng, struct mcf_simplex *simplex)
{
	int32_t span = rng_below(rng, 2) ? 3 : 1000000;
	uint32_t drift = (uint32_t)rng_next(rng);

	for (int v = 0; v < NODES; v++)
		simplex->narrow_potential[v] = (int32_t)(drift + (uint32_t)rng_below(rng, (uint64_t)span));
	for (int a = 0; a < ARCS; a++) {
		simplex->priced.tail[a] = (int32_t)rng_below(rng, NODES);
		simplex->priced.head[a] = (int32_t)rng_below(rng, NODES);
		simplex->priced.narrow_cost[a] = (int32_t)rng_below(rng, (uint64_t)(2 * span)) - span;
	}
}

Test(mcf_price, vectors_pick_what_the_portable_way_picks)
{
	static int32_t tail[ARCS], head[ARCS], cost[ARCS], potential[NODES];
	struct mcf_simplex simplex = {.priced = {.tail = tail, .head = head, .narrow_cost = cost},
				      .narrow_potential = potential};
	struct rng rng;

	if (!__builtin_cpu_supports("avx512f"))
		cr_skip_test("this processor has no AVX-512");
	rng_seed(&rng, 7);
	for (int draw = 0; draw < DRAWS; draw++) {
		int32_t begin = (int32_t)rng_below(&rng, ARCS),
			end = begin + (int32_t)rng_below(&rng, ARCS - begin + 1);
		/* What an earlier range has found stays unless it is beaten. */
		struct entering_arc found = {-1, rng_below(&rng, 2) ? 0 : -2}, wanted = found;

		if (draw % 50 == 0)
			draw_network(&rng, &simplex);
		simplex_price_portable(&simplex, begin, end, &wanted);
		simplex_price_avx512(&simplex, begin, end, &found);
		cr_assert_eq(found.arc, wanted.arc, "arcs %d to %d: %d, not %d", begin, end, found.arc, wanted.arc);
		cr_assert_eq(found.reduced, wanted.reduced);
		simplex.arc_count = draw % (ARCS + 1);
		simplex.trial_arcs = 0;
		simplex_choose_pricing(&simplex);
		cr_assert_eq(simplex.trial_arcs, simplex.arc_count);
		found = wanted = (struct entering_arc){-1, 0};
		simplex_price_portable(&simplex, begin, end, &wanted);
		simplex_price_narrow(&simplex, begin, end, &found);
		cr_assert_eq(found.arc, wanted.arc, "whichever way was the quicker one");
	}
}
#endif
