/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers, memory and thresholds of an injector. */
#include <criterion/criterion.h>

#include <injector/line/line.h>

Test(sizing, slots_hold_the_delay_at_the_rate_with_a_tenth_to_spare)
{
	for (double rate_pps = 1e4; rate_pps <= 1e7; rate_pps *= 3) {
		uint32_t slots = injector_slots_needed(1000, rate_pps);

		cr_assert_geq(slots, 1.1 * 1e-3 * rate_pps, "%g", rate_pps);
		cr_assert(slots == 1024 || slots / 2 < 1.1 * 1e-3 * rate_pps + 64, "%g: %u is too much", rate_pps,
			  slots);
		cr_assert_eq(slots & (slots - 1), 0, "a power of two");
	}
}

Test(sizing, the_default_falls_only_where_the_rate_is_known_and_low_and_no_mode_holds_packets)
{
	cr_assert_eq(injector_slots_default(0, false), 16384);
	cr_assert_eq(injector_slots_default(1e5, true), 16384);
	cr_assert_eq(injector_slots_default(1e9, false), 16384);
	cr_assert_eq(injector_slots_default(1e5, false), injector_slots_needed(INJECTOR_DELAY_MAXIMUM_US, 1e5));
	cr_assert_eq(injector_slots_default(1e5, false), 2048);
	cr_assert_eq(injector_slots_default(1e4, false), 1024);
}

Test(sizing, there_is_a_buffer_for_each_slot_and_descriptor_of_both_directions)
{
	struct injector_memory small = injector_memory_needed(1024, 2048), large = injector_memory_needed(16384, 2048);

	cr_assert_eq(small.mbufs, 2 * (1024 + 2 * 1024) + 2048);
	cr_assert_eq(large.mbufs - small.mbufs, 2 * (16384 - 1024));
	cr_assert_geq(large.MiB, 96 + ((large.mbufs * UINT64_C(2560)) >> 20));
	cr_assert_gt(injector_memory_needed(16384, 16384).MiB, large.MiB);
}

Test(sizing, thresholds_follow_whether_bursts_are_system_calls_unless_given)
{
	struct injector_thresholds polled = injector_thresholds_of(0, 0, false),
				   calls = injector_thresholds_of(0, 0, true);

	cr_assert_eq(polled.stall_us, 1);
	cr_assert_eq(polled.hiccup_ns, 300);
	cr_assert_eq(calls.stall_us, 20);
	cr_assert_eq(calls.hiccup_ns, 20e3);
	calls = injector_thresholds_of(7, 0, true);
	cr_assert_eq(calls.stall_us, 7);
	cr_assert_eq(calls.hiccup_ns, 7e3);
	polled = injector_thresholds_of(7, 90, false);
	cr_assert_eq(polled.stall_us, 7);
	cr_assert_eq(polled.hiccup_ns, 90);
}

Test(sizing, slots_needed_for_ten_gigabit_and_half_a_millisecond)
{
	cr_assert_eq(injector_slots_needed(500, 14.88e6), 16384);
	cr_assert_eq(injector_slots_needed(500, 40e6), 32768);
	cr_assert_eq(injector_slots_needed(0, 1e9), 1024);
}
