/* SPDX-License-Identifier: BSD-3-Clause */
#include "structured_search.h"

int32_t near_arcs_portable(const struct arc *arcs, int32_t count, const struct near_scope *scope, int32_t *near,
			   int32_t *seen)
{
	int32_t found = 0, i = 0;

	for (; i < count && scope->base + arcs[i].cost + scope->market_price < scope->below; i++) {
		int32_t target = arcs[i].target, column = target < 0 ? 0 : target;
		int32_t distance = scope->base + arcs[i].cost + scope->prices[column];
		uint64_t label = scope->era | (uint32_t)distance;

		near[found] = i;
		found += (target < 0) | ((distance < scope->below) & (!scope->labels || label < scope->labels[column]));
	}
	*seen = i;
	return found;
}

#if defined(__x86_64__)
#include <immintrin.h>

enum { LANES = 16 };

/* Which of eight lanes have a distance that is nearer than their column's label says. */
__attribute__((target("avx512f"))) static __mmask8 nearer(const struct near_scope *scope, __mmask8 lanes,
							  __m256i column, __m256i distance)
{
	__m512i known = _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), lanes, column, scope->labels, 8);
	__m512i label = _mm512_or_si512(_mm512_cvtepu32_epi64(distance), _mm512_set1_epi64((int64_t)scope->era));

	return _mm512_mask_cmplt_epu64_mask(lanes, label, known);
}

/* What is found is written a vector at a time: never behind place SEARCH_SPAN, since as much has been looked at. */
__attribute__((target("avx512f"))) int32_t
near_arcs_avx512(const struct arc *arcs, int32_t count, const struct near_scope *scope, int32_t *near, int32_t *seen)
{
	const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
	const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi32(1)), zero = _mm512_setzero_si512();
	const __m512i base = _mm512_set1_epi32(scope->base), below = _mm512_set1_epi32(scope->below);
	const __m512i market = _mm512_set1_epi32(scope->market_price), places = _mm512_srli_epi32(even, 1);
	int32_t found = 0;

	for (int32_t i = 0; i < count; i += LANES) {
		__mmask16 lanes = count - i < LANES ? (__mmask16)((1 << (count - i)) - 1) : UINT16_MAX;
		__m512i low = _mm512_maskz_loadu_epi64((__mmask8)lanes, arcs + i);
		__m512i high = _mm512_maskz_loadu_epi64((__mmask8)(lanes >> 8), arcs + i + LANES / 2);
		__m512i target = _mm512_permutex2var_epi32(low, even, high);
		__m512i distance = _mm512_add_epi32(_mm512_permutex2var_epi32(low, odd, high), base);
		__mmask16 within = _mm512_mask_cmplt_epi32_mask(lanes, _mm512_add_epi32(distance, market), below);
		__mmask16 blocks = _mm512_mask_cmplt_epi32_mask(within, target, zero);
		__mmask16 columns = within & (__mmask16)~blocks;

		distance = _mm512_add_epi32(distance,
					    _mm512_mask_i32gather_epi32(zero, columns, target, scope->prices, 4));
		columns = _mm512_mask_cmplt_epi32_mask(columns, distance, below);
		if (scope->labels && columns) {
			__mmask8 first = nearer(scope, (__mmask8)columns, _mm512_castsi512_si256(target),
						_mm512_castsi512_si256(distance));
			__mmask8 last = nearer(scope, (__mmask8)(columns >> 8), _mm512_extracti64x4_epi64(target, 1),
					       _mm512_extracti64x4_epi64(distance, 1));

			columns = (__mmask16)(first | last << 8);
		}
		__mmask16 those = columns | blocks;

		_mm512_storeu_si512(near + found,
				    _mm512_maskz_compress_epi32(those, _mm512_add_epi32(places, _mm512_set1_epi32(i))));
		found += __builtin_popcount(those);
		if (within != lanes) {
			*seen = i + __builtin_popcount(within);
			return found;
		}
	}
	*seen = count;
	return found;
}
#endif

int32_t near_arcs(const struct arc *arcs, int32_t count, const struct near_scope *scope, int32_t *near, int32_t *seen)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f"))
		return near_arcs_avx512(arcs, count, scope, near, seen);
#endif
	return near_arcs_portable(arcs, count, scope, near, seen);
}
