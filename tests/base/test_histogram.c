/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/histogram.h>
#include <base/rng.h>

static int64_t draw(struct rng *rng)
{
	return (int64_t)exp(rng_uniform(rng) * 20); /* 1 .. 4.8e8, log-uniform */
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* How many values were over the range, as printed. */
static unsigned long long saturated(const struct histogram *histogram)
{
	unsigned long long count = 0;
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	cr_assert_eq(histogram_print(histogram, out), 0);
	fclose(out);
	cr_assert_eq(sscanf(text, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &count), 1, "%s", text);
	free(text);
	return count;
}

Test(histogram, percentiles_keep_their_digits)
{
	enum { N = 20000 };
	static int64_t values[N];

	for (int digits = 1; digits <= 4; digits++) {
		struct histogram *histogram = histogram_create(1, INT64_C(1000000000), digits);
		struct rng rng;

		cr_assert_not_null(histogram);
		rng_seed(&rng, (uint64_t)digits);
		for (int i = 0; i < N; i++) {
			values[i] = draw(&rng);
			histogram_record(histogram, values[i]);
		}
		qsort(values, N, sizeof values[0], by_value);
		for (double p = 0.1; p < 100; p += 0.7) {
			int64_t exact = values[(int)ceil(p / 100 * N - 1e-9) - 1];
			int64_t found = histogram_percentile(histogram, p);

			cr_assert_geq(found, exact);
			cr_assert_leq((double)(found - exact), (double)exact * pow(10, -digits) + 1e-9,
				      "p%g: %ld for %ld", p, (long)found, (long)exact);
		}
		cr_assert_eq(histogram_minimum(histogram), values[0]);
		cr_assert_eq(histogram_maximum(histogram), values[N - 1]);
		cr_assert_eq(histogram_percentile(histogram, 100), values[N - 1]);
		cr_assert_eq(histogram_count(histogram), N);
		histogram_destroy(histogram);
	}
}

/* The bucket of the largest value extends beyond that value. */
Test(histogram, no_percentile_is_over_the_maximum)
{
	struct histogram *histogram = histogram_create(1, 1000000, 1);

	histogram_record(histogram, 100000);
	for (double p = 0; p <= 100; p += 12.5)
		cr_assert_eq(histogram_percentile(histogram, p), 100000);
	histogram_destroy(histogram);
}

Test(histogram, every_value_lies_in_its_bucket_and_buckets_tile)
{
	struct histogram *histogram = histogram_create(4, 100000, 2);
	struct histogram_cursor cursor = {0};
	int64_t next = 0;
	uint64_t total = 0;

	for (int64_t value = 0; value <= 100000; value++)
		histogram_record(histogram, value);
	while (histogram_next(histogram, &cursor)) {
		cr_assert_eq(cursor.low, next);
		next = cursor.high + 1;
		total += cursor.count;
		if (cursor.high <= 100000)
			cr_assert_eq(cursor.count, (uint64_t)(cursor.high - cursor.low + 1));
	}
	cr_assert_eq(total, 100001);
	histogram_destroy(histogram);
}

Test(histogram, text_form_is_lossless)
{
	struct histogram *histogram = histogram_create(10, INT64_C(1) << 40, 3), *back;
	struct error err = {0};
	struct rng rng;
	char *text, *again;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	rng_seed(&rng, 9);
	for (int i = 0; i < 5000; i++)
		histogram_record_many(histogram, draw(&rng), 1 + rng_below(&rng, 5));
	histogram_record(histogram, INT64_C(1) << 40);
	cr_assert_eq(saturated(histogram), 0, "the highest value has its place");
	histogram_record(histogram, INT64_MAX); /* saturates */
	cr_assert_eq(histogram_print(histogram, out), 0);
	fclose(out);
	back = histogram_read(text, &err);
	cr_assert_not_null(back, "%s", err.text);
	out = open_memstream(&again, &bytes);
	histogram_print(back, out);
	fclose(out);
	cr_assert_str_eq(text, again);
	cr_assert_eq(histogram_mean(histogram), histogram_mean(back));
	cr_assert_eq(histogram_deviation(histogram), histogram_deviation(back));
	cr_assert_eq(saturated(back), 1);
	free(text);
	free(again);
	histogram_destroy(histogram);
	histogram_destroy(back);
}

Test(histogram, damaged_text_is_refused)
{
	static const char bad[][90] = {
		"",
		"nomora-histogram/1",
		"nomora-histogram/1 1 100 2 1 5 5 5 25 0", /* count without buckets */
		"nomora-histogram/1 1 100 2 1 5 5 5 25 0 5:2",
		"nomora-histogram/1 1 100 2 1 5 5 5 25 0 99999:1",
		"nomora-histogram/1 1 100 9 1 5 5 5 25 0 5:1",
		"nomora-histogram/1 1 100 2 2 5 5 5 25 0 5:1 5:1",
		"nomora-histogram/1 1 100 2 1 5 5 5 25 0 5:1 x",
		"nomora-histogram/1 1 100 2 1 5 4 5 25 0 5:1", /* minimum over maximum */
		"nomora-histogram/1 1 100 2 1 -5 5 5 25 0 5:1",
		"nomora-histogram/1 1 100 2 1 5 5 5 25 2 5:1", /* larger sum of counts than the count of values */
		"nomora-histogram/1 1 100 2 1 5 5 nan 25 0 5:1",
		"nomora-histogram/1 1 100 2 1 5 5 5 inf 0 5:1",
		"nomora-histogram/1 9223372036854775807 100 2 1 5 5 5 25 0 5:1",
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct error err = {0};

		cr_assert_null(histogram_read(bad[i], &err), "%s", bad[i]);
		cr_assert_eq(err.code, EINVAL);
	}
}

Test(histogram, merge_is_recording_into_one)
{
	struct histogram *a = histogram_create(1, 1000000, 3), *b = histogram_create(1, 1000000, 3);
	struct histogram *both = histogram_create(1, 1000000, 3), *other = histogram_create(1, 1000000, 2);
	struct rng rng;

	rng_seed(&rng, 5);
	for (int i = 0; i < 3000; i++) {
		int64_t value = (int64_t)rng_below(&rng, 1200000);

		histogram_record(i % 2 ? a : b, value);
		histogram_record(both, value);
	}
	cr_assert_eq(histogram_merge(a, b), 0);
	for (double p = 0; p <= 100; p += 0.5)
		cr_assert_eq(histogram_percentile(a, p), histogram_percentile(both, p));
	cr_assert_eq(histogram_mean(a), histogram_mean(both));
	cr_assert_eq(saturated(a), saturated(both));
	cr_assert_eq(histogram_merge(a, other), -EINVAL);
	histogram_destroy(a);
	histogram_destroy(b);
	histogram_destroy(both);
	histogram_destroy(other);
}

Test(histogram, a_reset_forgets_all)
{
	struct histogram *histogram = histogram_create(1, 1000000, 3);

	histogram_record(histogram, 1000);
	histogram_reset(histogram);
	cr_assert_eq(histogram_count(histogram), 0);
	histogram_record(histogram, 50);
	cr_assert_eq(histogram_count(histogram), 1);
	cr_assert_eq(histogram_maximum(histogram), 50);
	cr_assert_eq(histogram_percentile(histogram, 1), 50);
	cr_assert_eq(histogram_percentile(histogram, 100), 50);
	histogram_destroy(histogram);
}

Test(histogram, deviation_is_that_of_a_sample)
{
	struct histogram *histogram = histogram_create(1, 1000000, 3);

	histogram_record(histogram, 10);
	cr_assert_eq(histogram_deviation(histogram), 0);
	histogram_record(histogram, 20);
	cr_assert_float_eq(histogram_deviation(histogram), 7.0710678118654755, 1e-12);
	histogram_destroy(histogram);
}

Test(histogram, impossible_ranges_are_refused)
{
	cr_assert_null(histogram_create(0, 10, 2));
	cr_assert_null(histogram_create(10, 19, 2));
	cr_assert_null(histogram_create(1, 10, 0));
	cr_assert_null(histogram_create(1, 10, 6));
	cr_assert_null(histogram_create(1, INT64_MAX, 3));
	histogram_destroy(NULL);
}

Test(histogram, of_nothing_everything_is_0)
{
	struct histogram *histogram = histogram_create(1, 1000, 2);

	cr_assert_eq(histogram_percentile(histogram, 50), 0);
	cr_assert_eq(histogram_percentile(histogram, 100), 0);
	cr_assert_eq(histogram_deviation(histogram), 0);
	histogram_destroy(histogram);
}

/* The compact form gives the same answers as the array, both as a list and after its conversion to an array. */
Test(histogram, a_compact_one_says_the_same)
{
	struct rng rng;

	rng_seed(&rng, 7);
	for (int round = 0; round < 2; round++) {
		struct histogram *plain = histogram_create(1, INT64_C(1000000000), 2), *other;
		struct histogram *compact = histogram_create_compact(1, INT64_C(1000000000), 2, 1);
		struct histogram_cursor a = {0}, b = {0};
		size_t least = histogram_bytes(compact);
		int values = round ? 20000 : 100;

		cr_assert_lt(least, histogram_bytes(plain) / 20);
		for (int i = 0; i < values; i++) {
			int64_t value = draw(&rng);

			histogram_record(plain, value);
			histogram_record_many(compact, value, 1);
		}
		cr_assert_leq(histogram_bytes(compact), histogram_bytes(plain));
		for (double percentile = 0; percentile <= 100; percentile += 0.5)
			cr_assert_eq(histogram_percentile(compact, percentile),
				     histogram_percentile(plain, percentile));
		while (histogram_next(plain, &a)) {
			cr_assert_eq(histogram_next(compact, &b), 1);
			cr_assert(a.low == b.low && a.high == b.high && a.count == b.count);
		}
		cr_assert_eq(histogram_next(compact, &b), 0);
		other = histogram_create_compact(1, INT64_C(1000000000), 2, 1);
		cr_assert_eq(histogram_merge(other, compact) + histogram_merge(other, plain), 0);
		cr_assert_eq(histogram_count(other), 2 * histogram_count(plain));
		cr_assert_eq(histogram_percentile(other, 90), histogram_percentile(plain, 90));
		histogram_reset(compact);
		cr_assert_eq(histogram_count(compact), 0);
		cr_assert_eq(histogram_percentile(compact, 50), 0);
		histogram_destroy(other);
		histogram_destroy(compact);
		histogram_destroy(plain);
	}
}

Test(histogram, a_compact_one_counts_beyond_32_bits)
{
	struct histogram *compact = histogram_create_compact(1, 1000000, 2, 8);

	for (int i = 0; i < 3; i++)
		histogram_record_many(compact, 1000, UINT32_MAX - 1);
	histogram_record_many(compact, 2000, UINT64_C(1) << 40);
	cr_assert_eq(histogram_count(compact), 3 * (uint64_t)(UINT32_MAX - 1) + (UINT64_C(1) << 40));
	cr_assert_geq(histogram_percentile(compact, 50), 2000);
	cr_assert_lt(histogram_percentile(compact, 0.5), 2000);
	histogram_destroy(compact);
}

/* The first and the last value of the range, and a saturated one, count as every other. */
Test(histogram, a_read_one_keeps_a_minimum_of_0_and_the_whole_range)
{
	struct error err = {0};
	struct histogram *histogram = histogram_read("nomora-histogram/1 1 100 2 2 0 100 100 10000 0 0:1 100:1", &err);

	cr_assert_not_null(histogram, "%s", err.text);
	cr_assert_eq(histogram_minimum(histogram), 0);
	cr_assert_eq(histogram_maximum(histogram), 100);
	cr_assert_eq(histogram_count(histogram), 2);
	cr_assert_eq(histogram_mean(histogram), 50);
	histogram_destroy(histogram);
}

Test(histogram, a_compact_one_keeps_counts_of_many_and_of_one_slot)
{
	struct histogram *compact = histogram_create_compact(1, 1000000, 2, 4);
	struct histogram_cursor cursor = {0};

	histogram_record_many(compact, 10, UINT32_MAX);
	histogram_record_many(compact, 5, 2);
	histogram_record_many(compact, 20, 3);
	histogram_record_many(compact, 20, 4);
	for (int i = 0; i < 3; i++) {
		static const int64_t values[] = {5, 10, 20};
		static const uint64_t counts[] = {2, UINT32_MAX, 7};

		cr_assert_eq(histogram_next(compact, &cursor), 1);
		cr_expect_eq(cursor.low, values[i]);
		cr_expect_eq(cursor.count, counts[i]);
	}
	cr_assert_eq(histogram_next(compact, &cursor), 0);
	histogram_destroy(compact);
}
