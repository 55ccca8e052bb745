/* SPDX-License-Identifier: BSD-3-Clause */
/* Which packets stalls and hiccups disturb, and how they are reported. */
#include <criterion/criterion.h>

#include "loop_world.h"

/* The hiccup is too short to be a stall. */
Test(loop_disturbed, what_leaves_after_a_hiccup_in_the_wait_for_it_is_disturbed)
{
	for (int kind = 0; kind < 2; kind++) {
		for (uint64_t early = 0; early < WAIT; early += 3 * STEP) {
			loop_make(kind, 3, 20000);
			world.jump_at = 1000 + 20000 + STEP + DELAY - early; /* about the second packet's due time */
			world.jump = GAP + 2 * STEP;
			loop_run();
			cr_assert_eq(worker.snapshot.count[0].disturbed, 1, "loop %d, %lu before it was due: %lu", kind,
				     early, worker.snapshot.count[0].disturbed);
			cr_assert_eq(lateness_count(lines[0].late_clean), 2);
			cr_assert_eq(lateness_count(lines[0].late_disturbed), 1);
		}
	}
}

Test(loop_disturbed, a_stall_disturbs_everything_that_is_held)
{
	for (int kind = 0; kind < 2; kind++) {
		uint64_t held = 0;

		loop_make(kind, 100, 200);
		world.jump_at = 15000;
		world.jump = STALL + 1;
		loop_run();
		for (size_t i = 0; i < world.count; i++) {
			const struct dp_packet *packet = &world.packets[i];

			held += packet->arrives <= 15000 + STALL + 1 && packet->left > 15000;
		}
		cr_assert_eq(worker.stalls, 1);
		cr_assert_eq(worker.hiccups, 0);
		cr_assert_gt(held, 60);
		cr_assert_leq(worker.snapshot.count[0].disturbed - held, 1, "loop %d: %lu of %lu", kind,
			      worker.snapshot.count[0].disturbed, held);
		cr_assert_eq(lateness_count(lines[0].late_disturbed), worker.snapshot.count[0].disturbed);
		cr_assert_eq(lateness_count(lines[0].late_clean) + lateness_count(lines[0].late_disturbed), 100);
	}
}

/* One packet, due at about 11000. Returns the number of packets counted as disturbed. */
static uint64_t disturbed_by_a_hiccup_at(bool with_modal, uint64_t at, bool in_receive)
{
	loop_make(with_modal, 1, 0);
	world.jump_at = at;
	world.jump = 2 * GAP;
	world.jump_in_receive = in_receive;
	loop_run();
	cr_assert_eq(worker.hiccups, 1);
	cr_assert_eq(worker.stalls, 0);
	return worker.snapshot.count[0].disturbed;
}

Test(loop_disturbed, a_hiccup_disturbs_only_what_arrives_or_leaves_in_it)
{
	for (int kind = 0; kind < 2; kind++) {
		cr_assert_eq(disturbed_by_a_hiccup_at(kind, 500, false), 1, "arrived in it");
		cr_assert_eq(disturbed_by_a_hiccup_at(kind, 500, true), 1, "arrived in it, unseen by the burst before");
		cr_assert_eq(disturbed_by_a_hiccup_at(kind, 6000, false), 0, "was waiting");
		cr_assert_eq(disturbed_by_a_hiccup_at(kind, 10500, false), 1, "fell due in it");
		cr_assert_eq(disturbed_by_a_hiccup_at(kind, 100, false), 0, "came long after");
	}
}

Test(loop_disturbed, what_arrives_in_a_second_hiccup_is_disturbed_too)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, 3, 0);
		world.packets[1].arrives = 1000 + GAP;     /* in the first jump, receiving packet 0 */
		world.packets[2].arrives = 1000 + 3 * GAP; /* in the second jump, receiving packet 1 */
		world.jump_at = 1000;
		world.jump = world.jump_again = 2 * GAP;
		world.jump_in_receive = true;
		loop_run();
		cr_assert_eq(worker.hiccups, 2);
		cr_assert_eq(worker.snapshot.count[0].disturbed, 3, "loop %d", kind);
	}
}

Test(loop_disturbed, a_stall_tells_how_much_of_it_was_spent_sending)
{
	for (int kind = 0; kind < 2; kind++) {
		for (int sending = 0; sending < 2; sending++) {
			loop_make(kind, 1, 0);
			worker.timed_transmit = true;
			world.jump_at = 5000;
			world.jump_in_receive = !sending;
			world.jump_in_transmit = sending;
			world.jump = 2 * STALL;
			loop_run();
			loop_round(); /* a jump during the last burst is detected at the next reading */
			worker_answer(&worker);
			cr_assert_eq(worker.snapshot.stalls, 1, "loop %d, %d", kind, sending);
			cr_assert_gt(worker.snapshot.stall_cycles, 2 * STALL);
			if (sending)
				cr_assert_eq(worker.snapshot.stall_transmit_cycles, 2 * STALL + STEP, "loop %d: %lu",
					     kind, worker.snapshot.stall_transmit_cycles);
			else
				cr_assert_eq(worker.snapshot.stall_transmit_cycles, 0);
		}
	}
}

/* A backlog leaves in several bursts: the packets of each have that burst's lateness. */
Test(loop_disturbed, lateness_is_that_of_the_burst)
{
	for (int kind = 0; kind < 2; kind++) {
		uint64_t expected[LATENESS_BUCKETS] = {0};

		loop_make(kind, 4 * LINE_TX_BURST, 0);
		world.send = GAP - 2 * STEP;
		world.jump_at = 6000;
		world.jump = 12000; /* all packets become due meanwhile */
		loop_run();
		for (size_t i = 0; i < world.count; i++)
			expected[lateness_bucket(world.packets[i].left - loop_due(&world.packets[i]))]++;
		cr_assert_leq(expected[lateness_bucket(world.packets[0].left - loop_due(&world.packets[0]))],
			      LINE_TX_BURST);
		cr_assert_arr_eq(lines[0].late_disturbed, expected, sizeof expected, "loop %d", kind);
	}
}

Test(loop_disturbed, the_work_on_whole_bursts_is_no_hiccup)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, 2 * LINE_RX_BURST, 0);
		world.jump_at = 1000;
		world.jump = 2 * GAP;
		world.jump_in_receive = true;
		loop_run();
		cr_assert_eq(worker.hiccups, 0);
		cr_assert_eq(worker.snapshot.count[0].disturbed, 0);
	}
}

Test(loop_disturbed, nor_is_it_where_a_short_burst_follows)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, LINE_RX_BURST + 1, 0);
		lines[0].delay_cycles = 0;
		world.jump_at = 1000; /* while the whole burst is being sent */
		world.jump = 2 * GAP;
		world.jump_in_transmit = true;
		loop_run();
		cr_assert_eq(worker.hiccups, 0);
		cr_assert_eq(worker.snapshot.count[0].disturbed, 0);
		loop_make(kind, LINE_RX_BURST, 0);
		world.jump_at = 6000; /* long after */
		world.jump = 2 * GAP;
		loop_run();
		cr_assert_eq(worker.hiccups, 1);
	}
}

/* `apart` cycles between the 40 packets; one is being sent at about 20000, when the counter jumps. */
static void jump_while_sending(int kind, uint64_t apart, uint64_t by)
{
	loop_make(kind, 40, apart);
	world.jump_at = 20000;
	world.jump = by;
	world.jump_in_transmit = true;
	loop_run();
	loop_round(); /* a jump during the last burst is detected at the next reading */
	worker_answer(&worker);
}

Test(loop_disturbed, a_hiccup_while_a_packet_is_sent_disturbs_it)
{
	for (int kind = 0; kind < 2; kind++) {
		jump_while_sending(kind, 3000, 2 * GAP);
		cr_assert_eq(worker.hiccups, 1);
		cr_assert_eq(worker.snapshot.count[0].disturbed, 1, "loop %d: %lu", kind,
			     worker.snapshot.count[0].disturbed);
	}
}

Test(loop_disturbed, a_stall_in_the_first_burst_of_a_backlog_disturbs_all_of_it)
{
	for (int kind = 0; kind < 2; kind++) {
		loop_make(kind, LINE_TX_BURST + 4, 0);
		world.jump_at = 6000;
		world.jump = 2 * STALL;
		world.jump_in_transmit = true;
		loop_run();
		cr_assert_eq(worker.stalls, 1);
		cr_assert_eq(worker.snapshot.count[0].disturbed, world.count, "loop %d: %lu", kind,
			     worker.snapshot.count[0].disturbed);
	}
}

Test(loop_disturbed, a_stall_while_a_packet_is_sent_disturbs_it_and_all_that_are_held)
{
	for (int kind = 0; kind < 2; kind++) {
		uint64_t held = 0;

		jump_while_sending(kind, 1000, 2 * STALL);
		for (size_t i = 0; i < world.count; i++) {
			const struct dp_packet *packet = &world.packets[i];

			held += packet->arrives <= 20100 + 2 * STALL && packet->left >= 20000;
		}
		cr_assert_eq(worker.stalls, 1);
		cr_assert_gt(held, 10);
		cr_assert_eq(worker.snapshot.count[0].disturbed, held, "loop %d: %lu of %lu", kind,
			     worker.snapshot.count[0].disturbed, held);
	}
}
