/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/address.h>
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

Test(mesh_row, the_share_of_the_round_trips_that_the_peer_held)
{
	fill(1, 10000, 0);
	for (int i = 0; i < 3; i++)
		histogram_record(window.residence, 5000);
	histogram_record(window.residence, 2 * LATENCY_STALL_US * NS_PER_US);
	cr_assert_eq(mesh_row_add(&row, &window), 0);
	cr_assert_float_eq(row.pairs[0].peer_stalled, 0.25, 1e-12);
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
	cr_assert_eq(entry->answered_at.v, INT64_C(1795188666250) * NS_PER_MS, "the last answer");
	cr_assert_eq(entry->updated_at.v, window.ended.ns / NS_PER_MS * NS_PER_MS, "the window's end");
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

/* The p99 of a path counts from 100 samples. Without such a path, the p50 decides. */
Test(mesh_row, the_slowest_path)
{
	struct mesh_path list[3] = {
		{.rtt = {.samples = 100, .p50_us = 5, .p99_us = 50}},
		{.rtt = {.samples = 100, .p50_us = 6, .p99_us = 60}},
		{.rtt = {.samples = 99, .p50_us = 7, .p99_us = 90}},
	};
	struct mesh_pair pair = {.path_count = 3, .paths = list};

	cr_assert_eq(mesh_pair_slowest(&pair), &list[1]);
	list[1].rtt.p99_us = 50;
	cr_assert_eq(mesh_pair_slowest(&pair), &list[0], "the first of two");
	list[0].rtt.samples = list[1].rtt.samples = 99;
	cr_assert_eq(mesh_pair_slowest(&pair), &list[2]);
	list[2].rtt.samples = 0;
	cr_assert_eq(mesh_pair_slowest(&pair), &list[1]);
	list[0].rtt.samples = list[1].rtt.samples = 0;
	cr_assert_null(mesh_pair_slowest(&pair));
	list[1].rtt = (struct mesh_distribution){.samples = 1};
	cr_assert_eq(mesh_pair_slowest(&pair), &list[1]);
}

/* Shares, not numbers, of lost probes; those lost on the way there, if they are known and there are any. */
Test(mesh_row, the_path_with_most_loss)
{
	struct mesh_path list[3] = {
		{.counters = {.sent = 100, .lost = 10}, .lost_forward = 1},
		{.counters = {.sent = 10, .lost = 2}},
		{.counters = {.sent = 100, .lost = 15}, .lost_forward = 2},
	};
	struct mesh_pair pair = {.path_count = 3, .paths = list};

	cr_assert_eq(mesh_pair_lossiest(&pair), &list[1]);
	pair.lost_forward = 3;
	cr_assert_eq(mesh_pair_lossiest(&pair), &list[1]);
	pair.lost_forward_known = true;
	cr_assert_eq(mesh_pair_lossiest(&pair), &list[2]);
	pair.lost_forward = 0;
	cr_assert_eq(mesh_pair_lossiest(&pair), &list[1]);
	list[1].counters.sent = 0; /* of an earlier window */
	cr_assert_eq(mesh_pair_lossiest(&pair), &list[2]);
	list[0].counters.lost = list[2].counters.lost = 0;
	cr_assert_null(mesh_pair_lossiest(&pair));
}

Test(mesh_row, a_route_is_its_hops)
{
	struct path route = {.hop_count = 3};
	char text[MESH_ROUTE_TEXT_BYTES] = "before";

	address_parse("10.0.0.1", &route.hops[0]);
	address_parse("fd00::2", &route.hops[2]);
	mesh_print_route(&route, text);
	cr_assert_str_eq(text, "10.0.0.1 ? fd00::2");
	route.hop_count = 0;
	mesh_print_route(&route, text);
	cr_assert_str_eq(text, "");
}

Test(mesh_row, the_location_that_the_peer_saw)
{
	const uint8_t mac[] = {2, 0, 0, 0, 0, 7};
	json_t *peers, *peer;
	char *text;

	fill(1, 10000, 0);
	memcpy(window.mac, mac, sizeof mac);
	window.resolved = true;
	window.tlvs.filled = 1 << TLV_LOCATION;
	window.tlvs.source_port = 50000;
	window.tlvs.destination_port = 862;
	address_parse("10.0.0.1", &window.tlvs.source);
	cr_assert_eq(mesh_row_add(&row, &window), 0);
	peers = mesh_row_json(&row);
	peer = json_array_get(peers, 0);
	cr_assert_str_eq(json_string_value(json_object_get(peer, "mac")), "02:00:00:00:00:07");
	text = json_dumps(json_object_get(peer, "tlvs"), JSON_SORT_KEYS | JSON_COMPACT);
	cr_assert_str_eq(
		text,
		"{\"bad_hmac\":false,\"filled\":[\"location\"],\"flagged\":[],\"location\":{\"destination\":null,"
		"\"destination_port\":862,\"source\":\"10.0.0.1\",\"source_mac\":null,\"source_port\":50000}}",
		"%s", text);
	free(text);
	json_decref(peers);
}

/* Every field of a pair, as JSON text. */
Test(mesh_row, all_fields_are_in_the_json)
{
	struct mesh_path list[2] = {
		{.source_port = 50000,
		 .counters = {1, 2, 3, 4, 5, 6, 7},
		 .lost_forward_known = true,
		 .lost_forward = 2,
		 .route = {.hop_count = 2}},
		{.source_port = 50001},
	};
	struct mesh_pair pair = {
		.peer = {.name = "h2", .rack = "r1", .address = 0x0a000002},
		.resolved = true,
		.mac = {2, 0, 0, 0, 0, 9},
		.updated_at = {1500 * NS_PER_MS},
		.answered_at = {1250 * NS_PER_MS},
		.counters =
			{.sent = 10, .fresh = 9, .lost = 1, .late = 2, .duplicates = 3, .reordered = 4, .unknown = 5},
		.impossible = 6,
		.disturbed = 7,
		.headers = {.seen = true,
			    .request_ttl = 60,
			    .ttl = 250,
			    .dscp = 46,
			    .ecn = 1,
			    .sent_ttl = 64,
			    .may_fragment = true,
			    .congested = 8},
		.ssid_ignored = true,
		.lost_forward_known = true,
		.lost_forward = 1,
		.has_offset = true,
		.offset_us = -2.5,
		.stamps = {1, 2, 3, 4},
		.clocks = {.synchronised = true, .error = {2500}},
		.path_count = 2,
		.paths = list,
		.finds_paths = true,
		.paths_known = 3,
		.paths_confidence = 0.5,
	};
	struct mesh_row one = {.host = "h1", .count = 1, .pairs = &pair};
	json_t *json, *peer;
	char *text;

	address_parse("10.0.0.9", &list[0].route.hops[0]);
	json = mesh_row_json(&one);
	text = json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
	cr_assert_str_eq(
		text,
		"[{\"address\":\"10.0.0.2\",\"answered_at\":1.25,\"clock_offset_us\":-2.5,\"disturbed\":7,"
		"\"duplicates\":3,\"headers\":{"
		"\"congested\":8,\"dont_fragment\":false,\"dscp\":46,\"ecn\":1,\"request_ttl\":60,\"ttl\":250},"
		"\"hops_back\":5,\"hops_there\":4,\"impossible\":6,\"late\":2,\"lost\":1,\"lost_forward\":1,\"mac\":"
		"\"02:00:00:00:00:09\",\"name\":\"h2\",\"one_way\":null,\"paths\":[{\"duplicates\":5,\"hops\":["
		"\"10.0.0.9\",null],\"late\":4,\"lost\":3,\"lost_forward\":2,\"received\":2,\"reordered\":6,"
		"\"rtt_us\":null,\"sent\":1,\"source_port\":50000,\"unknown\":7},{\"duplicates\":0,\"hops\":[],"
		"\"late\":0,\"lost\":0,\"lost_forward\":null,\"received\":0,\"reordered\":0,\"rtt_us\":null,\"sent\":0,"
		"\"source_port\":50001,\"unknown\":0}],\"paths_confidence\":0.5,\"paths_covered\":1,\"paths_known\":3,"
		"\"peer_stalled\":0.0,"
		"\"rack\":\"r1\",\"received\":9,\"reordered\":4,\"residence_us\":null,\"row_us\":null,\"rtt_us\":null,"
		"\"sent\":10,\"ssid_ignored\":true,\"stamps\":{\"clock_error_us\":2.5,\"peer_clock_error_us\":null,"
		"\"samples\":0,\"t1_kernel\":1,\"t3_follow_up\":2,\"t4_kernel\":3,\"t4_nic\":4},\"tlvs\":null,"
		"\"undisturbed_rtt_us\":null,\"unknown\":5,\"updated_at\":1.5}]",
		"%s", text);
	free(text);
	json_decref(json);
	pair.headers.request_ttl = 65; /* more than was sent */
	pair.headers.ttl = 128;        /* the peer did not send it with 255 */
	pair.finds_paths = pair.resolved = pair.has_offset = pair.lost_forward_known = false;
	pair.forward = pair.backward = (struct mesh_distribution){.samples = 3, .min_us = 1};
	pair.backward.min_us = 2;
	pair.one_way_error_us = 0.25;
	json = mesh_row_json(&one);
	peer = json_array_get(json, 0);
	cr_assert(json_is_null(json_object_get(peer, "hops_there")));
	cr_assert(json_is_null(json_object_get(peer, "hops_back")));
	cr_assert(json_is_null(json_object_get(peer, "mac")));
	cr_assert(json_is_null(json_object_get(peer, "paths_known")));
	cr_assert(json_is_null(json_object_get(peer, "paths_confidence")));
	cr_assert(json_is_null(json_object_get(peer, "clock_offset_us")));
	cr_assert(json_is_null(json_object_get(peer, "lost_forward")));
	text = json_dumps(json_object_get(peer, "one_way"), JSON_SORT_KEYS | JSON_COMPACT);
	cr_assert_str_eq(
		text,
		"{\"backward_us\":{\"max\":0.0,\"mean\":0.0,\"min\":2.0,\"p50\":0.0,\"p90\":0.0,\"p99\":0.0,"
		"\"p99.9\":0.0},\"error_us\":0.25,\"forward_us\":{\"max\":0.0,\"mean\":0.0,\"min\":1.0,\"p50\":0.0,"
		"\"p90\":0.0,\"p99\":0.0,\"p99.9\":0.0},\"samples\":3}",
		"%s", text);
	free(text);
	json_decref(json);
}

/* A pair without samples is unreachable if it was probed. Lost probes of an earlier window do not exceed all. */
Test(mesh_row, a_pair_without_samples)
{
	struct mesh_pair pair = {.counters = {.sent = 4}};

	cr_assert_eq(mesh_pair_entry(&pair).state, LATENCY_STATE_NEVER);
	cr_assert_eq(mesh_pair_entry(&pair).loss, 0);
	cr_assert(isnan(mesh_pair_entry(&pair).rtt_p50_us) && isnan(mesh_pair_entry(&pair).rtt_p99_us) &&
		  isnan(mesh_pair_entry(&pair).rtt_max_us));
	pair.unresolvable = true;
	cr_assert_eq(mesh_pair_entry(&pair).state, LATENCY_STATE_UNREACHABLE);
	cr_assert_eq(mesh_pair_entry(&pair).loss, 1);
	pair.unresolvable = false;
	pair.counters.fresh = 1;
	cr_assert_eq(mesh_pair_entry(&pair).state, LATENCY_STATE_UNREACHABLE);
	pair.counters = (struct session_counters){.sent = 4, .lost = 1};
	cr_assert_eq(mesh_pair_entry(&pair).state, LATENCY_STATE_UNREACHABLE);
	pair.rtt = pair.undisturbed = (struct mesh_distribution){.samples = 4, .p50_us = 9, .p99_us = 8, .max_us = 20};
	cr_assert_eq(mesh_pair_entry(&pair).loss, 0.25);
	cr_assert_eq(mesh_pair_entry(&pair).rtt_p99_us, 9, "not below the p50");
	pair.disturbed = 1;
	cr_assert_eq(mesh_pair_entry(&pair).disturbed, 0.25);
	pair.counters.lost = 5;
	cr_assert_eq(mesh_pair_entry(&pair).loss, 1);
	pair.counters = (struct session_counters){.fresh = 4};
	cr_assert_eq(mesh_pair_entry(&pair).loss, 0);
	pair.undisturbed.max_us = 7;
	cr_assert_eq(mesh_pair_entry(&pair).rtt_p99_us, 7);
	cr_assert_eq(mesh_pair_entry(&pair).rtt_p50_us, 7);
}
