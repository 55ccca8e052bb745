/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <probe/mesh/row.h>

enum { PATHS = 16 };

static struct agent_path_row paths[PATHS];
static struct agent_row window;
static struct mesh_row row;

static struct histogram *new_histogram(void)
{
	return histogram_create(100, 10 * NS_PER_S, 3);
}

/* A window of 16 paths with `samples` round trips each, from base_ns upwards; path 5 is slower by extra_ns. */
static void fill(unsigned int samples, int64_t base_ns, int64_t extra_ns)
{
	window = (struct agent_row){.peer = {.name = "h2", .rack = "r1", .address = 0x0a000002},
				    .began = stamp_at(CLOCK_WALL, INT64_C(1795188660) * NS_PER_S),
				    .ended = stamp_at(CLOCK_WALL, INT64_C(1795188670) * NS_PER_S),
				    .last_answer = stamp_at(CLOCK_WALL, INT64_C(1795188666250) * NS_PER_MS),
				    .path_count = PATHS,
				    .paths = paths};
	window.rtt = new_histogram();
	window.undisturbed = new_histogram();
	window.residence = new_histogram();
	window.forward = new_histogram();
	window.backward = new_histogram();
	for (unsigned int i = 0; i < PATHS; i++) {
		paths[i] = (struct agent_path_row){.source_port = (uint16_t)(50000 + i), .rtt = new_histogram()};
		for (unsigned int n = 0; n < samples; n++) {
			int64_t value = base_ns + 10 * n + (i == 5 ? extra_ns : 0);

			histogram_record(paths[i].rtt, value);
			histogram_record(window.rtt, value);
			histogram_record(window.undisturbed, value);
		}
		window.counters.sent += samples;
		window.counters.fresh += samples;
	}
	strcpy(row.host, "h1");
}

static void tear_down(void)
{
	for (unsigned int i = 0; i < PATHS; i++)
		histogram_destroy(paths[i].rtt);
	histogram_destroy(window.rtt);
	histogram_destroy(window.undisturbed);
	histogram_destroy(window.residence);
	histogram_destroy(window.forward);
	histogram_destroy(window.backward);
	mesh_row_clear(&row);
}

TestSuite(mesh_row, .fini = tear_down);

/* One slow path in 16 is 6 % of the samples: in the pooled median it would not show. */
Test(mesh_row, the_worst_path_is_the_latency_of_the_pair)
{
	struct latency_entry entry;

	fill(200, 10000, 500000);
	cr_assert_eq(mesh_row_add(&row, &window), 0);
	entry = mesh_pair_entry(&row.pairs[0]);
	cr_assert_lt(row.pairs[0].rtt.p50_us, 13);
	cr_assert(fabs(entry.rtt_p50_us - 511) < 1, "%g", entry.rtt_p50_us);
	cr_assert(fabs(entry.rtt_p99_us - 511.98) < 1, "%g", entry.rtt_p99_us);
	cr_assert_eq(entry.rtt_max_us, 511.99, "exact");
	cr_assert_eq(entry.samples, 3200);
}

/* The p99 of a few samples is their maximum: one slow sample of one path would determine the pair's p99. */
Test(mesh_row, a_path_with_few_samples_has_no_p99_of_its_own)
{
	struct latency_entry entry;

	fill(50, 10000, 0);
	histogram_record(paths[3].rtt, 18000000);
	histogram_record(window.rtt, 18000000);
	histogram_record(window.undisturbed, 18000000);
	cr_assert_eq(mesh_row_add(&row, &window), 0);
	entry = mesh_pair_entry(&row.pairs[0]);
	cr_assert_lt(entry.rtt_p99_us, 11);
	cr_assert_eq(entry.rtt_max_us, 18000);
}

Test(mesh_row, csv_equals_json)
{
	char path[] = "/tmp/nomora-test-XXXXXX";
	int file = mkstemp(path);
	struct latency_matrix *matrix;
	const struct latency_entry *entry;
	struct error err = {0};
	json_t *peers, *row_us;

	fill(100, 12345, 777);
	window.counters.sent += 10;
	window.counters.lost += 10;
	cr_assert_eq(mesh_row_add(&row, &window), 0);
	cr_assert_eq(mesh_row_write(&row, path, &err), 0, "%s", err.text);
	matrix = latency_matrix_read(path, NULL, &err);
	cr_assert_not_null(matrix, "%s", err.text);
	entry = latency_matrix_get(matrix, 0, 1);
	cr_assert_not_null(entry);
	peers = mesh_row_json(&row);
	row_us = json_object_get(json_array_get(peers, 0), "row_us");
	cr_assert_float_eq(entry->rtt_p50_us, json_real_value(json_object_get(row_us, "p50")), 1e-9);
	cr_assert_float_eq(entry->rtt_p99_us, json_real_value(json_object_get(row_us, "p99")), 1e-9);
	cr_assert_float_eq(entry->rtt_max_us, json_real_value(json_object_get(row_us, "max")), 1e-9);
	cr_assert_eq(entry->rtt_max_us, 12.345 + 0.99 + 0.777);
	cr_assert_float_eq(entry->loss, 10.0 / 1610, 1e-12);
	cr_assert_eq(entry->updated_at.v, INT64_C(1795188666250) * NS_PER_MS, "the last answer, not the window's end");
	cr_assert_eq(json_integer_value(json_object_get(json_array_get(peers, 0), "received")), 1600);
	json_decref(peers);
	latency_matrix_destroy(matrix);
	close(file);
	unlink(path);
}

Test(mesh_row, percentiles_are_the_histograms)
{
	struct mesh_distribution distribution;
	struct histogram *histogram = new_histogram();

	for (int64_t i = 1; i <= 1000; i++)
		histogram_record(histogram, i * 1000);
	distribution = mesh_distribution_of(histogram);
	cr_assert_eq(distribution.samples, 1000);
	cr_assert_eq(distribution.min_us, 1);
	cr_assert_eq(distribution.p50_us, (double)histogram_percentile(histogram, 50) / 1e3);
	cr_assert(fabs(distribution.p50_us - 500) < 0.6 && fabs(distribution.p90_us - 900) < 1);
	cr_assert(fabs(distribution.p99_us - 990) < 1 && fabs(distribution.p999_us - 999) < 1);
	cr_assert_eq(distribution.max_us, 1000);
	cr_assert_eq(distribution.mean_us, 500.5);
	histogram_destroy(histogram);
}

Test(mesh_row, disturbed_samples_count_where_there_are_no_others)
{
	struct latency_entry entry;

	fill(0, 0, 0);
	histogram_record(window.rtt, 700000);
	window.disturbed = 1;
	cr_assert_eq(mesh_row_add(&row, &window), 0);
	cr_assert_eq(mesh_pair_entry(&row.pairs[0]).rtt_max_us, 700);
	histogram_record(window.undisturbed, 20000);
	histogram_record(window.rtt, 20000);
	cr_assert_eq(mesh_row_add(&row, &window), 0);
	entry = mesh_pair_entry(&row.pairs[1]);
	cr_assert_eq(entry.rtt_max_us, 20);
	cr_assert_eq(entry.samples, 2);
}
