/* SPDX-License-Identifier: BSD-3-Clause */
#include <base/ns.h>

#include "simplex_price_priv.h"

void simplex_price_portable(const struct mcf_simplex *simplex, int32_t begin, int32_t end, struct entering_arc *best)
{
	const int32_t *tail = simplex->priced.tail, *head = simplex->priced.head, *cost = simplex->priced.narrow_cost;
	const int32_t *potential = simplex->narrow_potential;
	int32_t least = (int32_t)best->reduced;

	for (int32_t a = begin; a < end; a++) {
		int32_t reduced =
			(int32_t)((uint32_t)cost[a] + (uint32_t)potential[tail[a]] - (uint32_t)potential[head[a]]);

		if (reduced < least) {
			least = reduced;
			best->arc = a;
		}
	}
	best->reduced = least;
}

#if defined(__x86_64__)
#include <immintrin.h>

enum { LANES = 16 };

/* Each lane keeps its own best; the lanes are compared at the end. */
__attribute__((target("avx512f"))) void simplex_price_avx512(const struct mcf_simplex *simplex, int32_t begin,
							     int32_t end, struct entering_arc *best)
{
	const int32_t *tail = simplex->priced.tail, *head = simplex->priced.head, *cost = simplex->priced.narrow_cost;
	const int32_t *potential = simplex->narrow_potential;
	__m512i least = _mm512_set1_epi32((int32_t)best->reduced), where = _mm512_set1_epi32(INT32_MAX);
	__m512i at = _mm512_add_epi32(_mm512_set1_epi32(begin),
				      _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
	int32_t a = begin, smallest;

	for (; a + LANES <= end; a += LANES) {
		__m512i reduced = _mm512_sub_epi32(
			_mm512_add_epi32(_mm512_loadu_si512(cost + a),
					 _mm512_i32gather_epi32(_mm512_loadu_si512(tail + a), potential, 4)),
			_mm512_i32gather_epi32(_mm512_loadu_si512(head + a), potential, 4));
		__mmask16 better = _mm512_cmplt_epi32_mask(reduced, least);

		least = _mm512_min_epi32(least, reduced);
		where = _mm512_mask_mov_epi32(where, better, at);
		at = _mm512_add_epi32(at, _mm512_set1_epi32(LANES));
	}
	smallest = _mm512_reduce_min_epi32(least);
	if (smallest < best->reduced) {
		__mmask16 equal = _mm512_cmpeq_epi32_mask(least, _mm512_set1_epi32(smallest));

		*best = (struct entering_arc){_mm512_mask_reduce_min_epi32(equal, where), smallest};
	}
	simplex_price_portable(simplex, a, end, best);
}
#endif

#if defined(__x86_64__)
enum { TRIAL_ARCS = 8192, TRIALS = 4 };

typedef void price_function(const struct mcf_simplex *simplex, int32_t begin, int32_t end, struct entering_arc *best);

static int64_t shortest_ns(const struct mcf_simplex *simplex, int32_t count, price_function *price)
{
	int64_t shortest = INT64_MAX;

	for (int i = 0; i < TRIALS; i++) {
		struct entering_arc best = {0};
		struct ns begin = ns_now_monotonic();

		price(simplex, 0, count, &best);
		int64_t took = ns_sub(ns_now_monotonic(), begin).v;

		shortest = took < shortest ? took : shortest;
	}
	return shortest;
}
#endif

void simplex_choose_pricing(struct mcf_simplex *simplex)
{
#if defined(__x86_64__)
	int32_t count = simplex->arc_count < TRIAL_ARCS ? simplex->arc_count : TRIAL_ARCS;

	if (count < 2 * simplex->trial_arcs || count == simplex->trial_arcs)
		return;
	simplex->trial_arcs = count;
	simplex->gathers =
		__builtin_cpu_supports("avx512f") &&
		shortest_ns(simplex, count, simplex_price_avx512) < shortest_ns(simplex, count, simplex_price_portable);
#else
	(void)simplex;
#endif
}

void simplex_price_narrow(const struct mcf_simplex *simplex, int32_t begin, int32_t end, struct entering_arc *best)
{
#if defined(__x86_64__)
	if (simplex->gathers) {
		simplex_price_avx512(simplex, begin, end, best);
		return;
	}
#endif
	simplex_price_portable(simplex, begin, end, best);
}
