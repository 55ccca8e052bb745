/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of an injector: written and read back, and the shares of stalls and drops. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include <model/injector_state.h>

static const char answer_text[] =
	"{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1.5, \"delay_ab_us\": 5.1, \"delay_ba_us\": 6.2,"
	"\"tx_ab\": 1, \"tx_ba\": 20, \"ring_full\": 100, \"tx_full\": 0, \"nombuf\": 1000, \"rx_missed\": 10000,"
	"\"rx_errors\": 100000, \"tx_errors\": 1000000, \"disturbed\": 7, \"stalls\": 8, \"stall_us_total\": 9.5, "
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
	cr_assert_eq(injector_interval_whole(&totals).dropped, 1111100);
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

static const struct {
	char text[160], says[40];
} bad[] = {
	{"{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1, \"delay_ab_us\": 1}", "delay_ba_us"},
	{"{\"schema\": \"nomora.load/1\", \"uptime_s\": 1, \"delay_ab_us\": 1, \"delay_ba_us\": 1}", "schema"},
	{"{\"schema\": \"nomora.inject/1\", \"delay_ab_us\": 1, \"delay_ba_us\": 1}", "uptime_s"},
	{"{\"schema\": \"nomora.inject/1\", \"uptime_s\": 1, \"delay_ab_us\": 1, \"delay_ba_us\": 1, \"stalls\": -1}",
	 "stalls"},
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
								       .disturbed = 17 + d};
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
	interval = injector_interval_between(&before, &after, 2);
	cr_assert_eq(interval.packets, 200);
	cr_assert_eq(interval.dropped, 3);
	cr_assert_float_eq(injector_interval_stall_percent(&interval), 10, 1e-9, "0.4 s of two threads' 2 s");
	cr_assert_float_eq(injector_interval_stall_bound_percent(&interval), 20, 1e-9);
	cr_assert_float_eq(injector_interval_disturbed_percent(&interval), 25, 1e-9);
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
