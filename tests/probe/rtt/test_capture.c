/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <probe/rtt/capture.h>
#include <probe/rtt/frame.h>
#include <probe/rtt/stamp.h>

enum { CAPACITY = 65536, LINK_ETHERNET = 1, LINK_RAW_IP = 101 };

/* A capture file under construction: pcap with nanosecond stamps (magic a1b23c4d), little-endian. */
struct tape {
	uint8_t bytes[CAPACITY];
	size_t length;
};

static void put32(struct tape *tape, uint32_t value)
{
	memcpy(tape->bytes + tape->length, &value, 4);
	tape->length += 4;
}

static void begin(struct tape *tape, uint32_t link)
{
	tape->length = 0;
	put32(tape, 0xa1b23c4d);
	put32(tape, 2 | 4 << 16);
	put32(tape, 0);
	put32(tape, 0);
	put32(tape, 65535);
	put32(tape, link);
}

static void record_bytes(struct tape *tape, int64_t at_ns, const uint8_t *bytes, size_t length)
{
	put32(tape, (uint32_t)(at_ns / NS_PER_S));
	put32(tape, (uint32_t)(at_ns % NS_PER_S));
	put32(tape, (uint32_t)length);
	put32(tape, (uint32_t)length);
	memcpy(tape->bytes + tape->length, bytes, length);
	tape->length += length;
}

static void record(struct tape *tape, int64_t at_ns, const struct frame *frame)
{
	uint8_t bytes[256];
	size_t length = frame_write_udp(frame, bytes, sizeof bytes);

	record_bytes(tape, at_ns, bytes, length);
}

static const struct stamp_error_estimate estimate = {false, STAMP_PTP, 0, 1};
static const int64_t start_ns = INT64_C(1795188663000000000);

static void request(struct tape *tape, uint32_t sequence, int64_t sent_ns, int64_t seen_ns)
{
	struct stamp_request in = {sequence, {sent_ns}, estimate, 3};
	uint8_t payload[STAMP_BYTES];
	struct frame frame = {.source_address = 1,
			      .destination_address = 2,
			      .source_port = 50000,
			      .destination_port = 862,
			      .payload = payload,
			      .payload_bytes = STAMP_BYTES};

	stamp_write_request(&in, payload);
	record(tape, seen_ns, &frame);
}

static void answer(struct tape *tape, uint32_t sequence, int64_t sent_ns, int64_t residence_ns, int64_t seen_ns)
{
	struct stamp_reply in = {.sequence = sequence,
				 .sent_at = {seen_ns - 100},
				 .error = estimate,
				 .session = 3,
				 .received_at = {seen_ns - 100 - residence_ns},
				 .request_sequence = sequence,
				 .request_sent_at = {sent_ns},
				 .request_error = estimate};
	uint8_t payload[STAMP_BYTES];
	struct frame frame = {.source_address = 2,
			      .destination_address = 1,
			      .source_port = 862,
			      .destination_port = 50000,
			      .payload = payload,
			      .payload_bytes = STAMP_BYTES};

	stamp_write_reply(&in, payload);
	record(tape, seen_ns, &frame);
}

struct seen {
	size_t count;
	struct capture_sample samples[64];
};

static int collect(void *context, const struct capture_sample *sample)
{
	struct seen *seen = context;

	seen->samples[seen->count++] = *sample;
	return 0;
}

Test(capture, pairs_requests_and_answers)
{
	static struct tape tape;
	struct capture_counters counters;
	struct seen seen = {0};
	struct error err = {0};

	begin(&tape, LINK_ETHERNET);
	for (uint32_t i = 0; i < 10; i++)
		request(&tape, i, start_ns + i, start_ns + i * 1000);
	for (uint32_t i = 10; i-- > 1;) /* out of order; number 0 gets no answer */
		answer(&tape, i, start_ns + i, 500 + i, start_ns + 100000 + i * 3000);
	answer(&tape, 5, start_ns + 5, 505, start_ns + 300000);   /* again */
	answer(&tape, 77, start_ns + 77, 505, start_ns + 300000); /* nobody asked */
	cr_assert_eq(capture_read(packets_open_memory("t", tape.bytes, tape.length, &err), 862, 7, collect, &seen,
				  &counters, &err),
		     0, "%s", err.text);
	cr_assert_eq(seen.count, 9);
	for (size_t i = 0; i < seen.count; i++) {
		const struct capture_sample *sample = &seen.samples[i];

		cr_assert_eq(sample->gross.v, 100000 + 2000 * (int64_t)sample->sequence);
		cr_assert_eq(sample->residence.v, 500 + (int64_t)sample->sequence);
		cr_assert(sample->source == 1 && sample->destination == 2 && sample->source_port == 50000);
	}
	cr_assert(counters.requests == 10 && counters.pairs == 9 && counters.unanswered == 1);
	cr_assert(counters.repeated == 1 && counters.orphans == 1 && counters.broken == 0 && counters.packets == 21);
}

Test(capture, the_same_number_of_another_run_is_another_probe)
{
	static struct tape tape;
	struct capture_counters counters;
	struct seen seen = {0};
	struct error err = {0};

	begin(&tape, LINK_ETHERNET);
	request(&tape, 1, start_ns, start_ns);
	request(&tape, 1, start_ns + NS_PER_S, start_ns + NS_PER_S);
	answer(&tape, 1, start_ns + NS_PER_S, 10, start_ns + NS_PER_S + 5000);
	cr_assert_eq(capture_read(packets_open_memory("t", tape.bytes, tape.length, &err), 862, 7, collect, &seen,
				  &counters, &err),
		     0);
	cr_assert_eq(counters.pairs, 1);
	cr_assert_eq(seen.samples[0].gross.v, 5000);
}

Test(capture, many_requests_make_the_table_grow)
{
	static struct tape tape;
	struct capture_counters counters;
	struct seen seen = {0};
	struct error err = {0};

	begin(&tape, LINK_ETHERNET);
	for (uint32_t i = 0; i < 600; i++)
		request(&tape, i, start_ns + i, start_ns + i);
	answer(&tape, 0, start_ns, 1, start_ns + 9000);
	cr_assert_eq(capture_read(packets_open_memory("t", tape.bytes, tape.length, &err), 862, 7, collect, &seen,
				  &counters, &err),
		     0);
	cr_assert(counters.pairs == 1 && counters.unanswered == 599);
}

Test(capture, refuses_other_files_and_cut_ones)
{
	static struct tape tape;
	struct capture_counters counters;
	struct seen seen = {0};
	struct error err = {0};

	cr_assert_eq(capture_read(packets_open_memory("t", "not a capture at all, really", 28, &err), 862, 7, collect,
				  &seen, &counters, &err),
		     -EINVAL);
	begin(&tape, LINK_RAW_IP);
	cr_assert_eq(capture_read(packets_open_memory("t", tape.bytes, tape.length, &err), 862, 7, collect, &seen,
				  &counters, &err),
		     -EINVAL);
	cr_assert(strstr(err.text, "Ethernet"));
	begin(&tape, LINK_ETHERNET);
	request(&tape, 1, start_ns, start_ns);
	cr_assert_eq(capture_read(packets_open_memory("t", tape.bytes, tape.length - 3, &err), 862, 7, collect, &seen,
				  &counters, &err),
		     -EBADMSG);
	cr_assert_eq(capture_read(packets_open("/nonexistent/file", &err), 862, 7, collect, &seen, &counters, &err),
		     -ENOENT);
}

/* PTP messages, written by hand after IEEE 1588-2008 tables 18 to 34. */
struct message {
	uint8_t type, domain;
	bool two_step;
	uint16_t sequence;
	int64_t correction_ns, stamp_ns;
	uint8_t from, to; /* clocks */
};

enum { SYNC, DELAY_REQUEST, PEER_REQUEST, PEER_RESPONSE, FOLLOW_UP = 8, DELAY_RESPONSE, PEER_FOLLOW_UP, ANNOUNCE };
enum { ASKER = 1, ANSWERER, ANOTHER };
enum link { OVER_ETHERNET, OVER_UDP4, OVER_UDP6 };

static void put_number(uint8_t *out, int bytes, uint64_t value)
{
	for (int i = bytes; i-- > 0; value >>= 8)
		out[i] = (uint8_t)value;
}

static size_t write_message(const struct message *message, uint8_t *out)
{
	bool event = message->type < FOLLOW_UP;

	memset(out, 0, 64);
	out[0] = message->type;
	out[1] = 2;
	out[3] = 54;
	out[4] = message->domain;
	out[6] = message->two_step ? 2 : 0;
	put_number(out + 8, 8, (uint64_t)message->correction_ns << 16);
	memset(out + 20, message->from, 8);
	out[29] = 1;
	put_number(out + 30, 2, message->sequence);
	put_number(out + 34, 6, (uint64_t)(message->stamp_ns / NS_PER_S));
	put_number(out + 40, 4, (uint64_t)(message->stamp_ns % NS_PER_S));
	memset(out + 44, message->to, 8);
	out[53] = message->to ? 1 : 0;
	return event ? 319 : 320;
}

static void ptp(struct tape *tape, enum link link, int64_t seen_ns, struct message message)
{
	const ip_address hosts[] = {0, 0x0a000001, 0x0a000002, 0x0a000003}, six = (ip_address)0xfe80 << 112;
	uint8_t bytes[64], ethernet[128] = {[12] = 0x88, [13] = 0xf7};
	uint16_t port = (uint16_t)write_message(&message, bytes);
	struct frame frame = {.source_address = hosts[message.from] | (link == OVER_UDP6 ? six : 0),
			      .destination_address = link == OVER_UDP6 ? (ip_address)0xff02 << 112 | 0x6b : 0xe000006b,
			      .source_port = port,
			      .destination_port = port,
			      .payload = bytes,
			      .payload_bytes = 54};

	if (link != OVER_ETHERNET) {
		record(tape, seen_ns, &frame);
		return;
	}
	memcpy(ethernet + 14, bytes, 54);
	record_bytes(tape, seen_ns, ethernet, 14 + 54);
}

static const int64_t away_ns = 7 * NS_PER_S; /* offset of the answering clock */

/* A peer delay exchange: a round trip of 5 us plus 20 us residence time; the peer is at 2 us. */
static void peer_delay(struct tape *tape, enum link link, uint16_t sequence, bool two_step)
{
	int64_t at = start_ns + sequence * NS_PER_MS, there = at + away_ns;

	ptp(tape, link, at, (struct message){PEER_REQUEST, 0, false, sequence, 0, 0, ASKER, 0});
	ptp(tape, link, at + 25000,
	    (struct message){PEER_RESPONSE, 0, two_step, sequence, two_step ? 0 : 20000, two_step ? there + 2000 : 0,
			     ANSWERER, ASKER});
	if (two_step)
		ptp(tape, link, at + 90000,
		    (struct message){PEER_FOLLOW_UP, 0, false, sequence, 0, there + 22000, ANSWERER, ASKER});
}

/* A Sync and a delay request: 6 us each way between master and capture, 1 us of it in a transparent clock. */
static void delay_request(struct tape *tape, enum link link, uint16_t sequence, bool two_step)
{
	int64_t at = start_ns + sequence * NS_PER_MS, there = at + away_ns;

	ptp(tape, link, at, (struct message){SYNC, 0, two_step, 500, 1000, two_step ? 0 : there - 6000, ANSWERER, 0});
	if (two_step)
		ptp(tape, link, at + 30000, (struct message){FOLLOW_UP, 0, false, 500, 0, there - 6000, ANSWERER, 0});
	ptp(tape, link, at + 50000, (struct message){DELAY_REQUEST, 0, false, sequence, 0, 0, ASKER, 0});
	ptp(tape, link, at + 90000,
	    (struct message){DELAY_RESPONSE, 0, false, sequence, 1000, there + 56000, ANSWERER, ASKER});
}

static void read_ptp(const struct tape *tape, struct seen *seen, struct capture_counters *counters)
{
	struct error err = {0};

	*seen = (struct seen){0};
	cr_assert_eq(capture_read(packets_open_memory("t", tape->bytes, tape->length, &err), 862, 1U << CAPTURE_PTP,
				  collect, seen, counters, &err),
		     0, "%s", err.text);
}

Test(capture_ptp, both_mechanisms_over_each_link_with_one_and_two_steps)
{
	static struct tape tape;
	struct capture_counters counters;
	struct seen seen;

	for (int mode = 0; mode < 12; mode++) {
		enum link link = (enum link)(mode % 3);
		bool two_step = mode / 3 % 2, peer = mode / 6;

		begin(&tape, LINK_ETHERNET);
		for (uint16_t i = 1; i <= 3; i++)
			(peer ? peer_delay : delay_request)(&tape, link, i, two_step);
		read_ptp(&tape, &seen, &counters);
		cr_assert_eq(seen.count, 3, "mode %d", mode);
		for (size_t i = 0; i < 3; i++) {
			const struct capture_sample *sample = &seen.samples[i];

			cr_assert_eq(ns_sub(sample->gross, sample->residence).v, peer ? 5000 : 10000, "mode %d", mode);
			cr_assert_eq(sample->gross.v, peer ? 25000 : 40000);
			cr_assert_eq(sample->sequence, i + 1);
			cr_assert_eq(sample->source_clock.clock[0], link == OVER_ETHERNET ? ASKER : 0);
			cr_assert_eq(sample->destination_clock.clock[0], link == OVER_ETHERNET ? ANSWERER : 0);
			cr_assert_eq((int)(sample->source & 15), link == OVER_ETHERNET ? 0 : ASKER);
			cr_assert_eq((int)(sample->destination & 15), link == OVER_ETHERNET ? 0 : ANSWERER);
		}
		cr_assert(counters.requests == 3 && counters.answers == 3 && counters.pairs == 3, "mode %d", mode);
		/* All calls of delay_request() have the same Sync: the first one counts. */
		cr_assert(counters.broken == 0 && counters.orphans == 0 && counters.unanswered == 0);
	}
}

Test(capture_ptp, what_is_no_round_trip)
{
	static struct tape tape;
	struct capture_counters counters;
	struct seen seen;
	int64_t at = start_ns;

	begin(&tape, LINK_ETHERNET);
	ptp(&tape, OVER_ETHERNET, at, (struct message){ANNOUNCE, 0, false, 1, 0, 0, ANSWERER, 0});
	ptp(&tape, OVER_ETHERNET, at, (struct message){PEER_RESPONSE, 0, true, 1, 0, at, ANSWERER, ASKER}); /* orphan */
	/* A follow-up that never arrives, then one of another clock. */
	ptp(&tape, OVER_ETHERNET, at, (struct message){PEER_REQUEST, 0, false, 2, 0, 0, ASKER, 0});
	ptp(&tape, OVER_ETHERNET, at + 9, (struct message){PEER_RESPONSE, 0, true, 2, 0, at, ANSWERER, ASKER});
	ptp(&tape, OVER_ETHERNET, at + 9,
	    (struct message){PEER_RESPONSE, 0, true, 2, 0, at, ANOTHER, ASKER}); /* again */
	ptp(&tape, OVER_ETHERNET, at + 9, (struct message){PEER_FOLLOW_UP, 0, false, 2, 0, at, ANOTHER, ASKER});
	/* A delay request whose master sent no Sync in the capture, and one in another domain than its Sync. */
	ptp(&tape, OVER_ETHERNET, at, (struct message){DELAY_REQUEST, 0, false, 3, 0, 0, ASKER, 0});
	ptp(&tape, OVER_ETHERNET, at, (struct message){DELAY_RESPONSE, 0, false, 3, 0, at, ANSWERER, ASKER});
	ptp(&tape, OVER_ETHERNET, at, (struct message){SYNC, 4, false, 1, 0, at, ANSWERER, 0});
	ptp(&tape, OVER_ETHERNET, at, (struct message){DELAY_REQUEST, 0, false, 4, 0, 0, ASKER, 0});
	ptp(&tape, OVER_ETHERNET, at, (struct message){DELAY_RESPONSE, 0, false, 4, 0, at, ANSWERER, ASKER});
	/* The answer left before the request arrived. */
	ptp(&tape, OVER_ETHERNET, at, (struct message){PEER_REQUEST, 0, false, 5, 0, 0, ASKER, 0});
	ptp(&tape, OVER_ETHERNET, at + 9, (struct message){PEER_RESPONSE, 0, false, 5, -1000, 0, ANSWERER, ASKER});
	read_ptp(&tape, &seen, &counters);
	cr_assert_eq(seen.count, 0);
	cr_assert(counters.packets == 13 && counters.requests == 4 && counters.unanswered == 4);
	cr_assert(counters.answers == 5 && counters.orphans == 1 && counters.repeated == 1 && counters.broken == 1,
		  "%lu %lu %lu %lu", counters.answers, counters.orphans, counters.repeated, counters.broken);
}

Test(capture_ptp, the_same_number_after_the_answer_is_another_request)
{
	static struct tape tape;
	struct capture_counters counters;
	struct seen seen;

	begin(&tape, LINK_ETHERNET);
	for (int i = 0; i < 3; i++)
		peer_delay(&tape, OVER_ETHERNET, 0, false);
	read_ptp(&tape, &seen, &counters);
	cr_assert(seen.count == 3 && counters.requests == 3 && counters.repeated == 0);
}
