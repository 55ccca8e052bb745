/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <probe/rtt/reflector.h>
#include <probe/rtt/tlv.h>

static const struct stamp_error_estimate estimate = {false, STAMP_PTP, 4, 7};
static const uint32_t net = 0x0a000000; /* 10.0.0.0/24, we are .1 */
static const struct ns t2 = {INT64_C(1795188663000005000)}, t3 = {INT64_C(1795188663000006000)};

static struct reflector_rules rules = {.mac = {2, 0, 0, 0, 0, 1}, .address = 0x0a000001, .prefix_bits = 24};

static struct frame frame_from(uint32_t address, uint16_t port, const uint8_t *payload, size_t bytes)
{
	return (struct frame){.kind = FRAME_UDP,
			      .source_mac = {2, 0, 0, 0, 0, 2},
			      .destination_mac = {2, 0, 0, 0, 0, 1},
			      .source_address = address,
			      .destination_address = 0x0a000001,
			      .source_port = port,
			      .destination_port = 862,
			      .ttl = 61,
			      .payload = payload,
			      .payload_bytes = bytes};
}

/* Passes one request from a sender; returns the answer that would be sent. */
static struct stamp_reply ask(struct reflector *reflector, uint32_t host, uint16_t port, uint16_t session,
			      uint32_t sequence)
{
	struct stamp_request request = {sequence, {INT64_C(1795188663000000001)}, {false, STAMP_NTP, 0, 1}, session, 0};
	uint8_t payload[STAMP_BYTES + 4] = {0};
	struct frame frame = frame_from(net + host, port, payload, sizeof payload);
	struct reflector_answer prepared;
	struct stamp_reply answer;

	stamp_write_request(&request, payload);
	payload[STAMP_BYTES + 1] = 200; /* an unknown TLV */
	cr_assert_eq(reflector_prepare(reflector, &frame, t2, estimate, payload, &prepared), 0);
	cr_assert_eq(prepared.payload_bytes, sizeof payload);
	reflector_finish(&prepared, t3, payload);
	cr_assert_eq(stamp_read_reply(payload, sizeof payload, &answer), 0);
	cr_assert_eq(payload[STAMP_BYTES], 0x80);
	return answer;
}

Test(reflector, answers_what_was_asked)
{
	struct reflector *reflector = reflector_create(16, &rules);
	struct stamp_reply answer = ask(reflector, 2, 50000, 9, 1234);

	cr_assert_eq(answer.request_sequence, 1234);
	cr_assert_eq(answer.request_sent_at.v, INT64_C(1795188663000000001));
	cr_assert_eq(answer.received_at.v, t2.v);
	cr_assert_eq(answer.sent_at.v, t3.v);
	cr_assert_eq(answer.session, 9);
	cr_assert_eq(answer.request_ttl, 61);
	cr_assert_eq(answer.request_error.format, STAMP_NTP);
	cr_assert_eq(answer.error.multiplier, 7);
	reflector_destroy(reflector);
}

Test(reflector, answers_in_the_requesters_format)
{
	struct reflector *reflector = reflector_create(16, &rules);

	cr_assert_eq(estimate.format, STAMP_PTP);
	cr_assert_eq(ask(reflector, 2, 50000, 9, 1).error.format, STAMP_NTP, "asked with NTP stamps");
	reflector_destroy(reflector);
}

Test(reflector, counts_each_session_apart)
{
	struct reflector *reflector = reflector_create(64, &rules);

	for (uint32_t i = 0; i < 5; i++) {
		cr_assert_eq(ask(reflector, 2, 50000, 9, 100 + i).sequence, i);
		cr_assert_eq(ask(reflector, 2, 50001, 9, 200 + i).sequence, i);
		cr_assert_eq(ask(reflector, 3, 50000, 9, 300 + i).sequence, i);
		cr_assert_eq(ask(reflector, 2, 50000, 8, 400 + i).sequence, i);
	}
	cr_assert_eq(reflector_counters(reflector).sessions, 4);
	cr_assert_eq(reflector_counters(reflector).answered, 20);
	reflector_destroy(reflector);
}

/* A request of one sender from one port, like a router's: *answered is the number of the answer. */
static void ask_at(struct reflector *reflector, uint32_t sequence, int64_t sent_s, int64_t received_s,
		   uint32_t *answered)
{
	struct stamp_request request = {sequence, {sent_s * NS_PER_S}, {false, STAMP_NTP, 0, 1}, 9, 0};
	uint8_t payload[STAMP_BYTES] = {0};
	struct frame frame = frame_from(net + 2, 862, payload, sizeof payload);
	struct reflector_answer prepared;

	stamp_write_request(&request, payload);
	cr_assert_eq(
		reflector_prepare(reflector, &frame, (struct ns){received_s * NS_PER_S}, estimate, payload, &prepared),
		0);
	reflector_sent(reflector, &prepared, (struct ns){received_s * NS_PER_S});
	*answered = prepared.reply.sequence;
}

Test(reflector, a_session_ends_when_its_sender_begins_again_or_is_silent)
{
	static const struct {
		uint32_t sequence;
		int64_t sent_s, received_s;
		uint32_t answered;
	} requests[] = {
		{0, 1000, 2000, 0},
		{1, 1001, 2001, 1},
		{0, 1000, 2001, 2} /* a duplicate */,
		{2, 1002, 2002, 3},
		{0, 1003, 2003, 0} /* again */,
		{1, 1004, 2004, 1},
		{2, 1904, 2904, 2},
		{3, 2805, 3805, 0} /* 901 s of silence */,
	};
	struct reflector *reflector = reflector_create(16, &rules);
	uint32_t answered;

	for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
		ask_at(reflector, requests[i].sequence, requests[i].sent_s, requests[i].received_s, &answered);
		cr_assert_eq(answered, requests[i].answered, "request %zu: %u", i, answered);
	}
	reflector_destroy(reflector);
}

Test(reflector, many_sessions_push_out_the_stalest_and_no_other)
{
	struct reflector *reflector = reflector_create(16, &rules);

	for (uint32_t round = 0; round < 200; round++) {
		ask(reflector, 1000 + round, 1, 1, 0);
		cr_assert_eq(ask(reflector, 7, 7, 7, round).sequence, round, "the busy session lost its count");
	}
	cr_assert_gt(reflector_counters(reflector).evicted, 0);
	reflector_destroy(reflector);
}

/* One spoofed packet between two reflectors on different ports: each would take the other's answers for requests. */
Test(reflector, a_loop_between_two_reflectors_dies_at_once)
{
	static const uint16_t ports[2][2] = {{862, 862}, {862, 5000}};

	for (size_t i = 0; i < 2; i++) {
		struct reflector *reflector = reflector_create(16, &rules);
		struct stamp_request request = {1, {INT64_C(1795188663000000001)}, {false, STAMP_NTP, 0, 1}, 9, 0};
		uint8_t payload[STAMP_BYTES];
		struct frame frame = frame_from(net + 2, ports[i][1], payload, sizeof payload);
		struct reflector_answer answer;

		frame.destination_port = ports[i][0];
		stamp_write_request(&request, payload);
		cr_assert_eq(reflector_prepare(reflector, &frame, t2, estimate, payload, &answer), 0,
			     "a sender may use any port");
		reflector_finish(&answer, t3, payload);
		cr_assert_eq(reflector_prepare(reflector, &frame, t3, estimate, payload, &answer), -EBADMSG);
		cr_assert_eq(reflector_counters(reflector).loops, 1);
		cr_assert_eq(reflector_counters(reflector).answered, 1);
		reflector_destroy(reflector);
	}
}

Test(reflector, answers_unicast_hosts_to_our_own_address_alone)
{
	static const uint32_t bad_sources[] = {0,          0x00000005, 0x7f000001, 0xe0000001, 0xffffffff,
					       0x0a000001, 0x0a0000ff, 0x0a000000, 0xf0000001};
	struct reflector *reflector = reflector_create(16, &rules);
	struct stamp_request request = {1, {INT64_C(1795188663000000001)}, {false, STAMP_NTP, 0, 1}, 9, 0};
	uint8_t payload[STAMP_BYTES];
	struct reflector_answer answer;
	struct frame frame;

	stamp_write_request(&request, payload);
	for (size_t i = 0; i < sizeof bad_sources / sizeof bad_sources[0]; i++) {
		frame = frame_from(bad_sources[i], 50000, payload, sizeof payload);
		cr_assert_eq(reflector_prepare(reflector, &frame, t2, estimate, payload, &answer), -EBADMSG, "%zu", i);
		cr_assert_eq(reflector_counters(reflector).bad_source, i + 1);
	}
	frame = frame_from(net + 2, 50000, payload, sizeof payload);
	frame.destination_mac[5] = 9;
	cr_assert_eq(reflector_prepare(reflector, &frame, t2, estimate, payload, &answer), -EBADMSG, "another's MAC");
	memset(frame.destination_mac, 0xff, FRAME_MAC_BYTES);
	cr_assert_eq(reflector_prepare(reflector, &frame, t2, estimate, payload, &answer), -EBADMSG, "broadcast");
	frame = frame_from(net + 2, 50000, payload, sizeof payload);
	frame.destination_address = 0x0a0000ff;
	cr_assert_eq(reflector_prepare(reflector, &frame, t2, estimate, payload, &answer), -EBADMSG);
	cr_assert_eq(reflector_counters(reflector).not_ours, 3);
	frame = frame_from(net + 2, 50000, payload, sizeof payload);
	frame.source_mac[0] = 3;
	cr_assert_eq(reflector_prepare(reflector, &frame, t2, estimate, payload, &answer), -EBADMSG, "a group's MAC");
	frame.source_mac[0] = 2;
	cr_assert_eq(reflector_prepare(reflector, &frame, t2, estimate, payload, &answer), 0);
	reflector_destroy(reflector);
}

/* RFC 8762 section 4.6: TWAMP senders' packets may be short, or have padding of any content. */
Test(reflector, answers_twamp_senders_that_are_allowed)
{
	static const size_t lengths[] = {14, 41, 1472};
	const struct reflector_prefix allow = {0x0a000000, 30};
	struct reflector_rules listed = rules;
	struct reflector_answer answer;
	uint8_t payload[1472], sent_stamp;

	listed.allow = &allow;
	listed.allow_count = 1;
	for (size_t i = 0; i < 3; i++) {
		struct reflector *reflector = reflector_create(16, &listed);

		for (uint32_t n = 0; n < 3; n++) {
			struct stamp_request request = {
				n, {INT64_C(1795188663000000001)}, {false, STAMP_NTP, 0, 1}, 0, 0};
			struct frame frame = frame_from(net + 2, 50000, payload, lengths[i]);
			struct stamp_reply reply;

			memset(payload, 0x5a + (int)n, sizeof payload);
			stamp_write_request(&request, payload);
			payload[11] ^= 1; /* t1 finer than a nanosecond */
			sent_stamp = payload[11];
			memset(payload + 14, 0x5a + (int)n, STAMP_BYTES - 14);
			cr_assert_eq(reflector_prepare(reflector, &frame, t2, estimate, payload, &answer), 0);
			cr_assert_eq(answer.payload_bytes, lengths[i] < 41 ? 41 : lengths[i]);
			reflector_finish(&answer, t3, payload);
			cr_assert_eq(stamp_read_reply(payload, answer.payload_bytes, &reply), 0);
			cr_assert_eq(payload[35], sent_stamp, "t1 is copied bit by bit");
			cr_assert_eq(reply.sequence, n, "padding is no session identifier");
			cr_assert_eq(reply.session, 0);
			cr_assert_eq(payload[STAMP_BYTES], 0x5a + n, "padding is no TLV");
		}
		reflector_destroy(reflector);
	}
}

/* The answers are longer than the requests, so forged sources must not get many. */
Test(reflector, short_requests_of_strangers_have_a_rate)
{
	const struct reflector_prefix allow = {0x0a000000, 30};
	struct reflector *reflector = reflector_create(16, &rules);
	struct stamp_request request = {1, {INT64_C(1795188663000000001)}, {false, STAMP_NTP, 0, 1}, 0, 0};
	struct reflector_rules listed = rules;
	struct reflector_answer answer;
	uint8_t payload[STAMP_BYTES];
	struct frame frame = frame_from(net + 2, 50000, payload, 14);
	uint32_t answered = 0;

	for (int i = 0; i < 1000; i++) { /* within 1 s, from 250 hosts */
		struct ns at = {t2.v + i * NS_PER_MS};

		frame.source_address = net + 2 + (ip_address)(i % 250);
		stamp_write_request(&request, payload);
		answered += reflector_prepare(reflector, &frame, at, estimate, payload, &answer) == 0;
	}
	cr_assert(answered >= REFLECTOR_SHORT_PPS && answered <= REFLECTOR_SHORT_PPS * 11 / 10 + 1, "%u", answered);
	cr_assert_eq(answer.payload_bytes, 41);
	cr_assert_eq(reflector_counters(reflector).short_requests, 1000 - answered);
	frame.payload_bytes = 41;
	stamp_write_request(&request, payload);
	cr_assert_eq(reflector_prepare(reflector, &frame, t2, estimate, payload, &answer), 0,
		     "no longer than the answer");
	cr_assert_eq(answer.payload_bytes, 41);
	reflector_destroy(reflector);
	listed.allow = &allow;
	listed.allow_count = 1;
	reflector = reflector_create(16, &listed);
	frame = frame_from(net + 4, 50000, payload, STAMP_BYTES);
	cr_assert_eq(reflector_prepare(reflector, &frame, t2, estimate, payload, &answer), -EBADMSG);
	cr_assert_eq(reflector_counters(reflector).not_allowed, 1);
	reflector_destroy(reflector);
}

/* Requests of `count` hosts in turn, gap_ns apart, for a second. */
static uint64_t answered_in_a_second(struct reflector *reflector, uint32_t count, int64_t gap_ns, int64_t from_ns)
{
	uint64_t before = reflector_counters(reflector).answered;
	struct stamp_request request = {1, {INT64_C(1795188663000000001)}, {false, STAMP_NTP, 0, 1}, 9, 0};
	struct reflector_answer answer;
	uint8_t payload[STAMP_BYTES];
	uint32_t host = 0;

	stamp_write_request(&request, payload);
	for (int64_t now = 0; now < NS_PER_S; now += gap_ns) {
		struct frame frame = frame_from(net + 2 + host, 50000, payload, sizeof payload);

		host = (host + 1) % count;
		reflector_prepare(reflector, &frame, (struct ns){from_ns + now}, estimate, payload, &answer);
	}
	return reflector_counters(reflector).answered - before;
}

Test(reflector, rates_are_limited_per_source_and_in_all)
{
	struct reflector_rules limited = rules;
	struct reflector *reflector;
	uint64_t answered;

	limited.source_pps = 100;
	limited.total_pps = 250;
	reflector = reflector_create(16, &limited);
	answered = answered_in_a_second(reflector, 1, 100000, t2.v);
	cr_assert(answered >= 100 && answered <= 112, "%lu: the rate and a tenth of a second's burst", answered);
	cr_assert_gt(reflector_counters(reflector).source_limited, 9000);
	answered = answered_in_a_second(reflector, 20, 100000, t2.v + 5 * NS_PER_S);
	cr_assert(answered >= 250 && answered <= 277, "%lu", answered);
	cr_assert_gt(reflector_counters(reflector).total_limited, 0);
	answered = answered_in_a_second(reflector, 1, 100000, t2.v - 3600 * NS_PER_S);
	cr_assert_geq(answered, 100, "a clock that is stepped back an hour stops nothing");
	reflector_destroy(reflector);
}

/* A correction of the clock may put the stamps of two packets out of order: this must not allow another burst. */
Test(reflector, stamps_out_of_order_do_not_refill_the_bucket)
{
	struct stamp_request request = {1, {INT64_C(1795188663000000001)}, {false, STAMP_NTP, 0, 1}, 9, 0};
	struct reflector_rules limited = rules;
	struct reflector_answer answer;
	struct reflector *reflector;
	uint8_t payload[STAMP_BYTES];

	limited.source_pps = 100;
	reflector = reflector_create(16, &limited);
	stamp_write_request(&request, payload);
	for (int64_t i = 0; i < 1000; i++) {
		struct frame frame = frame_from(net + 2, 50000, payload, sizeof payload);
		struct ns at = {t2.v + (i % 2 ? 0 : 50)};

		reflector_prepare(reflector, &frame, at, estimate, payload, &answer);
	}
	cr_assert_leq(reflector_counters(reflector).answered, 12);
	reflector_destroy(reflector);
}

Test(reflector, refuses_what_is_no_request)
{
	struct reflector *reflector = reflector_create(1, &rules);
	uint8_t payload[STAMP_BYTES] = {0};
	struct frame frame = frame_from(net + 2, 50000, payload, sizeof payload);
	struct reflector_answer answer;

	cr_assert_eq(reflector_prepare(reflector, &frame, (struct ns){0}, estimate, payload, &answer), -EBADMSG);
	cr_assert_eq(reflector_counters(reflector).malformed, 1);
	cr_assert_null(reflector_create(0, &rules));
	reflector_destroy(reflector);
}

static struct stamp_key key = {.session = 9, .bytes = "a key of 16 byte", .length = 16};
static const struct stamp_keys keys = {.count = 1, .items = &key};

/* Passes an authenticated request from an address and port. Returns the outcome. */
static int ask_signed_from(struct reflector *reflector, uint32_t host, uint16_t port, const struct stamp_key *with,
			   uint32_t sequence, int64_t sent_ns, uint8_t *payload)
{
	struct stamp_request request = {.sequence = sequence,
					.sent_at = {sent_ns},
					.error = {false, STAMP_PTP, 0, 1},
					.session = with->session,
					.authenticated = true};
	struct frame frame = frame_from(net + host, port, payload, STAMP_AUTHENTICATED_BYTES);
	struct reflector_answer prepared;
	int code;

	stamp_write_request(&request, payload);
	stamp_sign(with, payload);
	code = reflector_prepare(reflector, &frame, t2, estimate, payload, &prepared);
	if (!code)
		reflector_finish(&prepared, t3, payload);
	return code;
}

static int ask_signed(struct reflector *reflector, const struct stamp_key *with, uint32_t sequence, int64_t sent_ns,
		      uint8_t *payload)
{
	return ask_signed_from(reflector, 2, 50000, with, sequence, sent_ns, payload);
}

Test(reflector, authenticated_requests_get_signed_answers)
{
	struct reflector_rules with_keys = rules;
	struct reflector *reflector;
	uint8_t payload[STAMP_AUTHENTICATED_BYTES];
	struct stamp_reply answer;

	with_keys.keys = &keys;
	reflector = reflector_create(16, &with_keys);
	cr_assert_eq(ask_signed(reflector, &key, 5, t2.v - 1000, payload), 0);
	cr_assert(stamp_is_signed(&key, payload, sizeof payload));
	cr_assert_eq(stamp_read_authenticated_reply(payload, sizeof payload, &answer), 0);
	cr_assert(answer.request_sequence == 5 && answer.session == 9 && answer.request_ttl == 61);
	cr_assert(answer.received_at.v == t2.v && answer.sent_at.v == t3.v && answer.request_sent_at.v == t2.v - 1000);
	for (size_t i = 0; i < sizeof payload; i++) {
		payload[i] ^= 1;
		cr_assert(!stamp_is_signed(&key, payload, sizeof payload), "byte %zu", i);
		payload[i] ^= 1;
	}
	reflector_destroy(reflector);
}

Test(reflector, requests_that_are_not_authentic_are_counted_by_reason)
{
	struct stamp_key stranger = {.session = 10, .length = 16}, liar = {.session = 9, .length = 16};
	struct reflector_rules with_keys = rules;
	struct reflector *reflector;
	uint8_t payload[STAMP_AUTHENTICATED_BYTES];
	struct reflector_counters counters;
	struct reflector_answer prepared;
	struct frame answer;

	with_keys.keys = &keys;
	reflector = reflector_create(16, &with_keys);
	cr_assert_eq(ask_signed(reflector, &stranger, 0, 1, payload), -EBADMSG);
	cr_assert_eq(ask_signed(reflector, &liar, 0, 1, payload), -EBADMSG);
	cr_assert_eq(ask_signed(reflector, &key, 0, 1, payload), 0);
	/* The signed answer is sent to a reflector with the same key. */
	answer = frame_from(net + 3, 862, payload, sizeof payload);
	cr_assert_eq(reflector_prepare(reflector, &answer, t2, estimate, payload, &prepared), -EBADMSG);
	/* An unauthenticated packet is not a request here. */
	answer = frame_from(net + 3, 862, payload, STAMP_BYTES);
	cr_assert_eq(reflector_prepare(reflector, &answer, t2, estimate, payload, &prepared), -EBADMSG);
	counters = reflector_counters(reflector);
	cr_assert(counters.unknown_session == 1 && counters.bad_hmac == 1 && counters.loops == 1 &&
		  counters.malformed == 1);
	cr_assert_eq(counters.answered, 1);
	reflector_destroy(reflector);
}

Test(reflector, each_authentic_request_is_answered_once)
{
	/* Sequence number and time, and whether the request is answered. */
	static const struct {
		uint32_t sequence;
		int64_t sent_ms;
		bool answered;
	} steps[] = {
		{10, 100, true},   {10, 100, false},   {12, 120, true},   {11, 110, true},    {11, 110, false},
		{200, 2000, true}, {137, 900, true},   {136, 800, false}, {137, 900, false},  {0, 3000, true},
		{0, 3000, false},  {200, 2000, false}, {1, 3100, true},   {200, 2000, false},
	};
	struct reflector_rules with_keys = rules;
	struct reflector *reflector;
	uint8_t payload[STAMP_AUTHENTICATED_BYTES];

	with_keys.keys = &keys;
	reflector = reflector_create(16, &with_keys);
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
		cr_assert_eq(ask_signed(reflector, &key, steps[i].sequence, steps[i].sent_ms * NS_PER_MS, payload) == 0,
			     steps[i].answered, "step %zu", i);
	cr_assert_eq(reflector_counters(reflector).replayed, 7);
	reflector_destroy(reflector);
}

/* The HMAC covers neither address nor port. A replayed request makes no session. */
Test(reflector, a_replay_from_another_port_or_address_is_refused)
{
	enum { PATHS = 4, ROUNDS = 4000 };
	struct reflector_rules with_keys = rules;
	struct reflector *reflector;
	uint8_t payload[STAMP_AUTHENTICATED_BYTES];

	with_keys.keys = &keys;
	reflector = reflector_create(1024, &with_keys);
	for (uint32_t round = 0; round < ROUNDS; round++)
		for (uint16_t path = 0; path < PATHS; path++)
			cr_assert_eq(ask_signed_from(reflector, 2, 50000 + path, &key, round,
						     t2.v + round * 1000 + path, payload),
				     0, "path %u: the paths of a prober have one SSID and the same numbers", path);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		cr_assert_eq(ask_signed_from(reflector, 2, 40000, &key, round, t2.v + round * 1000, payload), -EBADMSG);
		cr_assert_eq(ask_signed_from(reflector, 77, 50000, &key, round, t2.v + round * 1000, payload),
			     -EBADMSG);
	}
	cr_assert_eq(reflector_counters(reflector).replayed, 2 * ROUNDS);
	cr_assert_eq(reflector_counters(reflector).sessions, PATHS);
	reflector_destroy(reflector);
}

Test(reflector, a_sender_whose_clock_was_set_back_is_answered)
{
	const int64_t hour_ns = INT64_C(3600) * NS_PER_S;
	struct reflector_rules with_keys = rules;
	struct reflector *reflector;
	uint8_t payload[STAMP_AUTHENTICATED_BYTES];

	with_keys.keys = &keys;
	reflector = reflector_create(16, &with_keys);
	for (uint32_t i = 0; i < 100; i++)
		cr_assert_eq(ask_signed(reflector, &key, i, t2.v + i, payload), 0);
	for (uint32_t i = 100; i < 200; i++)
		cr_assert_eq(ask_signed(reflector, &key, i, t2.v + i - hour_ns, payload), 0, "request %u", i);
	cr_assert_eq(ask_signed(reflector, &key, 150, t2.v + 150 - hour_ns, payload), -EBADMSG);
	cr_assert_eq(ask_signed(reflector, &key, 50, t2.v + 50, payload), -EBADMSG);
	cr_assert_eq(ask_signed(reflector, &key, 0, t2.v + NS_PER_S, payload), 0, "begun again");
	cr_assert_eq(reflector_counters(reflector).replayed, 2);
	reflector_destroy(reflector);
}

/* The path-discovery session has the same key under another identifier, and its own replay window. */
Test(reflector, a_session_without_a_key_has_its_companions)
{
	struct stamp_key companion = key;
	struct reflector_rules with_keys = rules;
	struct reflector *reflector;
	uint8_t payload[STAMP_AUTHENTICATED_BYTES];

	companion.session = stamp_companion(key.session);
	with_keys.keys = &keys;
	reflector = reflector_create(16, &with_keys);
	cr_assert_eq(ask_signed(reflector, &key, 1000, t2.v, payload), 0);
	cr_assert_eq(ask_signed(reflector, &companion, 3, t2.v - 1000, payload), 0);
	cr_assert(stamp_is_signed(&key, payload, sizeof payload));
	cr_assert_eq(ask_signed(reflector, &companion, 3, t2.v - 1000, payload), -EBADMSG, "again");
	cr_assert_eq(reflector_counters(reflector).sessions, 2);
	cr_assert_eq(reflector_counters(reflector).replayed, 1);
	companion.session = (uint16_t)(key.session + 2);
	cr_assert_eq(ask_signed(reflector, &companion, 4, t2.v, payload), -EBADMSG, "a stranger's");
	reflector_destroy(reflector);
}

Test(reflector, a_request_for_another_member_link_has_no_answer)
{
	static const uint8_t micro_session[] = {0x80, TLV_MICRO_SESSION, 0, 4, 0, 3, 0, 7};
	struct stamp_request request = {1, {t2.v}, {false, STAMP_PTP, 0, 1}, 9, 0};
	uint8_t payload[STAMP_BYTES + sizeof micro_session];
	struct frame frame = frame_from(net + 2, 50000, payload, sizeof payload);
	struct reflector_rules of_member = rules;
	struct reflector_answer prepared;

	for (uint16_t member = 7; member <= 8; member++) {
		struct reflector *reflector;

		stamp_write_request(&request, payload);
		memcpy(payload + STAMP_BYTES, micro_session, sizeof micro_session);
		of_member.member = member;
		reflector = reflector_create(16, &of_member);
		cr_assert_eq(reflector_prepare(reflector, &frame, t2, estimate, payload, &prepared),
			     member == 7 ? 0 : -EBADMSG);
		cr_assert_eq(reflector_counters(reflector).other_member, member - 7);
		reflector_destroy(reflector);
	}
}

/* A request at this time. Returns the number of its answer, or -1. */
static int64_t number_of_answer(struct reflector *reflector, uint32_t source, int64_t at_ns)
{
	struct stamp_request request = {1, {t2.v}, {false, STAMP_PTP, 0, 1}, 9, 0};
	uint8_t payload[STAMP_BYTES];
	struct frame frame = frame_from(source, 50000, payload, sizeof payload);
	struct reflector_answer prepared;

	stamp_write_request(&request, payload);
	if (reflector_prepare(reflector, &frame, (struct ns){at_ns}, estimate, payload, &prepared))
		return -1;
	return prepared.reply.sequence;
}

enum { PEERS = 100, FLOOD_PPS = 1000000, PEER_PPS = 100 };

/* Between two requests of a peer, the flood sends ten thousand. */
static void flood(struct reflector *reflector, bool spoofed, uint32_t rounds)
{
	const int64_t gap_ns = NS_PER_S / FLOOD_PPS;
	int64_t now_ns = t2.v;

	for (uint32_t round = 0; round < rounds; round++) {
		for (uint32_t i = 0; i < FLOOD_PPS / PEER_PPS; i++, now_ns += gap_ns)
			number_of_answer(reflector, spoofed ? 0x14000000 + round * 10000 + i : 0x14000000, now_ns);
		for (uint32_t peer = 0; peer < PEERS; peer++)
			cr_assert_eq(number_of_answer(reflector, 0x0b000001 + peer, now_ns), round,
				     "peer %u in round %u: its session goes on", peer, round);
	}
}

Test(reflector, a_flood_from_one_source_is_counted_and_does_not_hold_up_the_peers)
{
	struct reflector_rules limited = rules;
	struct reflector_counters counters;
	struct reflector *reflector;

	limited.source_pps = 1000;
	reflector = reflector_create(65536, &limited);
	flood(reflector, false, 20);
	counters = reflector_counters(reflector);
	cr_assert_eq(counters.answered + counters.source_limited, 20 * (FLOOD_PPS / PEER_PPS + PEERS));
	cr_assert_leq(counters.answered, 20 * PEERS + 201 + 101, "200 in 0.2 s, and a burst of 100");
	cr_assert_eq(counters.sessions, PEERS + 1);
	reflector_destroy(reflector);
}

Test(reflector, a_million_spoofed_sources_need_no_memory_and_push_out_no_peer)
{
	struct reflector_counters counters;
	struct reflector *reflector = reflector_create(65536, &rules);

	flood(reflector, true, 100);
	counters = reflector_counters(reflector);
	cr_assert_eq(counters.sessions, 1000000 + PEERS);
	cr_assert_leq(counters.sessions - counters.evicted, 65536);
	reflector_destroy(reflector);
}
