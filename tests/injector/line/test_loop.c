/* SPDX-License-Identifier: BSD-3-Clause */
/* When packets leave, and in which order. */
#include <criterion/criterion.h>

#include "loop_world.h"

Test(loop, no_packet_leaves_a_cycle_early_or_two_readings_late)
{
	for (int kind = 0; kind < 2; kind++) {
		for (uint64_t gap = 137; gap < 3000; gap += 411) {
			loop_make(kind, 500, gap);
			loop_run();
			for (size_t i = 0; i < world.count; i++) {
				const struct dp_packet *packet = &world.packets[i];

				cr_assert_geq(packet->left, loop_due(packet), "loop %d, gap %lu, packet %zu", kind, gap,
					      i);
				/* The modal loop reads the counter a second time after receiving a burst. */
				cr_assert_leq(packet->left - loop_due(packet), 5 * STEP,
					      "loop %d, gap %lu, packet %zu: %lu", kind, gap, i,
					      packet->left - loop_due(packet));
			}
			cr_assert_eq(worker.snapshot.count[0].disturbed, 0);
			cr_assert_eq(worker.stalls + worker.hiccups, 0);
		}
	}
}

Test(loop, a_packet_alone_leaves_within_one_reading)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, 100, 50 * STEP + 20001);
		loop_run();
		for (size_t i = 0; i < world.count; i++)
			cr_assert_lt(world.packets[i].left - loop_due(&world.packets[i]), STEP, "loop %d", kind);
	}
}

/* Polling the other port would take longer than the time until the second packet is due. */
Test(loop, what_is_due_right_after_another_is_waited_for_too)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, 2, 6 * STEP);
		while (world.next_in < world.count)
			loop_round();
		cr_assert_gt(world.packets[1].received, world.packets[0].received, "in bursts of their own");
		world.other_port = WAIT - 2 * STEP;
		loop_run();
		for (size_t i = 0; i < world.count; i++)
			cr_assert_leq(world.packets[i].left - loop_due(&world.packets[i]), 2 * STEP,
				      "loop %d, packet %zu: %lu", kind, i,
				      world.packets[i].left - loop_due(&world.packets[i]));
	}
}

/* The preparation takes almost as long as the time that is left until the loop has to wait for the first packet. */
Test(loop, a_port_is_prepared_once_after_each_sending_and_keeps_nothing_waiting)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, 100, 50 * STEP + 20001);
		world.prepare = 2 * WAIT - STEP;
		worker.gap_cycles = STALL;
		loop_run();
		cr_assert_eq(world.preparations, world.count, "and before the first: loop %d, %zu", kind,
			     world.preparations);
		for (size_t i = 0; i < world.count; i++) {
			const struct dp_packet *packet = &world.packets[i];

			cr_assert_lt(packet->left - loop_due(packet), STEP, "loop %d", kind);
			cr_assert(i + 1 == world.count || packet->prepared, "loop %d, packet %zu", kind, i);
			cr_assert(!packet->prepared || packet->prepared >= packet->left + PREPARE, "loop %d", kind);
			cr_assert(!packet->prepared || packet->prepared <= packet->left + PREPARE + 4 * STEP,
				  "loop %d: %lu", kind, packet->prepared - packet->left);
		}
	}
}

/* A packet arrives in every second wait, so that after each receive another one is due soon. */
Test(loop, no_port_is_prepared_when_a_packet_is_due_soon)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, 400, PREPARE + 2 * WAIT - 5 * STEP);
		world.prepare = 2 * WAIT - STEP;
		worker.gap_cycles = STALL;
		while (world.left == 0)
			loop_round();
		world.preparations = 0;
		while (world.next_in < world.count)
			loop_round();
		cr_assert_eq(world.preparations, 0, "loop %d: %zu", kind, world.preparations);
	}
}

Test(loop, no_port_is_prepared_by_system_calls)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, 100, 20000);
		worker.timed_transmit = true;
		world.packets[0].arrives = 1;
		loop_run();
		cr_assert_leq(world.preparations, 1, "before the first sending at most");
	}
}

/* Even if the first rounds met a stall, and although packets make some rounds longer. */
Test(loop, what_is_due_within_two_idle_rounds_is_waited_for)
{
	for (int kind = 0; kind < 2; kind++) {
		for (uint64_t other_port = 40; other_port <= 240; other_port += 100) {
			loop_make(kind, 400, 3000);
			world.other_port = other_port;
			world.jump_at = 500;
			world.jump = 100 * STALL;
			world.stop_at = 1500000;
			worker_run(&worker);
			cr_assert_eq(world.left, world.count);
			cr_assert_eq(worker.wait_cycles, MIN(2 * (other_port + STEP), GAP), "loop %d: %ld", kind,
				     worker.wait_cycles);
			for (size_t i = 150; i < world.count; i++)
				cr_assert_leq(world.packets[i].left - loop_due(&world.packets[i]), 2 * STEP,
					      "loop %d, packet %zu: %lu", kind, i,
					      world.packets[i].left - loop_due(&world.packets[i]));
		}
	}
}

Test(loop, a_round_that_received_looks_once)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, 1, 0);
		world.now = 1000;
		loop_round();
		cr_assert_eq(world.next_in, 1);
		cr_assert_eq(world.now, 1000 + (kind ? 2 : 1) * STEP, "loop %d: %lu", kind, world.now);
	}
}

Test(loop, a_lower_delay_keeps_the_order)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, 300, 100);
		for (int i = 0; i < 1200; i++)
			loop_round();
		cr_assert_lt(world.left, world.count, "some are held when the delay changes");
		lines[0].delay_cycles = 10;
		loop_run(); /* dp_transmit() checks the order */
	}
}

/* Maximum lateness of the packets that were counted as undisturbed, in cycles. */
static uint64_t longest_lateness(void)
{
	uint32_t bucket = LATENESS_BUCKETS;

	while (bucket > 0 && lines[0].late_clean[bucket - 1] == 0)
		bucket--;
	return bucket;
}

Test(loop, lateness_is_from_the_due_time_to_the_reading_before_the_call)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, 100, 20001);
		world.send = 150;
		loop_run();
		cr_assert_eq(lateness_count(lines[0].late_clean), 100);
		cr_assert_leq(longest_lateness(), STEP, "loop %d: %lu", kind, longest_lateness());
	}
}

/* The packets arrive together and are waited for. */
Test(loop, what_the_port_refuses_of_a_burst_that_was_waited_for_leaves_next)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, 10, 0);
		world.refusals = 1;
		loop_run();
		cr_assert_eq(world.packets[2].left, world.packets[0].left);
		cr_assert_gt(world.packets[3].left, world.packets[2].left);
		cr_assert_leq(world.packets[9].left, world.packets[2].left + 4 * STEP);
		cr_assert_eq(worker.snapshot.count[0].tx_full, 7);
		cr_assert_eq(lateness_count(lines[0].late_clean), 10);
	}
}

Test(loop, what_the_port_refuses_leaves_next)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, 40, 0);
		world.refusals = 2;
		loop_run();
		cr_assert_eq(worker.snapshot.count[0].tx_full, 14);
		cr_assert_eq(lateness_count(lines[0].late_clean), 40);
		cr_assert_lt(longest_lateness(), 8 << LATENESS_STEP_BITS, "each against its own burst");
	}
}

Test(loop, whole_bursts_are_no_disturbance_and_no_delay_is_none)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, 320, 0);
		lines[0].delay_cycles = 0;
		loop_run();
		cr_assert_eq(worker.snapshot.count[0].disturbed, 0);
		loop_make(kind, 5, 5000);
		lines[0].delay_cycles = 0;
		loop_run();
		cr_assert_leq(world.packets[0].left, world.packets[0].received + (kind ? 3 : 1) * STEP, "loop %d",
			      kind);
	}
}

/* When the delay falls to 0, held packets leave first; while none is held, packets pass directly; and the reverse. */
Test(loop, a_thousand_changes_through_no_delay_keep_every_packet_in_order)
{
	static const uint64_t delays[] = {0, 300, 0, 10, 0, DELAY / 5};

	for (int kind = 0; kind < 2; kind++) {
		uint64_t passed = 0;
		int changes = 0;

		loop_make(kind, PACKETS, 180);
		lines[1].delay_cycles = 0;
		for (int round = 0; world.left < world.count && round < 1000000; round++) {
			if (round % 24 == 0 && changes < 1000)
				lines[0].delay_cycles = delays[changes++ % 6];
			if (round % 700 == 0)
				world.refusals = 1;
			if (round % 50 == 0) /* make a burst, so that the port has something to refuse */
				world.now += GAP / 2;
			loop_round();
			if (lines[0].delay_cycles == 0 && world.left > 0 && world.left == world.next_in)
				passed += world.packets[world.left - 1].left == world.packets[world.left - 1].received;
		}
		loop_run(); /* dp_transmit() checks the order, this test the sums */
		cr_assert_eq(changes, 1000);
		cr_assert_eq(worker.snapshot.count[0].rx_packets, PACKETS);
		cr_assert_eq(lateness_count(lines[0].late_clean) + lateness_count(lines[0].late_disturbed), PACKETS);
		if (!modal)
			cr_assert_gt(passed, 100, "%lu", passed);
	}
}

Test(loop, no_delay_is_none_and_what_the_port_refuses_leaves_next)
{
	loop_make(false, 3 * LINE_RX_BURST, 0);
	lines[0].delay_cycles = lines[1].delay_cycles = 0;
	world.refusals = 1;
	world.now = 1000;
	loop_round();
	cr_assert_eq(world.left, LINE_RX_BURST - 7);
	cr_assert_eq(lines[0].head - lines[0].tail, 7);
	cr_assert_eq(world.packets[0].left, world.packets[0].received);
	loop_run();
	cr_assert_eq(worker.snapshot.count[0].tx_full, 7);
	cr_assert_eq(lateness_count(lines[0].late_clean), 3 * LINE_RX_BURST);
	cr_assert_eq(worker.snapshot.count[0].disturbed, 0);
}

/* Refused packets at the end of the ring wrap around to its start. */
Test(loop, refused_packets_wrap_around_the_ring)
{
	for (uint32_t head = SLOTS - LINE_RX_BURST; head < SLOTS; head++) {
		loop_make(false, 2 * LINE_RX_BURST, 0);
		lines[0].head = lines[0].tail = lines[0].counted = lines[0].disturbed_head = head;
		lines[0].delay_cycles = lines[1].delay_cycles = 0;
		world.refusals = 1;
		loop_run();
		cr_assert_eq(worker.snapshot.count[0].tx_packets, 2 * LINE_RX_BURST);
	}
}

/* The counter is read once per round, so the time for a full burst of both ports shows as one gap. */
Test(loop, at_no_delay_two_whole_bursts_take_twice_as_long)
{
	for (uint64_t jump = STALL + STALL / 2; jump <= 2 * STALL + STALL / 2; jump += STALL) {
		loop_make(false, 8 * LINE_RX_BURST, 0);
		lines[0].delay_cycles = lines[1].delay_cycles = 0;
		world.flood = true;
		world.jump_at = 1000;
		world.jump = jump;
		world.jump_in_transmit = true;
		loop_run();
		cr_assert_eq(worker.stalls, jump > 2 * STALL, "%lu", jump);
		cr_assert_eq(worker.snapshot.count[0].disturbed > 0, jump > 2 * STALL);
	}
	loop_make(false, 8 * LINE_RX_BURST, 0);
	lines[0].delay_cycles = lines[1].delay_cycles = 0;
	world.jump_at = 1000;
	world.jump = STALL + STALL / 2;
	world.jump_in_transmit = true;
	loop_run();
	cr_assert_eq(worker.stalls, 1, "one port alone");
}

Test(loop, at_no_delay_a_hiccup_disturbs_what_arrives_or_leaves_in_it)
{
	loop_make(false, 4, 5000);
	lines[0].delay_cycles = lines[1].delay_cycles = 0;
	world.jump_at = 6000;
	world.jump = 2 * GAP;
	world.jump_in_transmit = true;
	loop_run();
	cr_assert_eq(worker.hiccups, 1);
	cr_assert_eq(worker.snapshot.count[0].disturbed, 1);
	cr_assert_eq(lateness_count(lines[0].late_clean), 3);
	loop_make(false, 4, 5000);
	lines[0].delay_cycles = lines[1].delay_cycles = 0;
	world.jump_at = 3000;
	world.jump = 2 * GAP;
	loop_run();
	cr_assert_eq(worker.hiccups, 1);
	cr_assert_eq(worker.snapshot.count[0].disturbed, 0, "it was over before the next came");
}

Test(loop, a_whole_burst_does_not_wait_for_the_other_port)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, 4 * LINE_RX_BURST, 0);
		lines[0].delay_cycles = 0;
		world.other_port = GAP - 5 * STEP;
		loop_run();
		for (size_t i = 0; i < world.count; i++)
			cr_assert_leq(world.packets[i].left - world.packets[i].received, 4 * STEP,
				      "loop %d, packet %zu", kind, i);
	}
}

/* One direction is saturated, the other idle: a packet held in the idle direction still leaves on time. */
Test(loop, whole_bursts_on_one_port_do_not_keep_the_other_line)
{
	for (int kind = 0; kind < 2; kind++) {
		for (int silent = 0; silent < 2; silent++) {
			loop_make(kind, 1, 0);
			worker.lines[silent] = &lines[0];
			worker.lines[!silent] = &lines[1];
			world.flood = true;
			for (int i = 0; i < 20000 && world.left == 0; i++)
				loop_round();
			cr_assert_eq(world.left, 1, "loop %d, step %d", kind, silent);
			cr_assert_leq(world.packets[0].left - loop_due(&world.packets[0]), 6 * STEP,
				      "loop %d, step %d: %lu", kind, silent,
				      world.packets[0].left - loop_due(&world.packets[0]));
		}
	}
}

/*
 * The transmit port accepts nothing for a while, or the CPU stands still. No packet leaves later than the limit; those
 * that would are freed and counted.
 */
Test(loop, no_packet_leaves_later_than_the_limit)
{
	const int64_t limit = 3 * STALL;

	for (int kind = 0; kind < 4; kind++) {
		uint64_t dropped = 0;

		loop_make(kind % 2, 400, 137);
		lines[0].late_cycles = limit;
		if (kind < 2)
			world.jump_at = 30000, world.jump = 5 * (uint64_t)limit;
		else
			world.refuse_from = 30000, world.refuse_until = 30000 + 5 * (uint64_t)limit;
		for (int i = 0; i < 20000; i++)
			loop_round();
		dropped = lines[0].count.too_late;
		worker_answer(&worker);
		cr_assert_gt(dropped, 20, "loop %d", kind);
		cr_assert_eq(worker.snapshot.count[0].tx_packets + dropped, world.count, "loop %d: %lu", kind, dropped);
		cr_assert_eq(worker.snapshot.held[0], 0);
		cr_assert_eq(lateness_count(lines[0].late_clean) + lateness_count(lines[0].late_disturbed),
			     worker.snapshot.count[0].tx_packets);
		for (uint32_t i = lateness_bucket((uint64_t)limit) + 1; i < LATENESS_BUCKETS; i++)
			cr_assert_eq(lines[0].late_clean[i] + lines[0].late_disturbed[i], 0, "loop %d", kind);
		for (size_t i = 0; i < world.count; i++) {
			const struct dp_packet *packet = &world.packets[i];

			cr_assert(packet->gone != packet->freed, "loop %d, packet %zu", kind, i);
			dropped -= packet->freed;
			if (packet->gone)
				cr_assert_leq((int64_t)(packet->left - loop_due(packet)), limit + 20 * STEP,
					      "loop %d, packet %zu", kind, i);
		}
		cr_assert_eq(dropped, 0);
	}
}
