/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of an injector: written and read back, and the shares of stalls and drops. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include <model/injector_state.h>

static const char answer_text[] =
	"{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1.5, \"delay_ab_us\": 5.1, \"delay_ba_us\": 6.2,"
	"\"tx_ab\": 1, \"tx_ba\": 20, \"ring_full\": 100, \"tx_full\": 0, \"nombuf\": 1000, \"rx_missed\": 10000,"
	"\"rx_errors\": 100000, \"tx_errors\": 1000000, \"unaccounted\": 10000000, \"disturbed\": 7, \"stalls\": 8, "
	"\"stall_us_total\": 9.5, "
	"\"stall_us_in_transmit\": null}";

static int parse(const char *text, struct injector_state_totals *totals, struct error *err)
{
	json_t *answer = json_loads(text, 0, NULL);
	int code;

	cr_assert_not_null(answer);
	code = injector_state_from_json("i.sock", answer, totals, err);
	json_decref(answer);
	return code;
}

Test(injector_state, every_way_to_lose_a_packet_is_a_drop)
{
	struct injector_state_totals totals;
	struct error err = {0};

	cr_assert_eq(parse(answer_text, &totals, &err), 0, "%s", err.text);
	cr_assert_eq(injector_interval_whole(&totals).dropped, 11111100);
}

Test(injector_state, reads_the_totals)
{
	struct injector_state_totals totals;
	struct injector_interval whole;
	struct error err = {0};

	cr_assert_eq(parse(answer_text, &totals, &err), 0, "%s", err.text);
	whole = injector_interval_whole(&totals);
	cr_assert_eq(totals.uptime_s, 1.5);
	cr_assert_eq(totals.delay_us[0], 5.1);
	cr_assert_eq(totals.delay_us[1], 6.2);
	cr_assert_str_empty(totals.delay_set_by);
	cr_assert_eq(whole.packets, 21);
	cr_assert_eq(whole.disturbed, 7);
	cr_assert_eq(whole.stalls, 8);
	cr_assert_eq(whole.stall_us, 9.5);
	cr_assert_eq(whole.lcores, 1, "an injector that does not report its threads has one");
	cr_assert(isnan(totals.transmit_stall_us), "null: its calls are no system calls");
	cr_assert_eq(whole.transmit_stall_us, 0);
}

Test(injector_state, a_mode_that_sets_the_delay_leaves_it_unknown)
{
	struct injector_state_totals totals;
	struct error err = {0};

	cr_assert_eq(parse("{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1, \"delay_ab_us\": null, \"delay_ba_us\": "
			   "null, \"delay_set_by\": \"steps\", \"lcores\": 2}",
			   &totals, &err),
		     0, "%s", err.text);
	cr_assert_str_eq(totals.delay_set_by, "steps");
	cr_assert(isnan(totals.delay_us[0]) && isnan(totals.delay_us[1]));
	cr_assert_eq(totals.lcores, 2);
}

Test(injector_state, one_lcore_may_do_all)
{
	struct injector_state_totals totals;
	struct error err = {0};

	cr_assert_eq(parse("{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1, \"delay_ab_us\": 1, \"delay_ba_us\": 1, "
			   "\"lcores\": 1}",
			   &totals, &err),
		     0, "%s", err.text);
	cr_assert_eq(totals.lcores, 1);
}

static const struct {
	char text[200], says[40];
} bad[] = {
	{"{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1, \"delay_ab_us\": 1}", "delay_ba_us"},
	{"{\"schema\": \"nomora.load/1\", \"uptime_s\": 1, \"delay_ab_us\": 1, \"delay_ba_us\": 1}", "schema"},
	{"{\"schema\": \"nomora.inject/1\", \"delay_ab_us\": 1, \"delay_ba_us\": 1}", "uptime_s"},
	{"{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1, \"delay_ab_us\": 1, \"delay_ba_us\": 1, \"stalls\": -1}",
	 "stalls"},
	{"{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1, \"delay_ab_us\": 1, \"delay_ba_us\": 1, \"lcores\": 0}",
	 "lcores"},
	{"{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1, \"delay_ab_us\": 1, \"delay_ba_us\": 1, \"ba\": "
	 "{\"lateness_buckets\": [[5, 1], [5, 1]]}}",
	 "lateness_buckets"},
	{"{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1, \"delay_ab_us\": 1, \"delay_ba_us\": 1, \"ab\": "
	 "{\"applied_buckets\": [[5, 1, 2]]}}",
	 "applied_buckets"},
};

Test(injector_state, refuses_other_objects_and_names_file_and_field)
{
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct injector_state_totals totals;
		struct error err = {0};

		cr_assert_lt(parse(bad[i].text, &totals, &err), 0, "case %zu", i);
		cr_assert(strstr(err.text, "i.sock") && strstr(err.text, bad[i].says), "case %zu: %s", i, err.text);
	}
}

static struct injector_state_delays some_delays(size_t d)
{
	int64_t n = (int64_t)d;

	return (struct injector_state_delays){
		.requested = {.p50_ns = 1 + n, .p99_ns = 2, .p99_9_ns = 3, .maximum_ns = 4, .mean_ns = 1.5, .count = 5},
		.applied = {.p50_ns = 6, .p99_ns = 7 + n, .p99_9_ns = 8, .maximum_ns = 9, .mean_ns = 6.5, .count = 5},
		.lateness = {.p50_ns = 1, .p99_ns = 2, .p99_9_ns = 3, .maximum_ns = 4, .mean_ns = 1, .count = 6},
		.applied_buckets = {.count = 2, .of = {{5, 3}, {9, 2 + d}}},
		.lateness_buckets = {.count = 1, .of = {{4, 6 + d}}},
	};
}

Test(injector_state, totals_are_read_back_as_they_were_written)
{
	struct injector_state state = {.time_s = 5,
				       .totals = {.uptime_s = 3, .lcores = 2, .stall_us = 1.5, .stalls = 4}};
	struct injector_state_totals read;
	struct error err = {0};
	json_t *json;

	for (size_t d = 0; d < INJECTOR_STATE_DIRECTIONS; d++)
		state.direction[d] = (struct injector_state_direction){.delay_us = 5 + (double)d,
								       .rx_packets = 1 + d,
								       .tx_packets = 3 + d,
								       .ring_full = 5 + d,
								       .tx_full = 7 + d,
								       .no_mbuf = 9 + d,
								       .rx_missed = 11 + d,
								       .rx_errors = 13 + d,
								       .tx_errors = 15 + d,
								       .unaccounted = 19 + d,
								       .disturbed = 17 + d,
								       .delays = some_delays(d)};
	state.totals.transmit_stall_us = 0.25;
	state.totals.lateness =
		(struct injector_state_lateness){.p50_ns = -3, .p99_ns = 7, .p99_9_ns = 8, .maximum_ns = 9};
	injector_state_add_up(&state);
	cr_assert_eq(state.totals.ring_full, 11);
	cr_assert_eq(state.totals.tx_full, 15);
	cr_assert_eq(state.totals.no_mbuf, 19);
	cr_assert_eq(state.totals.rx_missed, 23);
	cr_assert_eq(state.totals.rx_errors, 27);
	cr_assert_eq(state.totals.tx_errors, 31);
	cr_assert_eq(state.totals.disturbed, 35);
	cr_assert_eq(state.totals.unaccounted, 39);
	cr_assert_eq(state.totals.rx_packets[1], 2);
	json = injector_state_to_json(&state);
	cr_assert_eq(injector_state_from_json("i.sock", json, &read, &err), 0, "%s", err.text);
	cr_assert_eq(memcmp(&read, &state.totals, sizeof read), 0);
	json_decref(json);
}

Test(injector_state, an_interval_is_the_difference_of_two_states)
{
	struct injector_state_totals before = {.tx_packets = {10, 20},
					       .disturbed = 5,
					       .stalls = 2,
					       .stall_us = 700,
					       .transmit_stall_us = 100,
					       .ring_full = 1,
					       .lcores = 2};
	struct injector_state_totals after = before;
	struct injector_interval interval;

	after.tx_packets[1] += 200;
	after.disturbed += 50;
	after.stall_us += 500e3;
	after.transmit_stall_us += 100e3;
	after.rx_missed += 3;
	after.rx_packets[0] += 203;
	interval = injector_interval_between(&before, &after, 2);
	cr_assert_eq(interval.packets, 200);
	cr_assert_eq(interval.dropped, 3);
	cr_assert_eq(interval.received, 203);
	cr_assert_eq(interval.rx_missed, 3);
	cr_assert_eq(interval.ring_full, 0);
	cr_assert_float_eq(injector_interval_stall_percent(&interval), 10, 1e-9, "0.4 s of two threads' 2 s");
	cr_assert_float_eq(injector_interval_stall_bound_percent(&interval), 20, 1e-9);
	cr_assert_float_eq(injector_interval_disturbed_percent(&interval), 25, 1e-9);
}

Test(injector_state, the_delays_of_an_interval_are_those_of_its_own_packets)
{
	static struct injector_state_totals before = {.delay_us = {50, 20}}, after;
	struct injector_interval_delays delays;

	before.delays[0].lateness = (struct injector_state_lateness){.mean_ns = 100, .count = 100};
	before.delays[0].lateness_buckets = (struct injector_state_buckets){.count = 2, .of = {{100, 99}, {90000, 1}}};
	after = before;
	after.delays[0].lateness = (struct injector_state_lateness){.mean_ns = 400, .count = 300};
	after.delays[0].lateness_buckets =
		(struct injector_state_buckets){.count = 4, .of = {{100, 297}, {800, 1}, {900, 1}, {90000, 1}}};
	delays = injector_interval_between(&before, &after, 2).delays[0];
	cr_assert_eq(delays.requested_us, 50);
	cr_assert_float_eq(delays.applied_us, 50.55, 1e-12, "100 of 0.1 us before, 300 of 0.4 us after");
	cr_assert_float_eq(delays.late_p99_us, 0.1, 1e-12, "198 of 200 are in the first bucket");
	cr_assert_float_eq(delays.applied_p99_us, 50.1, 1e-12);
	after.delays[0].lateness_buckets.of[1].packets++;
	cr_assert_float_eq(injector_interval_between(&before, &after, 2).delays[0].late_p99_us, 0.8, 1e-12);
	delays = injector_interval_between(&before, &after, 2).delays[1];
	cr_assert(delays.requested_us == 20 && isnan(delays.applied_us) && isnan(delays.applied_p99_us),
		  "no packet left");
}

/* The sums of the two states, 4 * 27/7 and 9 * 12/7 ns, differ by 2e-15 as doubles. */
Test(injector_state, packets_without_delay_have_none)
{
	static struct injector_state_totals before, after;

	before.delays[0].lateness = (struct injector_state_lateness){.mean_ns = 3.857142857142857, .count = 4};
	after.delays[0].lateness = (struct injector_state_lateness){.mean_ns = 1.7142857142857144, .count = 9};
	cr_assert_eq(injector_interval_between(&before, &after, 2).delays[0].applied_us, 0);
}

Test(injector_state, the_delays_that_modes_have_chosen_count_instead_of_the_set_one)
{
	static struct injector_state_totals before = {.delay_us = {50, 50}}, after;
	struct injector_interval_delays delays;

	before.delays[1].requested = before.delays[1].applied =
		(struct injector_state_lateness){.mean_ns = 1e6, .count = 1};
	after = before;
	after.delays[1].requested = (struct injector_state_lateness){.mean_ns = 250e3, .count = 11};
	after.delays[1].applied = (struct injector_state_lateness){.mean_ns = 300e3, .count = 11};
	after.delays[1].applied_buckets = (struct injector_state_buckets){.count = 1, .of = {{250000, 10}}};
	after.delays[1].lateness = (struct injector_state_lateness){.mean_ns = 1000, .count = 10};
	delays = injector_interval_between(&before, &after, 2).delays[1];
	cr_assert_float_eq(delays.requested_us, 175, 1e-9);
	cr_assert_float_eq(delays.applied_us, 231, 1e-9, "230 until they were due, and 1 late");
	cr_assert_float_eq(delays.applied_p99_us, 250, 1e-9);
}

Test(injector_state, a_stall_that_began_before_the_interval_is_no_longer_than_it)
{
	struct injector_interval interval = {.elapsed_s = 1, .lcores = 1, .stall_us = 3e6};

	cr_assert_eq(injector_interval_stall_percent(&interval), 100);
	cr_assert_eq(injector_interval_stall_bound_percent(&interval), 100);
	interval.transmit_stall_us = 4e6;
	cr_assert_eq(injector_interval_stall_percent(&interval), 0);
	interval.elapsed_s = 0;
	cr_assert_eq(injector_interval_stall_percent(&interval), 0);
	cr_assert_eq(injector_interval_disturbed_percent(&interval), 0);
}

Test(injector_state, shares_are_of_the_time_and_of_the_packets)
{
	struct injector_interval interval = {.elapsed_s = 2,
					     .packets = 200,
					     .disturbed = 3,
					     .stall_us = 70000,
					     .transmit_stall_us = 10000,
					     .lcores = 2};

	cr_expect_float_eq(injector_interval_stall_percent(&interval), 1.5, 1e-12);
	cr_expect_float_eq(injector_interval_stall_bound_percent(&interval), 3, 1e-12);
	cr_expect_float_eq(injector_interval_disturbed_percent(&interval), 1.5, 1e-12);
	interval.lcores = 0;
	cr_expect_float_eq(injector_interval_stall_percent(&interval), 3, 1e-12, "at least one thread");
	interval.stall_us = 3e6;
	cr_expect_eq(injector_interval_stall_percent(&interval), 100);
	cr_expect_eq(injector_interval_stall_bound_percent(&interval), 100);
	interval.stall_us = 5000;
	cr_expect_eq(injector_interval_stall_percent(&interval), 0, "less than its transmit calls took");
	cr_expect_eq(injector_interval_stall_bound_percent(&interval), 0);
	interval = (struct injector_interval){.stall_us = 5, .disturbed = 5};
	cr_expect_eq(injector_interval_stall_percent(&interval), 0);
	cr_expect_eq(injector_interval_stall_bound_percent(&interval), 0);
	cr_expect_eq(injector_interval_disturbed_percent(&interval), 0);
}

Test(injector_state, an_interval_is_the_difference_of_two_totals)
{
	struct injector_state_totals before = {.tx_packets = {1, 2},
					       .ring_full = 1,
					       .disturbed = 1,
					       .stalls = 1,
					       .stall_us = 10,
					       .transmit_stall_us = 5,
					       .lcores = 1};
	struct injector_state_totals after = {.tx_packets = {11, 22},
					      .ring_full = 4,
					      .disturbed = 6,
					      .stalls = 8,
					      .stall_us = 110,
					      .transmit_stall_us = 20,
					      .lcores = 3};
	struct injector_interval interval = injector_interval_between(&before, &after, 2.5);

	cr_expect_eq(interval.elapsed_s, 2.5);
	cr_expect_eq(interval.packets, 30);
	cr_expect_eq(interval.dropped, 3);
	cr_expect_eq(interval.disturbed, 5);
	cr_expect_eq(interval.stalls, 7);
	cr_expect_eq(interval.lcores, 3);
	cr_expect_eq(interval.stall_us, 100);
	cr_expect_eq(interval.transmit_stall_us, 15);
}

Test(injector_state, the_file_has_lateness_ports_and_the_capture)
{
	struct injector_state state = {.time_s = 5,
				       .counter_trusted = true,
				       .totals = {.lcores = 1, .delay_set_by = "steps"},
				       .has_capture = true,
				       .capture_written = 7,
				       .capture_lost = 8};
	json_t *json, *expected;

	for (size_t d = 0; d < INJECTOR_STATE_DIRECTIONS; d++) {
		state.direction[d].delays.lateness = (struct injector_state_lateness){
			.p50_ns = 1, .p99_ns = 2, .p99_9_ns = 3, .maximum_ns = 4, .mean_ns = 5.5, .count = 6};
		state.direction[d].undisturbed_lateness = (struct injector_state_lateness){
			.p50_ns = 11, .p99_ns = 12, .p99_9_ns = 13, .maximum_ns = 14, .mean_ns = NAN, .count = 16};
	}
	state.direction[1].delays.applied = (struct injector_state_lateness){
		.p50_ns = 21, .p99_ns = 22, .p99_9_ns = 23, .maximum_ns = 24, .mean_ns = 20.5, .count = 26};
	json = injector_state_to_json(&state);
	expected = json_pack("{s:i, s:i, s:i, s:i, s:f, s:i}", "p50", 1, "p99", 2, "p99_9", 3, "max", 4, "mean", 5.5,
			     "count", 6);
	cr_expect(json_equal(json_object_get(json_object_get(json, "ba"), "lateness_ns"), expected));
	json_decref(expected);
	expected = json_pack("{s:i, s:i, s:i, s:i, s:n, s:i}", "p50", 11, "p99", 12, "p99_9", 13, "max", 14, "mean",
			     "count", 16);
	cr_expect(json_equal(json_object_get(json_object_get(json, "ab"), "undisturbed_lateness_ns"), expected));
	json_decref(expected);
	cr_expect(json_is_null(json_object_get(json_object_get(json, "ab"), "requested_delay_ns")));
	expected = json_pack("{s:i, s:i, s:i, s:i, s:f, s:i}", "p50", 21, "p99", 22, "p99_9", 23, "max", 24, "mean",
			     20.5, "count", 26);
	cr_expect(json_equal(json_object_get(json_object_get(json, "ba"), "applied_delay_ns"), expected));
	json_decref(expected);
	expected = json_pack("{s:i, s:i}", "written", 7, "lost", 8);
	cr_expect(json_equal(json_object_get(json, "capture"), expected));
	json_decref(expected);
	cr_expect_eq(json_array_size(json_object_get(json, "ports")), 2);
	cr_expect_str_eq(json_string_value(json_object_get(json, "counter")), "trusted");
	cr_expect_str_eq(json_string_value(json_object_get(json, "delay_set_by")), "steps");
	json_decref(json);
	state.has_capture = state.counter_trusted = false;
	state.totals.delay_set_by[0] = '\0';
	json = injector_state_to_json(&state);
	cr_expect_null(json_object_get(json, "capture"));
	cr_expect_str_eq(json_string_value(json_object_get(json, "counter")), "invariant");
	cr_expect(json_is_null(json_object_get(json, "delay_set_by")));
	json_decref(json);
}
