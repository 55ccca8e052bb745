/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the modal loop only: rates, captures, stamps, answers of a worker. */
#include <stdlib.h>

#include <criterion/criterion.h>

#include "loop_world.h"

/*
 * Packets arrive at twice the link's rate, for four times as long as it takes to fill the slots: the link stays busy,
 * and dropped packets take no time on it.
 */
Test(loop_modal, a_limited_link_stays_busy_while_packets_are_dropped)
{
	const struct injector_mode_settings settings = {.rate = "16"};
	const struct dp_clock clock = {.ns_per_cycle = 1};
	const struct mode_context context = {.settings = &settings, .clock = &clock};
	struct injector_modes modes = {.count = 1, .items = {{.mode = &mode_rate}}};
	const uint64_t wire = (FRAME_BYTES + 24) * 8 * 1000 / 16;
	uint64_t before = 0;

	cr_assert_eq(mode_rate.create(&context, settings.rate, &modes.items[0].state, NULL), 0);
	loop_make(true, PACKETS, wire / 2);
	lines[0].modes = &modes;
	for (uint64_t i = 0; i < 100000000 && (world.next_in < PACKETS || lines[0].queue.count > 0); i++)
		loop_round();
	worker_answer(&worker);
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

/* The port refuses bursts, and only `room` records are free: each packet is captured once or counted as lost. */
static void capture_while_refused(uint32_t room, struct capture_ring *ring)
{
	loop_make(true, 40, 0);
	world.refusals = 2;
	*ring = (struct capture_ring){.records = calloc(CAPTURE_RECORDS, sizeof(struct capture_record))};
	atomic_init(&ring->tail, room - CAPTURE_RECORDS);
	lines[0].capture = ring;
	lines[0].capture_tx = 1;
	loop_run();
	cr_assert_gt(lines[0].count.tx_full, 0);
	free(ring->records);
}

Test(loop_modal, what_the_port_refuses_is_captured_when_it_leaves)
{
	struct capture_ring ring;

	capture_while_refused(CAPTURE_RECORDS, &ring);
	cr_assert_eq(ring.head, 80, "%u records", ring.head);
	cr_assert_eq(ring.lost[0] + ring.lost[1], 0);
}

Test(loop_modal, every_frame_without_a_record_is_counted_as_lost)
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

/* The transmit call of one packet stalls. Returns the number of records whose packet did not leave before the call. */
static size_t capture_with_a_stall_in_sending(bool by_system_calls)
{
	struct capture_ring ring = {.records = calloc(CAPTURE_RECORDS, sizeof(struct capture_record))};
	size_t late = 0, out = 0;

	loop_make(true, 100, 20000);
	worker.timed_transmit = by_system_calls;
	lines[0].capture = &ring;
	lines[0].capture_tx = 1;
	world.jump_in_transmit = true;
	world.jump_at = 50 * 20000;
	world.jump = 2 * STALL;
	loop_run();
	cr_assert_eq(ring.head, 200);
	for (uint32_t i = 0; i < ring.head; i++) {
		const struct capture_record *record = &ring.records[i];
		bool is_late = record->tsc > loop_due(&world.packets[out % 100]) + STEP;

		if (!record->outbound)
			continue;
		if (is_late)
			cr_assert_eq(record->tsc, world.packets[out].left + STEP, "packet %zu", out);
		late += is_late;
		out++;
	}
	cr_assert_eq(out, 100);
	free(ring.records);
	return late;
}

/* Its record must not claim that it left on time. */
Test(loop_modal, a_frame_whose_sending_stalls_is_captured_when_that_is_over)
{
	cr_assert_eq(capture_with_a_stall_in_sending(false), 1);
}

Test(loop_modal, a_frame_that_a_system_call_sends_is_captured_before)
{
	cr_assert_eq(capture_with_a_stall_in_sending(true), 0);
}

Test(loop_modal, a_stay_begins_at_the_stamp_but_never_after_the_packet_was_received)
{
	loop_make(true, 200, 3000);
	lines[0].nic_clock = (struct nic_clock){.multiplier = 1 << 24}; /* ticks are cycles */
	for (size_t i = 0; i < world.count; i++)
		world.packets[i].stamp = i % 2 ? world.packets[i].arrives - 500 : world.packets[i].arrives + 5000;
	loop_run();
	for (size_t i = 0; i < world.count; i++) {
		const struct dp_packet *packet = &world.packets[i];
		uint64_t from = i % 2 ? packet->stamp + DELAY : loop_due(packet);

		cr_assert_geq(packet->left, from, "packet %zu", i);
		cr_assert_leq(packet->left - from, 5 * STEP, "packet %zu: %lu", i, packet->left - from);
	}
}

/* Adds 1500 and 6000 cycles to the configured delay, alternately. */
static void add_delay(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	(void)state;
	(void)now;
	verdict->delay_cycles += (packet - world.packets) % 2 ? 6000 : 1500;
}

Test(loop_modal, the_paths_own_time_is_taken_off_what_modes_make_of_the_delay)
{
	const struct injector_mode adding = {.name = "adding", .apply = add_delay};
	struct injector_modes modes = {.count = 1, .items = {{.mode = &adding}}};

	for (uint64_t configured = 0; configured <= DELAY; configured += DELAY) {
		const struct line_config config = {.delay_cycles = {configured}, .subtract_cycles = 2000};

		loop_make(true, 200, 20000);
		lines[0].modes = &modes;
		worker_adopt_config(&worker, &config);
		loop_run();
		for (size_t i = 0; i < world.count; i++) {
			uint64_t held = world.packets[i].left - world.packets[i].received;
			uint64_t sum = configured + (i % 2 ? 6000 : 1500), expected = sum > 2000 ? sum - 2000 : 0;

			cr_assert_geq(held, expected, "packet %zu: %lu", i, held);
			cr_assert_leq(held, expected + 10 * STEP, "packet %zu: %lu", i, held);
		}
		for (uint32_t i = lateness_bucket(10 * STEP); i < LATENESS_BUCKETS; i++)
			cr_assert_eq(lines[0].late_clean[i], 0, "due before it came, told as late");
	}
}

/* Packets 0 to 99 get DELAY, the later ones 1000 cycles. */
static void fall(void *state, const struct dp_packet *packet, uint64_t now, struct verdict *verdict)
{
	(void)state;
	(void)now;
	verdict->delay_cycles = packet - world.packets < 100 ? DELAY : 1000;
}

static double mean_of(uint64_t cycles)
{
	return (double)cycles / (double)lines[0].count.delayed;
}

/* As with --replay: the delay falls by 1 cycle per cycle, and the counters tell the delay requested from the applied.
 */
Test(loop_modal, a_delay_that_falls_keeps_the_order)
{
	const struct injector_mode falling = {.name = "falling", .apply = fall};
	struct injector_modes modes = {.count = 1, .items = {{.mode = &falling}}};
	double requested = 0, applied = 0;
	uint64_t last = 0;

	loop_make(true, 200, 500);
	lines[0].modes = &modes;
	loop_run();
	worker_answer(&worker);
	for (size_t i = 0; i < world.count; i++) {
		const struct dp_packet *packet = &world.packets[i];
		uint64_t asked = i < 100 ? DELAY : 1000, from = loop_due(packet) - DELAY, due = from + asked;

		due = due < last ? last : due;
		last = due;
		cr_assert_geq(packet->left, due, "packet %zu", i);
		cr_assert_leq(packet->left - due, 20 * STEP, "packet %zu", i);
		requested += (double)asked / 200;
		applied += (double)(due - from) / 200;
	}
	cr_assert_eq(lines[0].count.delayed, 200);
	cr_assert_float_eq(mean_of(lines[0].count.requested_cycles), requested, 1e-6);
	cr_assert_float_eq(mean_of(lines[0].count.applied_cycles), applied, 1e-6);
	cr_assert_gt(applied, requested + 300);
	cr_assert_eq(lateness_count(lines[0].requested), 200);
	cr_assert_eq(lateness_count(lines[0].applied), 200);
	cr_assert_eq(lines[0].requested[lateness_bucket(1000)], 100);
	cr_assert_lt(lines[0].applied[lateness_bucket(1000)], 90);
}

Test(loop_modal, a_request_that_was_given_up_is_no_answer_to_the_next)
{
	loop_make(true, 1, 0);
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
