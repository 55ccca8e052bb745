/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both loops to the cycle, in a world that the test makes: a counter that advances by STEP at every reading and jumps
 * where it is told to, packets that arrive at given moments, a port that notes when each left.
 */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "line_priv.h"

enum { STEP = 10, DELAY = 10000, WAIT = 200, GAP = 300, STALL = 3000, PACKETS = 4000, SLOTS = 1024, FRAME_BYTES = 60 };

static struct {
	uint64_t now, jump_at, jump;
	struct dp_packet packets[PACKETS];
	size_t count, next_in, left;
	uint64_t other_port;   /* cycles to look whether port 1 has something: it never has */
	bool jump_in_receive;  /* of port 0, after the port was looked at, before the counter is read */
	bool jump_in_transmit; /* before the port has taken the burst */
	uint64_t jump_again;   /* cycles, in the call after the one that jumped */
	uint64_t send;         /* cycles that it takes */
	bool flood;            /* port 1 gives whole bursts, always */
	uint64_t stop_at;      /* 0: never */
	unsigned int refusals; /* so many bursts to come lose their last 7 packets */
} world;

static struct dp_packet flood;
static struct worker worker;

static void jump(void)
{
	if (world.jump && world.now >= world.jump_at) {
		world.now += world.jump;
		world.jump = world.jump_again;
		world.jump_again = 0;
	}
}

uint64_t dp_cycles(void)
{
	world.now += STEP;
	if (!world.jump_in_receive && !world.jump_in_transmit)
		jump();
	return world.now;
}

uint16_t dp_receive(uint16_t port, struct dp_packet **packets, uint16_t count)
{
	uint16_t received = 0;

	world.now += port == 1 ? world.other_port : 0;
	if (world.stop_at && world.now >= world.stop_at)
		atomic_store(&worker.stop, true);
	for (; port == 1 && world.flood && received < count; received++)
		packets[received] = &flood;
	while (port == 0 && received < count && world.next_in < world.count &&
	       world.packets[world.next_in].arrives <= world.now) {
		world.packets[world.next_in].received = world.now;
		packets[received++] = &world.packets[world.next_in++];
	}
	if (world.jump_in_receive && port == 0)
		jump();
	return received;
}

uint16_t dp_transmit(uint16_t port, struct dp_packet **packets, uint16_t count)
{
	uint16_t sent = world.refusals > 0 && count > 7 ? count - 7 : count;

	if (port == 0 && world.flood)
		return count;
	cr_assert_eq(port, 1);
	if (world.jump_in_transmit)
		jump();
	world.refusals -= world.refusals > 0;
	for (uint16_t i = 0; i < sent; i++) {
		while (world.packets[world.left].freed)
			world.left++;
		cr_assert_eq(packets[i], &world.packets[world.left], "order");
		world.left++;
		packets[i]->left = world.now;
		packets[i]->gone = true;
	}
	world.now += world.send;
	return sent;
}

void dp_packet_free(struct dp_packet *packet)
{
	packet->freed = true;
}

void dp_packets_free(struct dp_packet **packets, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		dp_packet_free(packets[i]);
}

struct dp_packet *dp_packet_copy(const struct dp_packet *packet)
{
	(void)packet;
	return NULL;
}

uint8_t *dp_packet_bytes(const struct dp_packet *packet)
{
	static uint8_t none;

	(void)packet;
	return &none;
}

uint16_t dp_packet_contiguous(const struct dp_packet *packet)
{
	(void)packet;
	return 0;
}

uint32_t dp_packet_length(const struct dp_packet *packet)
{
	(void)packet;
	return FRAME_BYTES;
}

bool dp_packet_stamp(const struct dp_packet *packet, const struct dp_stamps *stamps, uint64_t *nic)
{
	(void)stamps;
	*nic = packet->stamp;
	return packet->stamp != 0;
}

static struct dp_packet *slots[2][SLOTS + LINE_RX_BURST];
static struct line_burst bursts[2][SLOTS];
static struct heap_entry entries[2][SLOTS];
static struct line lines[2];
static bool modal;

/* `gap` cycles between the arrivals of `count` packets, from 1000 on. */
static void make(bool with_modal, size_t count, uint64_t gap)
{
	memset(&world, 0, sizeof world);
	memset(lines, 0, sizeof lines);
	memset(&worker, 0, sizeof worker);
	modal = with_modal;
	world.now = 1;
	world.count = count;
	for (size_t i = 0; i < count; i++)
		world.packets[i].arrives = 1000 + i * gap;
	for (unsigned int d = 0; d < 2; d++) {
		if (modal)
			lines[d].heap = (struct heap){.entries = entries[d], .capacity = SLOTS};
		else
			lines[d].packets = slots[d];
		lines[d].bursts = bursts[d];
		lines[d].mask = SLOTS - 1;
		lines[d].rx_port = (uint16_t)d;
		lines[d].tx_port = (uint16_t)!d;
		lines[d].delay_cycles = DELAY;
		worker.lines[d] = &lines[d];
	}
	worker.line_count = 2;
	worker.last_look = world.now;
	worker.gap_cycles = GAP;
	worker.stall_gap_cycles = STALL;
	worker.wait_cycles = WAIT;
	worker.chunk_cycles = UINT64_MAX;
}

static void round_of(void)
{
	if (modal)
		worker_modal_rounds(&worker, 1);
	else
		worker_fixed_rounds(&worker, 1);
}

static void run(void)
{
	for (int i = 0; i < 1000000 && world.left < world.count; i++)
		round_of();
	cr_assert_eq(world.left, world.count);
	worker_answer(&worker);
	cr_assert_eq(worker.snapshot.count[0].tx_packets, world.count);
	cr_assert_eq(worker.snapshot.held[0], 0);
}

/* The counter is read once after a burst was received: the stay begins there. */
static uint64_t due(const struct dp_packet *packet)
{
	return packet->received + STEP + DELAY;
}

static uint64_t lateness_count(const uint64_t *buckets)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < LATENESS_BUCKETS; i++)
		count += buckets[i];
	return count;
}

Test(loop, no_packet_leaves_a_cycle_early_or_two_readings_late)
{
	for (int kind = 0; kind < 2; kind++) {
		for (uint64_t gap = 137; gap < 3000; gap += 411) {
			make(kind, 500, gap);
			run();
			for (size_t i = 0; i < world.count; i++) {
				const struct dp_packet *packet = &world.packets[i];

				cr_assert_geq(packet->left, due(packet), "loop %d, gap %lu, packet %zu", kind, gap, i);
				/* The modal loop reads the counter again when it has taken a burst. */
				cr_assert_leq(packet->left - due(packet), 5 * STEP, "loop %d, gap %lu, packet %zu: %lu",
					      kind, gap, i, packet->left - due(packet));
			}
			cr_assert_eq(worker.snapshot.count[0].disturbed, 0);
			cr_assert_eq(worker.stalls + worker.hiccups, 0);
		}
	}
}

Test(loop, a_packet_alone_leaves_within_one_reading)
{
	for (int kind = 0; kind < 2; kind++) {
		make(kind, 100, 50 * STEP + 20001);
		run();
		for (size_t i = 0; i < world.count; i++)
			cr_assert_lt(world.packets[i].left - due(&world.packets[i]), STEP, "loop %d", kind);
	}
}

/* A look at the other port would take longer than the second has left. */
Test(loop, what_is_due_right_after_another_is_waited_for_too)
{
	for (int kind = 0; kind < 2; kind++) {
		make(kind, 2, 6 * STEP);
		while (world.next_in < world.count)
			round_of();
		cr_assert_gt(world.packets[1].received, world.packets[0].received, "in bursts of their own");
		world.other_port = WAIT - 2 * STEP;
		run();
		for (size_t i = 0; i < world.count; i++)
			cr_assert_leq(world.packets[i].left - due(&world.packets[i]), 2 * STEP,
				      "loop %d, packet %zu: %lu", kind, i,
				      world.packets[i].left - due(&world.packets[i]));
	}
}

/* Also where the first rounds met a stall, and where packets make some of them longer. */
Test(loop, what_is_due_within_two_idle_rounds_is_waited_for)
{
	for (int kind = 0; kind < 2; kind++) {
		for (uint64_t other_port = 40; other_port <= 240; other_port += 100) {
			make(kind, 400, 3000);
			world.other_port = other_port;
			world.jump_at = 500;
			world.jump = 100 * STALL;
			world.stop_at = 1500000;
			if (modal)
				worker_modal_loop(&worker);
			else
				worker_fixed_loop(&worker);
			cr_assert_eq(world.left, world.count);
			cr_assert_eq(worker.wait_cycles, MIN(2 * (other_port + STEP), GAP), "loop %d: %ld", kind,
				     worker.wait_cycles);
			for (size_t i = 150; i < world.count; i++)
				cr_assert_leq(world.packets[i].left - due(&world.packets[i]), 2 * STEP,
					      "loop %d, packet %zu: %lu", kind, i,
					      world.packets[i].left - due(&world.packets[i]));
		}
	}
}

Test(loop, a_round_that_received_looks_once)
{
	for (int kind = 0; kind < 2; kind++) {
		make(kind, 1, 0);
		world.now = 1000;
		round_of();
		cr_assert_eq(world.next_in, 1);
		cr_assert_eq(world.now, 1000 + (kind ? 2 : 1) * STEP, "loop %d: %lu", kind, world.now);
	}
}

Test(loop, a_lower_delay_keeps_the_order)
{
	for (int kind = 0; kind < 2; kind++) {
		make(kind, 300, 100);
		for (int i = 0; i < 1200; i++)
			round_of();
		cr_assert_lt(world.left, world.count, "some are held when the delay changes");
		lines[0].delay_cycles = 10;
		run(); /* dp_transmit() looks at the order */
	}
}

/* Of the packets that were counted as undisturbed, cycles. */
static uint64_t longest_lateness(void)
{
	uint32_t bucket = LATENESS_BUCKETS;

	while (bucket > 0 && lines[0].late_clean[bucket - 1] == 0)
		bucket--;
	return bucket;
}

Test(loop, what_the_port_refuses_leaves_next)
{
	for (int kind = 0; kind < 2; kind++) {
		make(kind, 40, 0);
		world.refusals = 2;
		run();
		cr_assert_eq(worker.snapshot.count[0].tx_full, 14);
		cr_assert_eq(lateness_count(lines[0].late_clean), 40);
		cr_assert_lt(longest_lateness(), 8 << LATENESS_STEP_BITS, "each against its own burst");
	}
}

Test(loop, whole_bursts_are_no_disturbance_and_no_delay_is_none)
{
	for (int kind = 0; kind < 2; kind++) {
		make(kind, 320, 0);
		lines[0].delay_cycles = 0;
		run();
		cr_assert_eq(worker.snapshot.count[0].disturbed, 0);
		make(kind, 5, 5000);
		lines[0].delay_cycles = 0;
		run();
		cr_assert_leq(world.packets[0].left, world.packets[0].received + (kind ? 3 : 1) * STEP, "loop %d",
			      kind);
	}
}

/* What is held when the delay falls to none goes first; what comes while nothing is held passes; and back again. */
Test(loop, a_thousand_changes_through_no_delay_keep_every_packet_in_order)
{
	static const uint64_t delays[] = {0, 300, 0, 10, 0, DELAY / 5};

	for (int kind = 0; kind < 2; kind++) {
		uint64_t passed = 0;
		int changes = 0;

		make(kind, PACKETS, 180);
		lines[1].delay_cycles = 0;
		for (int round = 0; world.left < world.count && round < 1000000; round++) {
			if (round % 24 == 0 && changes < 1000)
				lines[0].delay_cycles = delays[changes++ % 6];
			if (round % 700 == 0)
				world.refusals = 1;
			if (round % 50 == 0) /* a burst, so that there is something to refuse */
				world.now += GAP / 2;
			round_of();
			if (lines[0].delay_cycles == 0 && world.left > 0 && world.left == world.next_in)
				passed += world.packets[world.left - 1].left == world.packets[world.left - 1].received;
		}
		run(); /* dp_transmit() looks at the order, this at the sum */
		cr_assert_eq(changes, 1000);
		cr_assert_eq(worker.snapshot.count[0].rx_packets, PACKETS);
		cr_assert_eq(lateness_count(lines[0].late_clean) + lateness_count(lines[0].late_disturbed), PACKETS);
		if (!modal)
			cr_assert_gt(passed, 100, "%lu", passed);
	}
}

Test(loop, no_delay_is_none_and_what_the_port_refuses_leaves_next)
{
	make(false, 3 * LINE_RX_BURST, 0);
	lines[0].delay_cycles = lines[1].delay_cycles = 0;
	world.refusals = 1;
	world.now = 1000;
	round_of();
	cr_assert_eq(world.left, LINE_RX_BURST - 7);
	cr_assert_eq(lines[0].head - lines[0].tail, 7);
	cr_assert_eq(world.packets[0].left, world.packets[0].received);
	run();
	cr_assert_eq(worker.snapshot.count[0].tx_full, 7);
	cr_assert_eq(lateness_count(lines[0].late_clean), 3 * LINE_RX_BURST);
	cr_assert_eq(worker.snapshot.count[0].disturbed, 0);
}

/* At the end of the ring what was refused wraps around to its start. */
Test(loop, refused_packets_wrap_around_the_ring)
{
	for (uint32_t head = SLOTS - LINE_RX_BURST; head < SLOTS; head++) {
		make(false, 2 * LINE_RX_BURST, 0);
		lines[0].head = lines[0].tail = lines[0].counted = lines[0].disturbed_head = head;
		lines[0].delay_cycles = lines[1].delay_cycles = 0;
		world.refusals = 1;
		run();
		cr_assert_eq(worker.snapshot.count[0].tx_packets, 2 * LINE_RX_BURST);
	}
}

/* One reading a round, so the work on a whole burst of either port lies in a gap. */
Test(loop, at_no_delay_two_whole_bursts_take_twice_as_long)
{
	for (uint64_t jump = STALL + STALL / 2; jump <= 2 * STALL + STALL / 2; jump += STALL) {
		make(false, 8 * LINE_RX_BURST, 0);
		lines[0].delay_cycles = lines[1].delay_cycles = 0;
		world.flood = true;
		world.jump_at = 1000;
		world.jump = jump;
		world.jump_in_transmit = true;
		run();
		cr_assert_eq(worker.stalls, jump > 2 * STALL, "%lu", jump);
		cr_assert_eq(worker.snapshot.count[0].disturbed > 0, jump > 2 * STALL);
	}
	make(false, 8 * LINE_RX_BURST, 0);
	lines[0].delay_cycles = lines[1].delay_cycles = 0;
	world.jump_at = 1000;
	world.jump = STALL + STALL / 2;
	world.jump_in_transmit = true;
	run();
	cr_assert_eq(worker.stalls, 1, "one port alone");
}

Test(loop, at_no_delay_a_hiccup_disturbs_what_arrives_or_leaves_in_it)
{
	make(false, 4, 5000);
	lines[0].delay_cycles = lines[1].delay_cycles = 0;
	world.jump_at = 6000;
	world.jump = 2 * GAP;
	world.jump_in_transmit = true;
	run();
	cr_assert_eq(worker.hiccups, 1);
	cr_assert_eq(worker.snapshot.count[0].disturbed, 1);
	cr_assert_eq(lateness_count(lines[0].late_clean), 3);
	make(false, 4, 5000);
	lines[0].delay_cycles = lines[1].delay_cycles = 0;
	world.jump_at = 3000;
	world.jump = 2 * GAP;
	run();
	cr_assert_eq(worker.hiccups, 1);
	cr_assert_eq(worker.snapshot.count[0].disturbed, 0, "it was over before the next came");
}

Test(loop, a_whole_burst_does_not_wait_for_the_other_port)
{
	for (int kind = 0; kind < 2; kind++) {
		make(kind, 4 * LINE_RX_BURST, 0);
		lines[0].delay_cycles = 0;
		world.other_port = GAP - 5 * STEP;
		run();
		for (size_t i = 0; i < world.count; i++)
			cr_assert_leq(world.packets[i].left - world.packets[i].received, 4 * STEP,
				      "loop %d, packet %zu", kind, i);
	}
}

/* One direction full, the other silent: what the silent one holds leaves in time all the same. */
Test(loop, whole_bursts_on_one_port_do_not_keep_the_other_line)
{
	for (int kind = 0; kind < 2; kind++) {
		for (int silent = 0; silent < 2; silent++) {
			make(kind, 1, 0);
			worker.lines[silent] = &lines[0];
			worker.lines[!silent] = &lines[1];
			world.flood = true;
			for (int i = 0; i < 20000 && world.left == 0; i++)
				round_of();
			cr_assert_eq(world.left, 1, "loop %d, step %d", kind, silent);
			cr_assert_leq(world.packets[0].left - due(&world.packets[0]), 6 * STEP, "loop %d, step %d: %lu",
				      kind, silent, world.packets[0].left - due(&world.packets[0]));
		}
	}
}

Test(loop, a_stall_disturbs_everything_that_is_held)
{
	for (int kind = 0; kind < 2; kind++) {
		uint64_t held = 0;

		make(kind, 100, 200);
		world.jump_at = 15000;
		world.jump = STALL + 1;
		run();
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

/* One packet, due at about 11000. */
static uint64_t disturbed_by_a_hiccup_at(bool with_modal, uint64_t at, bool in_receive)
{
	make(with_modal, 1, 0);
	world.jump_at = at;
	world.jump = 2 * GAP;
	world.jump_in_receive = in_receive;
	run();
	cr_assert_eq(worker.hiccups, 1);
	cr_assert_eq(worker.stalls, 0);
	return worker.snapshot.count[0].disturbed;
}

Test(loop, a_hiccup_disturbs_only_what_arrives_or_leaves_in_it)
{
	for (int kind = 0; kind < 2; kind++) {
		cr_assert_eq(disturbed_by_a_hiccup_at(kind, 500, false), 1, "arrived in it");
		cr_assert_eq(disturbed_by_a_hiccup_at(kind, 500, true), 1, "arrived in it, unseen by the burst before");
		cr_assert_eq(disturbed_by_a_hiccup_at(kind, 6000, false), 0, "was waiting");
		cr_assert_eq(disturbed_by_a_hiccup_at(kind, 10500, false), 1, "fell due in it");
		cr_assert_eq(disturbed_by_a_hiccup_at(kind, 100, false), 0, "came long after");
	}
}

Test(loop, what_arrives_in_a_second_hiccup_is_disturbed_too)
{
	for (int kind = 0; kind < 2; kind++) {
		make(kind, 3, 0);
		world.packets[1].arrives = 1000 + GAP;     /* in the first, of the call that received packet 0 */
		world.packets[2].arrives = 1000 + 3 * GAP; /* in the second, of the call that received packet 1 */
		world.jump_at = 1000;
		world.jump = world.jump_again = 2 * GAP;
		world.jump_in_receive = true;
		run();
		cr_assert_eq(worker.hiccups, 2);
		cr_assert_eq(worker.snapshot.count[0].disturbed, 3, "loop %d", kind);
	}
}

Test(loop, a_stall_tells_how_much_of_it_was_spent_sending)
{
	for (int kind = 0; kind < 2; kind++) {
		for (int sending = 0; sending < 2; sending++) {
			make(kind, 1, 0);
			worker.timed_transmit = true;
			world.jump_at = 5000;
			world.jump_in_receive = !sending;
			world.jump_in_transmit = sending;
			world.jump = 2 * STALL;
			run();
			round_of(); /* what the last burst met is known at the next look */
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

/* A backlog leaves in several bursts: each is late by its own. */
Test(loop, lateness_is_that_of_the_burst)
{
	for (int kind = 0; kind < 2; kind++) {
		uint64_t expected[LATENESS_BUCKETS] = {0};

		make(kind, 4 * LINE_TX_BURST, 0);
		world.send = GAP - 2 * STEP;
		world.jump_at = 6000;
		world.jump = 12000; /* all of it falls due meanwhile */
		run();
		for (size_t i = 0; i < world.count; i++)
			expected[lateness_bucket(world.packets[i].left - due(&world.packets[i]))]++;
		cr_assert_leq(expected[lateness_bucket(world.packets[0].left - due(&world.packets[0]))], LINE_TX_BURST);
		cr_assert_arr_eq(lines[0].late_disturbed, expected, sizeof expected, "loop %d", kind);
	}
}

Test(loop, the_work_on_whole_bursts_is_no_hiccup)
{
	for (int kind = 0; kind < 2; kind++) {
		make(kind, 2 * LINE_RX_BURST, 0);
		world.jump_at = 1000;
		world.jump = 2 * GAP;
		world.jump_in_receive = true;
		run();
		cr_assert_eq(worker.hiccups, 0);
		cr_assert_eq(worker.snapshot.count[0].disturbed, 0);
	}
}

Test(loop, nor_is_it_where_a_short_burst_follows)
{
	for (int kind = 0; kind < 2; kind++) {
		make(kind, LINE_RX_BURST + 1, 0);
		lines[0].delay_cycles = 0;
		world.jump_at = 1000; /* the whole burst is being sent */
		world.jump = 2 * GAP;
		world.jump_in_transmit = true;
		run();
		cr_assert_eq(worker.hiccups, 0);
		cr_assert_eq(worker.snapshot.count[0].disturbed, 0);
		make(kind, LINE_RX_BURST, 0);
		world.jump_at = 6000; /* long after */
		world.jump = 2 * GAP;
		run();
		cr_assert_eq(worker.hiccups, 1);
	}
}

Test(loop, a_hiccup_while_a_packet_is_sent_is_noticed)
{
	for (int kind = 0; kind < 2; kind++) {
		make(kind, 1, 0);
		for (int i = 0; i < 100000 && world.left == 0; i++)
			round_of();
		world.now += 2 * GAP; /* in dp_transmit(), as far as the loop can tell */
		for (int i = 0; i < 2; i++)
			round_of();
		worker_answer(&worker);
		cr_assert_eq(worker.hiccups, 1);
		cr_assert_eq(worker.snapshot.count[0].disturbed, kind ? 0 : 1, "the modal loop counts at once");
	}
}

/* Twice what the link carries arrives, for four times as long as the slots hold: it stays busy, and what is dropped
 * takes no time on it. */
Test(loop, a_limited_link_stays_busy_while_packets_are_dropped)
{
	const struct injector_mode_settings settings = {.rate = "16"};
	const struct dp_clock clock = {.ns_per_cycle = 1};
	const struct mode_context context = {.settings = &settings, .clock = &clock};
	struct injector_modes modes = {.count = 1, .items = {{.mode = &mode_rate}}};
	const uint64_t wire = (FRAME_BYTES + 24) * 8 * 1000 / 16;
	uint64_t before = 0;

	cr_assert_eq(mode_rate.create(&context, settings.rate, &modes.items[0].state, NULL), 0);
	make(true, PACKETS, wire / 2);
	lines[0].modes = &modes;
	for (uint64_t i = 0; i < 100000000 && (world.next_in < PACKETS || lines[0].heap.count > 0); i++)
		round_of();
	cr_assert_gt(lines[0].count.ring_full, 500);
	cr_assert_eq(lines[0].count.tx_packets, PACKETS - lines[0].count.ring_full);
	for (size_t i = 0; i < PACKETS; i++) {
		if (!world.packets[i].gone)
			continue;
		if (before)
			cr_assert_leq(world.packets[i].left - before, wire + 20 * STEP, "packet %zu", i);
		before = world.packets[i].left;
	}
	mode_rate.destroy(modes.items[0].state);
}

/* The port refuses bursts, and `room` records are free: what is seen is captured once, or counted as lost. */
static void capture_while_refused(uint32_t room, struct capture_ring *ring)
{
	make(true, 40, 0);
	world.refusals = 2;
	*ring = (struct capture_ring){.records = calloc(CAPTURE_RECORDS, sizeof(struct capture_record))};
	atomic_init(&ring->tail, room - CAPTURE_RECORDS);
	lines[0].capture = ring;
	lines[0].capture_tx = 1;
	run();
	cr_assert_gt(lines[0].count.tx_full, 0);
	free(ring->records);
}

Test(loop, what_the_port_refuses_is_captured_when_it_leaves)
{
	struct capture_ring ring;

	capture_while_refused(CAPTURE_RECORDS, &ring);
	cr_assert_eq(ring.head, 80, "%u records", ring.head);
	cr_assert_eq(ring.lost[0] + ring.lost[1], 0);
}

Test(loop, every_frame_without_a_record_is_counted_as_lost)
{
	struct capture_ring ring;

	capture_while_refused(45, &ring);
	cr_assert_eq(ring.head, 45);
	cr_assert_eq(ring.lost[0], 0);
	cr_assert_eq(ring.lost[1], 35, "%lu", ring.lost[1]);
	capture_while_refused(10, &ring);
	cr_assert_eq(ring.lost[0], 30);
	cr_assert_eq(ring.lost[1], 40);
}

Test(loop, a_stay_begins_at_the_stamp_but_never_after_the_packet_was_received)
{
	make(true, 200, 3000);
	lines[0].nic_clock = (struct nic_clock){.multiplier = 1 << 24}; /* ticks are cycles */
	for (size_t i = 0; i < world.count; i++)
		world.packets[i].stamp = i % 2 ? world.packets[i].arrives - 500 : world.packets[i].arrives + 5000;
	run();
	for (size_t i = 0; i < world.count; i++) {
		const struct dp_packet *packet = &world.packets[i];
		uint64_t from = i % 2 ? packet->stamp + DELAY : due(packet);

		cr_assert_geq(packet->left, from, "packet %zu", i);
		cr_assert_leq(packet->left - from, 5 * STEP, "packet %zu: %lu", i, packet->left - from);
	}
}

Test(loop, a_request_that_was_given_up_is_no_answer_to_the_next)
{
	make(true, 1, 0);
	lines[0].count.lost = 7;
	atomic_store(&worker.requested, 1U << WORKER_REQUEST_BITS | WORKER_REQUEST_RESET);
	worker_answer(&worker);
	cr_assert_eq(atomic_load(&worker.answered), 1U << WORKER_REQUEST_BITS | WORKER_REQUEST_RESET);
	cr_assert_eq(lines[0].count.lost, 0);
	lines[0].count.lost = 7;
	atomic_store(&worker.requested, 2U << WORKER_REQUEST_BITS | WORKER_REQUEST_READ);
	cr_assert_neq(atomic_load(&worker.answered), atomic_load(&worker.requested));
	worker_answer(&worker);
	cr_assert_eq(worker.snapshot.count[0].lost, 7);
	cr_assert_eq(atomic_load(&worker.answered), atomic_load(&worker.requested));
}
