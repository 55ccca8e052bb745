/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <probe/rtt/capture.h>
#include <probe/rtt/frame.h>
#include <probe/rtt/stamp.h>

enum { CAPACITY = 65536, LINK_ETHERNET = 1, LINK_RAW_IP = 101 };

/* A capture file being written: pcap with nanosecond stamps (magic a1b23c4d), little-endian. */
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

static void record(struct tape *tape, int64_t at_ns, const struct frame *frame)
{
	uint8_t bytes[256];
	size_t length = frame_write_udp(frame, bytes, sizeof bytes);

	put32(tape, (uint32_t)(at_ns / NS_PER_S));
	put32(tape, (uint32_t)(at_ns % NS_PER_S));
	put32(tape, (uint32_t)length);
	put32(tape, (uint32_t)length);
	memcpy(tape->bytes + tape->length, bytes, length);
	tape->length += length;
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
	for (uint32_t i = 10; i-- > 1;) /* out of order, and number 0 stays without an answer */
		answer(&tape, i, start_ns + i, 500 + i, start_ns + 100000 + i * 3000);
	answer(&tape, 5, start_ns + 5, 505, start_ns + 300000);   /* again */
	answer(&tape, 77, start_ns + 77, 505, start_ns + 300000); /* nobody asked */
	cr_assert_eq(capture_read_memory("t", tape.bytes, tape.length, 862, 7, collect, &seen, &counters, &err), 0,
		     "%s", err.text);
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
	cr_assert_eq(capture_read_memory("t", tape.bytes, tape.length, 862, 7, collect, &seen, &counters, &err), 0);
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
	cr_assert_eq(capture_read_memory("t", tape.bytes, tape.length, 862, 7, collect, &seen, &counters, &err), 0);
	cr_assert(counters.pairs == 1 && counters.unanswered == 599);
}

Test(capture, refuses_other_files_and_cut_ones)
{
	static struct tape tape;
	struct capture_counters counters;
	struct seen seen = {0};
	struct error err = {0};

	cr_assert_eq(
		capture_read_memory("t", "not a capture at all, really", 28, 862, 7, collect, &seen, &counters, &err),
		-EINVAL);
	begin(&tape, LINK_RAW_IP);
	cr_assert_eq(capture_read_memory("t", tape.bytes, tape.length, 862, 7, collect, &seen, &counters, &err),
		     -EINVAL);
	cr_assert(strstr(err.text, "Ethernet"));
	begin(&tape, LINK_ETHERNET);
	request(&tape, 1, start_ns, start_ns);
	cr_assert_eq(capture_read_memory("t", tape.bytes, tape.length - 3, 862, 7, collect, &seen, &counters, &err),
		     -EBADMSG);
	cr_assert_eq(capture_read("/nonexistent/file", 862, 7, collect, &seen, &counters, &err), -ENOENT);
}
