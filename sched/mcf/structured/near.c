/* SPDX-License-Identifier: BSD-3-Clause */
#include "structured_search.h"

int32_t near_portable(const struct reference *items, int32_t count, const int32_t *bids, int32_t below, int32_t *near)
{
	int32_t found = 0;

	for (int32_t i = 0; i < count; i++) {
		int32_t group = items[i].group == NONE ? 0 : items[i].group;

		near[found] = i;
		found += (items[i].group != NONE) & (items[i].cost - bids[group] < below);
	}
	return found;
}

#if defined(__x86_64__)
#include <immintrin.h>

enum { LANES = 16 };

/* Few are near: what is stored are the bits that are set. */
__attribute__((target("avx512f"))) int32_t near_avx512(const struct reference *items, int32_t count,
						       const int32_t *bids, int32_t below, int32_t *near)
{
	const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
	const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi32(1)), limit = _mm512_set1_epi32(below);
	int32_t found = 0, i = 0;

	for (; i + LANES <= count; i += LANES) {
		__m512i low = _mm512_loadu_si512(items + i), high = _mm512_loadu_si512(items + i + LANES / 2);
		__m512i group = _mm512_permutex2var_epi32(low, even, high);
		__m512i cost = _mm512_permutex2var_epi32(low, odd, high);
		__mmask16 named = _mm512_cmpge_epi32_mask(group, _mm512_setzero_si512());
		__m512i bid = _mm512_mask_i32gather_epi32(limit, named, group, bids, 4);

		for (uint32_t bits = _mm512_mask_cmplt_epi32_mask(named, _mm512_sub_epi32(cost, bid), limit); bits != 0;
		     bits &= bits - 1)
			near[found++] = i + __builtin_ctz(bits);
	}
	int32_t rest = near_portable(items + i, count - i, bids, below, near + found);

	for (int32_t k = 0; k < rest && i > 0; k++)
		near[found + k] += i;
	return found + rest;
}
#endif

int32_t near_references(const struct reference *items, int32_t count, const int32_t *bids, int32_t below, int32_t *near)
{
#if defined(__x86_64__)
	if (count >= LANES && __builtin_cpu_supports("avx512f"))
		return near_avx512(items, count, bids, below, near);
#endif
	return near_portable(items, count, bids, below, near);
}
