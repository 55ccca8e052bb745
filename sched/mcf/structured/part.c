/* SPDX-License-Identifier: BSD-3-Clause */
#include "structured_part.h"

_Static_assert((int)NONE == (int)ARC_ABSENT, "what is not wanted is the same of columns and of blocks");

/* Without branches on what stays: that is not foreseeable. */
void part_portable(struct parting *parting, int32_t first, int32_t end)
{
	struct arc *arcs = parting->arcs;
	struct tie *ties = parting->ties;
	struct parted_arc *left = parting->left;
	int32_t kept = parting->kept, left_count = parting->left_count;

	for (int32_t i = first; i < end; i++) {
		struct arc arc = arcs[i];
		struct tie tie = ties[i];
		int32_t *wanted =
			arc.target >= 0 ? &parting->wanted[arc.target] : &parting->blocks[~arc.target].row_cost;
		bool changes = *wanted != (arc.target >= 0 ? 0 : INT32_MAX);
		bool stays = *wanted == arc.cost + (arc.target >= 0);

		*wanted = stays ? NONE : *wanted;
		left[left_count] = (struct parted_arc){arc.target, tie.place};
		arcs[kept] = arc;
		ties[kept] = tie;
		left_count += changes & !stays;
		kept += !changes | stays;
	}
	parting->kept = kept;
	parting->left_count = left_count;
}

#if defined(__x86_64__)
#include <immintrin.h>

enum { LANES = 16, HALF = 8, FLAG_BITS = 2 };

_Static_assert(sizeof(struct tie) == sizeof(int32_t), "a tie is a lane: the place below two flags");

#define TARGET_AVX512 __attribute__((target("avx512f,popcnt")))

/* Lanes of `keep` close up behind what is kept; no more than those is written, for the array may end there. */
TARGET_AVX512 static void keep_lanes(struct parting *parting, __m512i low, __m512i high, __m512i ties, __mmask16 keep)
{
	__mmask8 low_keep = (__mmask8)keep, high_keep = (__mmask8)(keep >> HALF);
	int32_t kept = parting->kept, low_count = __builtin_popcount(low_keep), count = __builtin_popcount(keep);
	struct arc *arcs = parting->arcs + kept;

	_mm512_mask_storeu_epi64(arcs, (__mmask8)((1U << low_count) - 1), _mm512_maskz_compress_epi64(low_keep, low));
	_mm512_mask_storeu_epi64(arcs + low_count, (__mmask8)((1U << (count - low_count)) - 1),
				 _mm512_maskz_compress_epi64(high_keep, high));
	_mm512_mask_storeu_epi32(parting->ties + kept, (__mmask16)((1U << count) - 1),
				 _mm512_maskz_compress_epi32(keep, ties));
	parting->kept = kept + count;
}

/* The slack takes what is written beyond those of `leave`. */
TARGET_AVX512 static void leave_lanes(struct parting *parting, __m512i targets, __m512i ties, __mmask16 leave)
{
	const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
	const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(HALF));
	__m512i places = _mm512_srai_epi32(_mm512_slli_epi32(ties, FLAG_BITS), FLAG_BITS);
	struct parted_arc *left = parting->left + parting->left_count;

	targets = _mm512_maskz_compress_epi32(leave, targets);
	places = _mm512_maskz_compress_epi32(leave, places);
	_mm512_storeu_si512(left, _mm512_permutex2var_epi32(targets, first, places));
	_mm512_storeu_si512(left + HALF, _mm512_permutex2var_epi32(targets, second, places));
	parting->left_count += __builtin_popcount(leave);
}

/* `here` tells which lanes are arcs. False, with nothing done: an arc to a block is among them. */
TARGET_AVX512 static bool part_lanes(struct parting *parting, int32_t first, __mmask16 here)
{
	const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
	const __m512i one = _mm512_set1_epi32(1), odd = _mm512_or_si512(even, one);
	__m512i low = _mm512_maskz_loadu_epi64((__mmask8)here, parting->arcs + first);
	__m512i high = _mm512_maskz_loadu_epi64((__mmask8)(here >> HALF), parting->arcs + first + HALF);
	__m512i targets = _mm512_permutex2var_epi32(low, even, high), costs = _mm512_permutex2var_epi32(low, odd, high);
	__m512i ties = _mm512_maskz_loadu_epi32(here, parting->ties + first), wanted;
	__mmask16 stays, leaves;

	if (_mm512_cmplt_epi32_mask(targets, _mm512_setzero_si512()) != 0)
		return false;
	wanted = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), here, targets, parting->wanted, sizeof(int32_t));
	stays = _mm512_mask_cmpeq_epi32_mask(here, wanted, _mm512_add_epi32(costs, one));
	leaves = _mm512_test_epi32_mask(wanted, wanted) & (__mmask16)~stays;
	if (stays != 0)
		_mm512_mask_i32scatter_epi32(parting->wanted, stays, targets, _mm512_set1_epi32(NONE), sizeof(int32_t));
	if (leaves == 0 && parting->kept == first) {
		parting->kept += __builtin_popcount(here);
		return true;
	}
	keep_lanes(parting, low, high, ties, here & (__mmask16)~leaves);
	if (leaves != 0)
		leave_lanes(parting, targets, ties, leaves);
	return true;
}

TARGET_AVX512 void part_avx512(struct parting *parting, int32_t count)
{
	for (int32_t i = 0; i < count; i += LANES) {
		int32_t lanes = least(count - i, LANES);

		if (!part_lanes(parting, i, (__mmask16)((1U << lanes) - 1)))
			part_portable(parting, i, i + lanes);
	}
}
#endif

void part_arcs(struct parting *parting, int32_t count)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("popcnt")) {
		part_avx512(parting, count);
		return;
	}
#endif
	part_portable(parting, 0, count);
}
