/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the load generator that need no server: due times, choice of requests, measurements. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "load_priv.h"

enum { DRAWS = 200000 };

/* The mean gap, ns, of an open loop; `deviation` gets the gaps' standard deviation. */
static double mean_gap_ns(enum load_gap gap, double rate_per_s, double *deviation)
{
	struct load_settings settings = {.mode = LOAD_OPEN, .gap = gap, .rate_per_s = rate_per_s, .seed = 4};
	struct arrivals arrivals;
	double sum = 0, squares = 0, last = 1000;

	arrivals_begin(&arrivals, &settings, 1000);
	cr_assert_eq(arrivals.next_ns, 1000, "the first request is due at once");
	for (int i = 0; i < DRAWS; i++) {
		double gap_ns;

		arrivals_next(&arrivals);
		gap_ns = arrivals.next_ns - last;
		cr_assert_geq(gap_ns, 0);
		sum += gap_ns;
		squares += gap_ns * gap_ns;
		last = arrivals.next_ns;
	}
	*deviation = sqrt(squares / DRAWS - sum / DRAWS * (sum / DRAWS));
	return sum / DRAWS;
}

/* The generalised Pareto distribution's deviation is its mean / sqrt(1 - 2 shape): 1.204 times the mean. */
Test(load_parts, gaps_have_the_mean_of_the_rate_and_their_own_spread)
{
	double deviation;

	cr_expect_float_eq(mean_gap_ns(LOAD_GAP_FIXED, 50000, &deviation), 20000, 0.1);
	cr_expect_float_eq(deviation, 0, 10);
	cr_expect_float_eq(mean_gap_ns(LOAD_GAP_EXPONENTIAL, 50000, &deviation), 20000, 200);
	cr_expect_float_eq(deviation, 20000, 400);
	cr_expect_float_eq(mean_gap_ns(LOAD_GAP_ETC, 50000, &deviation), 20000, 200);
	cr_expect_float_eq(deviation, 1.204 * 20000, 500);
	cr_expect_float_eq(mean_gap_ns(LOAD_GAP_ETC, 0, &deviation), 1e3 * etc_gpd_mean(&ETC_GAP_US), 200);
	cr_expect_float_eq(mean_gap_ns(LOAD_GAP_FIXED, 0, &deviation), 1e3 * etc_gpd_mean(&ETC_GAP_US), 0.1);
}

Test(load_parts, requests_are_chosen_by_their_shares)
{
	struct load_settings settings = {.keys = 10, .skew = 0, .update_share = 0.25, .seed = 6};
	struct workload workload, same;
	struct error err = {0};
	int counts[10] = {0}, updates = 0;
	double bytes = 0;

	cr_assert_eq(workload_init(&workload, &settings, &err), 0, "%s", err.text);
	cr_assert_eq(workload_init(&same, &settings, &err), 0, "%s", err.text);
	cr_assert_eq(workload.offsets[0], 0);
	for (uint64_t k = 0; k < 10; k++) {
		uint64_t length = workload.offsets[k + 1] - workload.offsets[k];

		cr_expect(length >= 1 && length <= KEY_BYTES_MAXIMUM, "key %d: %d bytes", (int)k, (int)length);
		cr_expect_eq(workload.offsets[k], same.offsets[k], "the same seed, the same keys");
		for (uint64_t other = 0; other < k; other++)
			cr_expect(workload.offsets[other + 1] - workload.offsets[other] != length ||
				  memcmp(workload.text + workload.offsets[other], workload.text + workload.offsets[k],
					 length) != 0);
	}
	cr_expect_arr_eq(workload.text, same.text, workload.offsets[10]);
	for (int i = 0; i < DRAWS; i++) {
		size_t value = workload_pick_value_bytes(&workload);
		uint64_t key = workload_pick_key(&workload);

		cr_assert_lt(key, 10);
		counts[key]++;
		updates += workload_pick_update(&workload);
		cr_assert(value >= 1 && value <= VALUE_BYTES_MAXIMUM);
		bytes += (double)value;
	}
	for (int k = 0; k < 10; k++)
		cr_expect(abs(counts[k] - DRAWS / 10) < DRAWS / 200, "key %d: %d", k, counts[k]);
	cr_expect(abs(updates - DRAWS / 4) < DRAWS / 200, "%d", updates);
	cr_expect_float_eq(bytes / DRAWS, etc_gpd_mean(&ETC_VALUE_BYTES), 10);
	workload_free(&workload);
	workload_free(&same);
	settings.skew = 1;
	cr_assert_eq(workload_init(&workload, &settings, &err), 0, "%s", err.text);
	memset(counts, 0, sizeof counts);
	for (int i = 0; i < DRAWS; i++)
		counts[workload_pick_key(&workload)]++;
	cr_expect(counts[0] > 8 * counts[9], "by rank: %d and %d", counts[0], counts[9]);
	workload_free(&workload);
}

/* One request of each kind and reply; due at 1 ms, sent at 2 ms, answered at 5 ms. */
Test(load_parts, answers_are_counted_by_kind_and_measured_in_the_window)
{
	static const enum reply_kind kinds[] = {REPLY_HIT,    REPLY_HIT,        REPLY_MISS,
						REPLY_STORED, REPLY_NOT_STORED, REPLY_ERROR};
	struct load_result result = {0};

	cr_assert_eq(result_init(&result, NULL), 0);
	for (int measured = 0; measured < 2; measured++)
		for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
			struct request request = {.due_ns = 1000000, .sent_ns = 2000000, .is_set = i == 3 || i == 4};
			struct reply reply = {.kind = kinds[i]};

			result_add(&result, &request, &reply, i == 4 ? "NOT_STORED" : "ERROR later", 5000000, measured);
		}
	cr_expect_eq(result.total.hits, 4);
	cr_expect_eq(result.total.misses, 2);
	cr_expect_eq(result.total.stored, 2);
	cr_expect_eq(result.total.errors, 4);
	cr_expect_eq(result.measured.hits, 2);
	cr_expect_eq(result.measured.misses, 1);
	cr_expect_eq(result.measured.stored, 1);
	cr_expect_eq(result.measured.errors, 2);
	cr_expect_eq(result.measured.gets, 4);
	cr_expect_eq(result.measured.sets, 2);
	cr_expect_str_eq(result.refusal, "NOT_STORED", "the first one");
	cr_expect_eq(histogram_count(result.response_ns), 6);
	cr_expect_eq(histogram_count(result.get_ns), 4);
	cr_expect_eq(histogram_count(result.set_ns), 2);
	cr_expect_eq(histogram_count(result.service_ns), 6);
	cr_expect_float_eq(histogram_mean(result.response_ns), 4e6, 4e3);
	cr_expect_float_eq(histogram_mean(result.get_ns), 4e6, 4e3);
	cr_expect_float_eq(histogram_mean(result.set_ns), 4e6, 4e3);
	cr_expect_float_eq(histogram_mean(result.service_ns), 3e6, 3e3);
	load_result_free(&result);
	cr_expect_null(result.response_ns);
}
