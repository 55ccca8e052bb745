/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels for AVX2 and AVX-512, chosen at run time; see kernel.c for the arithmetic. AVX2 looks costs up with a
 * gather. AVX-512 keeps a table of up to 128 entries in four registers and looks 32 costs up at a time with vpermi2w;
 * it uses a gather for larger tables.
 */
#ifdef __x86_64__

#include <immintrin.h>

#include "cost_priv.h"

bool cost_avx2_usable(void)
{
	return __builtin_cpu_supports("avx2");
}

bool cost_avx512_usable(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl");
}

/*
 * Return the smallest and the largest of eight 16-bit values. Only one instruction compares the values within one
 * register: phminposuw, which finds the smallest. So largest_of() inverts all bits before and after it.
 */
__attribute__((target("sse4.1"))) static inline uint16_t smallest_of(__m128i values)
{
	return (uint16_t)_mm_extract_epi16(_mm_minpos_epu16(values), 0);
}

__attribute__((target("sse4.1"))) static inline uint16_t largest_of(__m128i values)
{
	return (uint16_t)~smallest_of(_mm_xor_si128(values, _mm_set1_epi16(-1)));
}

__attribute__((target("avx2"))) static inline __m256i lookup_avx2(const struct cost_table *table, const float *rtt_us,
								  __m256 limit)
{
	__m256 rtt = _mm256_loadu_ps(rtt_us);
	__m256 added = _mm256_max_ps(_mm256_setzero_ps(), _mm256_sub_ps(rtt, _mm256_set1_ps(table->baseline_us)));
	__m256 index = _mm256_add_ps(_mm256_mul_ps(added, _mm256_set1_ps(table->per_us)), _mm256_set1_ps(1.5f));
	__m256 absent = _mm256_cmp_ps(rtt, _mm256_setzero_ps(), _CMP_LT_OQ);

	index = _mm256_andnot_ps(absent, _mm256_min_ps(index, limit));
	return _mm256_i32gather_epi32(table->cost, _mm256_cvttps_epi32(index), 4);
}

__attribute__((target("avx2"))) void cost_rack_avx2(const struct cost_table *table, const float *rtt_us,
						    uint32_t columns, uint16_t *cost, uint16_t *maximum,
						    uint16_t *minimum)
{
	__m256 limit = _mm256_set1_ps((float)(table->count - 1));
	__m256i largest = _mm256_setzero_si256(), smallest = _mm256_set1_epi16(-1);

	for (uint32_t c = 0; c < columns; c += 16) {
		__m256i packed = _mm256_packus_epi32(lookup_avx2(table, rtt_us + c, limit),
						     lookup_avx2(table, rtt_us + c + 8, limit));

		packed = _mm256_permute4x64_epi64(packed, 0xd8);
		_mm256_storeu_si256((__m256i *)(void *)(cost + c), packed);
		largest = _mm256_max_epu16(largest,
					   _mm256_add_epi16(packed, _mm256_set1_epi16((short)COST_MAXIMUM_BIAS)));
		smallest = _mm256_min_epu16(smallest, packed);
	}
	*maximum = (uint16_t)(largest_of(_mm_max_epu16(_mm256_castsi256_si128(largest),
						       _mm256_extracti128_si256(largest, 1))) -
			      COST_MAXIMUM_BIAS);
	*minimum = smallest_of(_mm_min_epu16(_mm256_castsi256_si128(smallest), _mm256_extracti128_si256(smallest, 1)));
}

#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

TARGET_AVX512 static inline __m512i index_avx512(const float *rtt_us, __m512 baseline, __m512 per_us, __m512 limit)
{
	__m512 rtt = _mm512_loadu_ps(rtt_us);
	__mmask16 present = _mm512_cmp_ps_mask(rtt, _mm512_setzero_ps(), _CMP_NLT_UQ);
	__m512 added = _mm512_max_ps(_mm512_setzero_ps(), _mm512_sub_ps(rtt, baseline));
	/* Separate multiply and add: a fused one would round differently from the other kernels. */
	__m512 index = _mm512_add_ps(_mm512_mul_ps(added, per_us), _mm512_set1_ps(1.5f));

	return _mm512_maskz_cvttps_epi32(present, _mm512_min_ps(index, limit));
}

/* Looks up sixteen costs of 16 bits. */
TARGET_AVX512 static inline __m256i lookup_16(const struct cost_table *table, __m512i index)
{
	return _mm512_cvtepi32_epi16(_mm512_i32gather_epi32(index, table->cost, 4));
}

TARGET_AVX512 static void rack_large_table(const struct cost_table *table, const float *rtt_us, uint32_t columns,
					   uint16_t *cost, __m256i *largest, __m256i *smallest)
{
	__m256i bias = _mm256_set1_epi16((short)COST_MAXIMUM_BIAS);
	__m512 baseline = _mm512_set1_ps(table->baseline_us), per_us = _mm512_set1_ps(table->per_us),
	       limit = _mm512_set1_ps((float)(table->count - 1));

	for (uint32_t c = 0; c < columns; c += 16) {
		__m256i value = lookup_16(table, index_avx512(rtt_us + c, baseline, per_us, limit));

		_mm256_storeu_si256((__m256i *)(void *)(cost + c), value);
		*largest = _mm256_max_epu16(*largest, _mm256_add_epi16(value, bias));
		*smallest = _mm256_min_epu16(*smallest, value);
	}
}

/* The table's first 128 entries. */
struct small_table {
	__m512i low_a, low_b, high_a, high_b;
};

/* Looks up thirty-two costs. */
TARGET_AVX512 static inline __m512i lookup_32(const struct small_table *table, __m512i index)
{
	__mmask32 high = _mm512_test_epi16_mask(index, _mm512_set1_epi16(64));
	__m512i low_half = _mm512_permutex2var_epi16(table->low_a, index, table->low_b);

	return _mm512_mask_mov_epi16(low_half, high, _mm512_permutex2var_epi16(table->high_a, index, table->high_b));
}

TARGET_AVX512 static void rack_small_table(const struct cost_table *table, const float *rtt_us, uint32_t columns,
					   uint16_t *cost, __m256i *largest, __m256i *smallest)
{
	__m512 baseline = _mm512_set1_ps(table->baseline_us), per_us = _mm512_set1_ps(table->per_us),
	       limit = _mm512_set1_ps((float)(table->count - 1));
	struct small_table small = {_mm512_load_si512(table->small), _mm512_load_si512(table->small + 32),
				    _mm512_load_si512(table->small + 64), _mm512_load_si512(table->small + 96)};
	__m512i bias = _mm512_set1_epi16((short)COST_MAXIMUM_BIAS);
	__m512i most = _mm512_setzero_si512(), fewest = _mm512_set1_epi16(-1);
	uint32_t c = 0;

	for (; c + 32 <= columns; c += 32) {
		__m256i first = _mm512_cvtepi32_epi16(index_avx512(rtt_us + c, baseline, per_us, limit));
		__m256i second = _mm512_cvtepi32_epi16(index_avx512(rtt_us + c + 16, baseline, per_us, limit));
		__m512i value = lookup_32(&small, _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1));

		_mm512_storeu_si512(cost + c, value);
		most = _mm512_max_epu16(most, _mm512_add_epi16(value, bias));
		fewest = _mm512_min_epu16(fewest, value);
	}
	*largest = _mm256_max_epu16(_mm512_castsi512_si256(most), _mm512_extracti64x4_epi64(most, 1));
	*smallest = _mm256_min_epu16(_mm512_castsi512_si256(fewest), _mm512_extracti64x4_epi64(fewest, 1));
	if (c < columns) {
		__m256i index = _mm512_cvtepi32_epi16(index_avx512(rtt_us + c, baseline, per_us, limit));
		__m256i value = _mm512_castsi512_si256(lookup_32(&small, _mm512_castsi256_si512(index)));

		_mm256_storeu_si256((__m256i *)(void *)(cost + c), value);
		*largest = _mm256_max_epu16(*largest, _mm256_add_epi16(value, _mm512_castsi512_si256(bias)));
		*smallest = _mm256_min_epu16(*smallest, value);
	}
}

TARGET_AVX512 void cost_rack_avx512(const struct cost_table *table, const float *rtt_us, uint32_t columns,
				    uint16_t *cost, uint16_t *maximum, uint16_t *minimum)
{
	__m256i largest = _mm256_setzero_si256(), smallest = _mm256_set1_epi16(-1);

	if (table->count <= COST_TABLE_SMALL)
		rack_small_table(table, rtt_us, columns, cost, &largest, &smallest);
	else
		rack_large_table(table, rtt_us, columns, cost, &largest, &smallest);
	*maximum = (uint16_t)(largest_of(_mm_max_epu16(_mm256_castsi256_si128(largest),
						       _mm256_extracti128_si256(largest, 1))) -
			      COST_MAXIMUM_BIAS);
	*minimum = smallest_of(_mm_min_epu16(_mm256_castsi256_si128(smallest), _mm256_extracti128_si256(smallest, 1)));
}

#endif
