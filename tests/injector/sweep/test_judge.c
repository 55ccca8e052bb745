/* SPDX-License-Identifier: BSD-3-Clause */
/* The gates: the values that each accepts and refuses. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "sweeper_priv.h"

static struct sweep_plan plan;
static struct sweep_attempt attempt;

static void begin(void)
{
	sweep_plan_defaults(&plan);
	plan.maximum_stall_percent = plan.maximum_disturbed_percent = plan.maximum_steal_percent = 10;
	memset(&attempt, 0, sizeof attempt);
	attempt.elapsed_s = 2;
	attempt.run.delay_us = 50;
	attempt.before = (struct injector_state_totals){.uptime_s = 9,
							.delay_us = {50, 50},
							.tx_packets = {60, 40},
							.lcores = 1,
							.stall_us = 7,
							.transmit_stall_us = 0,
							.disturbed = 5,
							.ring_full = 3};
	attempt.after = attempt.before;
	attempt.after.uptime_s = 11.1;
	attempt.after.tx_packets[0] += 1000;
	attempt.machine_before = (struct machine_state){.total_ticks = 1000, .steal_ticks = 10, .load = 4};
	attempt.machine_after = (struct machine_state){.total_ticks = 1200, .steal_ticks = 10, .load = 9};
}

TestSuite(judge, .init = begin);

static void expect(const char *reason)
{
	attempt.reasons[0] = '\0';
	attempt_judge(&plan, &attempt);
	if (reason)
		cr_assert_neq(strstr(attempt.reasons, reason), NULL, "no '%s' in '%s'", reason, attempt.reasons);
	else
		cr_assert_str_empty(attempt.reasons);
}

Test(judge, quiet_run_passes)
{
	expect(NULL);
}

Test(judge, an_attempt_says_how_many_processors_were_in_use)
{
	struct sweeper sweeper = {.plan = &plan};
	struct sweep_log_attempt entry;

	attempt.machine_before.our_ticks = 1000;
	attempt.machine_before.our_free_ticks = 500;
	attempt.machine_after.our_ticks = 1200;
	attempt.machine_after.our_free_ticks = 550;
	attempt.machine_after.our_processors = 2;
	entry = journal_attempt_entry(&sweeper, &attempt);
	cr_assert_eq(entry.processors, 2);
	cr_assert_float_eq(entry.processors_used, 1.5, 1e-9);
}

Test(judge, stalls_count_by_the_time_of_this_run_alone)
{
	attempt.after.stall_us += 199e3; /* of 2 s */
	expect(NULL);
	attempt.after.stall_us += 2e3;
	expect("stalled");
}

Test(judge, stalls_in_calls_that_transmit_do_not_count)
{
	attempt.after.stall_us += 900e3;
	attempt.after.transmit_stall_us += 701e3;
	expect(NULL);
	attempt.after.transmit_stall_us -= 2e3;
	expect("stalled for 10");
}

Test(judge, stalls_of_two_threads_are_averaged)
{
	attempt.before.lcores = attempt.after.lcores = 2;
	attempt.after.stall_us += 399e3; /* of 2 s */
	expect(NULL);
	attempt.after.stall_us += 2e3;
	expect("stalled for 10 %");
}

Test(judge, disturbed_packets_count_by_share)
{
	attempt.after.disturbed += 100;
	expect(NULL);
	attempt.after.disturbed += 1;
	expect("met a stall");
}

Test(judge, one_dropped_packet_is_too_many)
{
	attempt.after.rx_missed += 1;
	expect("dropped 1");
}

Test(judge, stolen_time)
{
	attempt.machine_after.steal_ticks += 20;
	expect(NULL);
	attempt.machine_after.steal_ticks += 1;
	expect("the hypervisor took 10.5 %");
}

Test(judge, other_programs_on_our_processors)
{
	plan.maximum_busy_percent = 25;
	attempt.busy_percent = 25;
	expect(NULL);
	attempt.busy_percent = 26;
	expect("other programs used 26 % of the processors");
}

Test(judge, precision_is_that_of_the_mean)
{
	struct sweep_level level = {.runs = 4, .mean = -200, .deviation = 8};

	cr_assert_float_eq(level_error_percent(&level), 2, 1e-12);
	plan.precision_percent = 2;
	cr_assert(level_is_repeatable(&plan, &level));
	plan.precision_percent = 1.99;
	cr_assert_not(level_is_repeatable(&plan, &level));
	level.runs = 1;
	plan.precision_percent = 100;
	cr_assert_not(level_is_repeatable(&plan, &level), "one run says nothing of another");
	plan.precision_percent = 0;
	cr_assert(level_is_repeatable(&plan, &level));
}

Test(judge, load_before_the_run_if_asked_for)
{
	expect(NULL);
	plan.maximum_load = 3.9;
	expect("load average 4");
	plan.maximum_load = 4.1;
	expect(NULL);
}

Test(judge, round_trip_within_share_and_constant)
{
	attempt.rtt_by = SWEEP_LOG_RTT_PROBE;
	attempt.rtt_without_us = 20;
	attempt.rtt_expected_us = 1000; /* 15 % + 30 us */
	attempt.rtt_us = 1179;
	expect(NULL);
	attempt.rtt_us = 1181;
	expect("round trip 1181 us by probe, expected 1000 (20 without delay, limit 180 off)");
	attempt.rtt_us = 821;
	expect(NULL);
	attempt.rtt_us = 819;
	expect("round trip 819 us by probe, expected 1000");
	attempt.rtt_by = SWEEP_LOG_RTT_UNCHECKED;
	expect(NULL);
}

Test(judge, the_log_says_what_measured_the_round_trip_or_why_nothing_did)
{
	struct sweeper sweeper = {.plan = &plan};
	struct sweep_log_attempt entry = journal_attempt_entry(&sweeper, &attempt);

	cr_assert_eq(entry.rtt_by, SWEEP_LOG_RTT_UNCHECKED);
	cr_assert_str_eq(entry.rtt_unchecked, "rtt-check is not set");
	cr_assert(isnan(entry.rtt_us));
	plan.rtt_check = true;
	attempt.rtt_by = SWEEP_LOG_RTT_PROBE;
	attempt.rtt_us = 9;
	entry = journal_attempt_entry(&sweeper, &attempt);
	cr_assert(entry.rtt_by == SWEEP_LOG_RTT_PROBE && entry.rtt_us == 9);
	cr_assert_str_empty(entry.rtt_unchecked);
}

Test(judge, several_reasons_are_all_given)
{
	attempt.after.rx_missed += 1;
	attempt.after.stall_us += 1e6;
	expect("dropped 1 packets; the injector stalled for 50 %");
}

static struct sweep_attempt stalled(double stall_us, double elapsed_s)
{
	return (struct sweep_attempt){.measured = true,
				      .elapsed_s = elapsed_s,
				      .before = {.lcores = 1, .stall_us = 1e6},
				      .after = {.lcores = 1, .stall_us = 1e6 + stall_us}};
}

Test(judge, the_disturbed_attempt_that_stalled_least_is_kept)
{
	struct sweep_attempt none = {0}, little = stalled(100, 1), much = stalled(150, 1), long_one = stalled(150, 2);

	cr_assert(attempt_is_better(&little, &much));
	cr_assert_not(attempt_is_better(&much, &little));
	cr_assert(attempt_is_better(&long_one, &little), "a share of the time, not a sum");
	cr_assert(attempt_is_better(&much, &none), "any is better than none");
	cr_assert_not(attempt_is_better(&none, &much), "an attempt without a measurement has no rows");
	cr_assert_not(attempt_is_better(&much, &much), "the first of two equal ones is kept");
	much.after.transmit_stall_us = 60; /* of 150 */
	cr_assert(attempt_is_better(&much, &little), "stalls that the gate ignores do not count here either");
}

static void expect_delay(int code, const char *reason)
{
	struct error err = {0};

	cr_assert_eq(attempt_check_delay(&plan, &attempt, &err), code, "%s", err.text);
	cr_assert_neq(strstr(err.text, reason), NULL, "no '%s' in '%s'", reason, err.text);
}

Test(judge, the_injector_kept_the_delay_of_the_run)
{
	expect_delay(0, "");
	attempt.after.delay_us[1] = 49.9;
	expect_delay(-ESTALE, "50 us from A to B and 49.9 back, expected 50 and 50");
	attempt.after.delay_us[1] = 50;
	attempt.before.delay_us[0] = 777;
	expect_delay(-ESTALE, "777 us from A to B and 50 back, expected 50 and 50");
	attempt.before.delay_us[0] = 50;
	plan.direction = SWEEP_AB;
	expect_delay(-ESTALE, "expected 50 and 0");
	attempt.before.delay_us[1] = attempt.after.delay_us[1] = 0;
	expect_delay(0, "");
	attempt.before.delay_changes = 7;
	attempt.after.delay_changes = 9;
	expect_delay(-ESTALE, "and then back again");
	attempt.before.delay_changes = 9;
	expect_delay(0, "");
}

Test(judge, the_injector_was_not_restarted)
{
	attempt.after.uptime_s = 10.9; /* 1.9 s in a run of 2 s */
	expect_delay(-ESTALE, "restarted");
	attempt.after.uptime_s = 11;
	expect_delay(0, "");
	attempt.after.tx_packets[0] = 59;
	expect_delay(-ESTALE, "restarted");
}

Test(judge, direction_splits_the_delay)
{
	static const double wanted[][2] = {{5, 5}, {5, 0}, {0, 5}};

	for (int direction = SWEEP_BOTH; direction <= SWEEP_BA; direction++) {
		struct delay_pair delay;

		plan.direction = direction;
		delay = path_split_delay(&plan, 5);
		cr_assert_eq(delay.ab_us, wanted[direction][0]);
		cr_assert_eq(delay.ba_us, wanted[direction][1]);
	}
}
