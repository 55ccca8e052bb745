/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers that the prober receives, and the figures that it computes from them. */
#include <criterion/criterion.h>

#include <probe/rtt/session.h>
#include <probe/rtt/tlv.h>

#include "prober_world.h"

TestSuite(prober_answer, .fini = tear_down);

/* Sends `count` probes to peer a, a millisecond apart, and answers each after `alter` has changed the answer. */
static void exchange_with_a(unsigned int count, void (*alter)(struct stamp_reply *reply, unsigned int number))
{
	for (unsigned int i = 0; i < count; i++) {
		int64_t now = begin_ns + i * NS_PER_MS;
		struct stamp_reply reply = {.sent_at = {now + 2700}, .error = {false, STAMP_PTP, 0, 1}};
		uint8_t payload[STAMP_BYTES];
		struct frame frame = {.source_address = 2, .source_port = 862, .payload = payload, .payload_bytes = 44};

		cr_assert(prober_take(&prober, at(now), &neighbours, &probe));
		probe.request.sent_at.v = now;
		prober_sent(&prober, &probe, at(now), false);
		reply.request_sequence = reply.sequence = probe.request.sequence;
		reply.session = probe.request.session;
		reply.received_at.v = now + 2000;
		reply.request_sent_at.v = now;
		reply.request_error = reply.error;
		alter(&reply, i);
		stamp_write_reply(&reply, payload);
		frame.destination_port = probe.source_port;
		cr_assert(prober_answer(&prober, &frame, &(struct prober_arrival){.at = at(now + 5700)}));
	}
}

static void leave_ssid_zero(struct stamp_reply *reply, unsigned int number)
{
	(void)number;
	reply->session = 0;
}

/* RFC 8972 section 3: a reflector that implements only RFC 8762 or TWAMP. */
Test(prober_answer, a_reflector_that_ignores_the_session_identifier_is_heard)
{
	options = options_for(1);
	options.interval.v = NS_PER_MS;
	make_with(hosts + 1, 1);
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	exchange_with_a(10, leave_ssid_zero);
	take_window(0, begin_ns + NS_PER_S);
	cr_assert_eq(row.counters.fresh, 10);
	cr_assert_eq(row.counters.lost, 0);
	cr_assert(row.ssid_ignored);
}

/* What a sender off the path can make: the sequence numbers and ports are right, the echoed time is a guess. */
static void echo_another_time(struct stamp_reply *reply, unsigned int number)
{
	reply->request_sent_at.v = number % 2 ? NS_PER_S : reply->request_sent_at.v + 2;
}

Test(prober_answer, an_answer_that_does_not_echo_the_timestamp_is_forged)
{
	options = options_for(1);
	options.interval.v = NS_PER_MS;
	make_with(hosts + 1, 1);
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	exchange_with_a(10, echo_another_time);
	take_window(0, begin_ns + NS_PER_S);
	cr_assert_eq(row.counters.fresh, 0);
	cr_assert_eq(prober.forged, 10);
}

static void leave_ssid_zero_later(struct stamp_reply *reply, unsigned int number)
{
	if (number >= 4)
		reply->session = 0;
}

Test(prober_answer, a_peer_that_echoes_the_session_goes_on_doing_so)
{
	options = options_for(1);
	options.interval.v = NS_PER_MS;
	make_with(hosts + 1, 1);
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	exchange_with_a(10, leave_ssid_zero_later);
	take_window(0, begin_ns + NS_PER_S);
	cr_assert_eq(row.counters.fresh, 4);
	cr_assert_eq(prober.forged, 6);
	cr_assert(!row.ssid_ignored);
}

static void step_every_fifth(struct stamp_reply *reply, unsigned int number)
{
	if (number % 5 == 0)
		reply->sent_at.v += NS_PER_S;
}

Test(prober_answer, impossible_stamps_are_counted_and_are_no_samples)
{
	options = options_for(1);
	options.interval.v = NS_PER_MS;
	make_with(hosts + 1, 1);
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	exchange_with_a(20, step_every_fifth);
	take_window(0, begin_ns + NS_PER_S);
	cr_assert_eq(row.counters.fresh, 20);
	cr_assert_eq(row.impossible, 4);
	cr_assert_eq(histogram_count(row.rtt), 16);
	cr_assert_eq(histogram_minimum(row.rtt), 5000);
	cr_assert_lt(row.offset.ns < 0 ? -row.offset.ns : row.offset.ns, NS_PER_MS);
}

static void leave(struct stamp_reply *reply, unsigned int number)
{
	(void)reply;
	(void)number;
}

Test(prober_answer, windows_follow_one_another_without_gap_or_overlap)
{
	options = options_for(1);
	options.interval.v = NS_PER_MS;
	make_with(hosts + 1, 1);
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	exchange_with_a(7, leave);
	take_window(0, begin_ns + 7 * NS_PER_MS);
	cr_assert_eq(row.began.ns, begin_ns);
	cr_assert_eq(row.ended.ns, begin_ns + 7 * NS_PER_MS);
	cr_assert(row.counters.sent == 7 && row.counters.fresh == 7 && histogram_count(row.rtt) == 7);
	cr_assert_eq(row.last_answer.ns, begin_ns + 6 * NS_PER_MS + 5700);
	take_window(0, begin_ns + 8 * NS_PER_MS);
	cr_assert_eq(row.began.ns, begin_ns + 7 * NS_PER_MS);
	cr_assert(row.counters.sent == 0 && histogram_count(row.rtt) == 0 && histogram_count(row.undisturbed) == 0);
	cr_assert(!row.last_answer.valid && !row.offset.valid);
}

/*
 * Answers with follow-up telemetry: the previous answer left 40 us after its stamp. `known` false: the telemetry refers
 * to an answer that the prober did not receive.
 */
static void answer_with_follow_up(unsigned int number, bool known)
{
	int64_t now = begin_ns + number * NS_PER_MS;
	struct stamp_reply reply = {.sequence = number,
				    .sent_at = {now + 10000},
				    .error = {true, STAMP_PTP, 0, 1},
				    .session = probe.request.session,
				    .received_at = {now + 5000},
				    .request_sequence = number,
				    .request_sent_at = {now},
				    .request_error = {true, STAMP_PTP, 0, 1}};
	uint8_t payload[STAMP_BYTES + 20] = {[STAMP_BYTES + 1] = TLV_FOLLOW_UP, [STAMP_BYTES + 3] = 16};
	struct frame frame = {
		.source_address = 2,
		.source_port = 862,
		.destination_port = probe.source_port,
		.payload = payload,
		.payload_bytes = sizeof payload,
	};

	stamp_write_reply(&reply, payload);
	payload[STAMP_BYTES + 7] = (uint8_t)(known && number ? number - 1 : number + 7);
	stamp_put_time(payload + STAMP_BYTES + 8, (struct ns){now - NS_PER_MS + 50000}, STAMP_PTP);
	cr_assert(prober_answer(&prober, &frame, &(struct prober_arrival){.at = at(now + 60000), .by_kernel = true}));
}

/* RFC 8972 section 4.7. */
Test(prober_answer, follow_up_telemetry_corrects_when_the_answer_before_left)
{
	options = options_for(1);
	options.interval.v = NS_PER_MS;
	options.tlvs = 1 << TLV_FOLLOW_UP;
	make_with(hosts + 1, 1);
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	for (unsigned int i = 0; i < 9; i++) {
		cr_assert(prober_take(&prober, at(begin_ns + i * NS_PER_MS), &neighbours, &probe));
		prober_sent(&prober, &probe, at(begin_ns + i * NS_PER_MS), false);
		answer_with_follow_up(i, i % 3 != 0);
	}
	take_window(0, begin_ns + NS_PER_S);
	cr_assert_eq(histogram_count(row.rtt), 9, "the last one waits no longer");
	cr_assert_eq(row.stamps.follow_ups, 6, "%lu", row.stamps.follow_ups);
	cr_assert_eq(row.stamps.arrivals, 9);
	cr_assert_eq(row.stamps.departures, 0);
	cr_assert_eq(histogram_minimum(row.rtt), 15000, "60 us, 45 of them inside");
	cr_assert_eq(histogram_maximum(row.rtt), 55000, "of those without");
	cr_assert_eq(histogram_maximum(row.residence), 45000);
}

/* Each probe takes 20 us to the peer and 30 us back; the peer's clock is 4 us ahead. */
static void one_way(bool ours, bool theirs, int64_t ours_error_ns, uint8_t their_scale)
{
	options = options_for(1);
	options.interval.v = NS_PER_MS;
	make_with(hosts + 1, 1);
	prober.synchronised = ours;
	prober.clock_error.v = ours_error_ns;
	prober_set_mode(&prober, AGENT_MEASURING, at(begin_ns));
	for (int64_t now = begin_ns; now < begin_ns + 4 * NS_PER_MS; now += NS_PER_MS) {
		struct stamp_reply reply = {.sent_at = {now + 25000},
					    .error = {theirs, STAMP_PTP, their_scale, 1},
					    .received_at = {now + 24000},
					    .request_error = {true, STAMP_PTP, 0, 1}};
		uint8_t payload[STAMP_BYTES];
		struct frame frame = {.source_address = 2, .source_port = 862, .payload = payload, .payload_bytes = 44};

		cr_assert(prober_take(&prober, at(now), &neighbours, &probe));
		prober_sent(&prober, &probe, at(now), false);
		reply.request_sequence = reply.sequence = probe.request.sequence;
		reply.session = probe.request.session;
		stamp_write_reply(&reply, payload);
		frame.destination_port = probe.source_port;
		cr_assert(prober_answer(&prober, &frame, &(struct prober_arrival){.at = at(now + 51000)}));
	}
	take_window(0, begin_ns + NS_PER_S);
	cr_assert_eq(histogram_count(row.rtt), 4);
}

/* 2^14 * 2^-32 s = 3.8 us for each of the two clocks, less than 25 us. */
Test(prober_answer, one_way_delays_come_with_the_bound_of_both_clocks)
{
	one_way(true, true, 1000, 14);
	cr_assert_eq(histogram_count(row.forward), 4);
	cr_assert_eq(histogram_minimum(row.forward), 24000, "4 us too much, which the bound covers");
	cr_assert_eq(histogram_maximum(row.backward), 26000);
	cr_assert(row.one_way_error.v > 4800 && row.one_way_error.v < 4820, "%ld", row.one_way_error.v);
	cr_assert(row.clocks.synchronised && row.clocks.peer_synchronised && row.clocks.error.v == 1000);
}

Test(prober_answer, there_are_none_where_our_clock_is_not_synchronised)
{
	one_way(false, true, 1000, 14);
	cr_assert_eq(histogram_count(row.forward), 0);
}

Test(prober_answer, there_are_none_where_the_peers_clock_is_not_synchronised)
{
	one_way(true, false, 1000, 14);
	cr_assert_eq(histogram_count(row.forward), 0);
}

Test(prober_answer, there_are_none_where_the_bound_says_no_more_than_the_round_trip)
{
	one_way(true, true, 22000, 14);
	cr_assert_eq(histogram_count(row.forward), 0, "22 + 3.8 us, and half of the round trip is 25");
}
