/* SPDX-License-Identifier: BSD-3-Clause */
/* The octets are written from the figures of RFC 4656 section 3 and RFC 5357 section 3. */
#include <criterion/criterion.h>

#include <string.h>

#include <probe/rtt/twamp.h>

static const struct ns now = {1000 * NS_PER_S}, wall = {INT64_C(1795188663000000000)};
static const struct twamp_terms terms = {
	.address = 0x0a000001, .udp_port = 862, .started_at = {INT64_C(1795188662500000000)}};
static uint8_t random_bytes[TWAMP_RANDOM_BYTES];

static struct twamp_message answer;

static struct twamp_server begin(const struct twamp_terms *of)
{
	struct twamp_server server;

	for (size_t i = 0; i < sizeof random_bytes; i++)
		random_bytes[i] = (uint8_t)(i + 1);
	twamp_server_begin(&server, of, true, random_bytes, now, &answer);
	return server;
}

static void give(struct twamp_server *server, const uint8_t *bytes, size_t count)
{
	cr_assert_eq(twamp_server_take(server, bytes, count, now, wall, &answer), count);
}

static struct twamp_server connect_to(const struct twamp_terms *of)
{
	static const uint8_t set_up[164] = {[3] = 1};
	struct twamp_server server = begin(of);

	give(&server, set_up, sizeof set_up);
	return server;
}

/* Request-TW-Session from 10.0.0.2, port 50000, to 10.0.0.1, port 18760, with 30 bytes of padding. */
static void fill_request(uint8_t request[112])
{
	memset(request, 0, 112);
	request[0] = 5;
	request[1] = 4;
	memcpy(request + 12, "\xc3\x50\x49\x48", 4);
	memcpy(request + 16, "\x0a\x00\x00\x02", 4);
	memcpy(request + 32, "\x0a\x00\x00\x01", 4);
	request[67] = 30;
	request[79] = 2;
	request[84] = 46;
}

static uint8_t ask(struct twamp_server *server, size_t at, uint8_t value)
{
	uint8_t request[112];

	fill_request(request);
	request[at] = value;
	give(server, request, sizeof request);
	cr_assert_eq(answer.length, 48);
	return answer.bytes[0];
}

static const uint8_t start[32] = {2}, stop[32] = {[0] = 3, [7] = 1};

Test(twamp, the_greeting_offers_the_open_mode_alone)
{
	struct twamp_server server = begin(&terms);

	cr_assert_eq(answer.length, 64);
	cr_assert_arr_eq(answer.bytes, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16, "unused, and mode 1");
	cr_assert_arr_eq(answer.bytes + 16, random_bytes, 32, "challenge and salt");
	cr_assert_arr_eq(answer.bytes + 48, "\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, "count 1024");
	cr_assert_eq(server.state, TWAMP_SERVER_SET_UP);
	twamp_server_begin(&server, &terms, false, random_bytes, now, &answer);
	cr_assert_arr_eq(answer.bytes, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, "a refusal offers no mode");
	cr_assert_eq(server.state, TWAMP_SERVER_OVER);
}

Test(twamp, a_session_from_its_request_to_its_end)
{
	struct twamp_server server = connect_to(&terms);

	cr_assert_eq(answer.length, 48);
	cr_assert_arr_eq(answer.bytes, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, "accepted");
	cr_assert_eq(answer.bytes[36], 0x80, "half a second");
	cr_assert_eq(ask(&server, 0, 5), TWAMP_ACCEPTED);
	cr_assert_arr_eq(answer.bytes + 2, "\x03\x5e\x0a\0\0\1", 6,
			 "our port instead of theirs; the SID begins with our address");
	cr_assert_arr_eq(answer.bytes + 16, random_bytes + 32, 4, "and ends with a number");
	give(&server, start, sizeof start);
	cr_assert_eq(answer.length, 32);
	cr_assert_eq(answer.bytes[0], TWAMP_ACCEPTED);
	cr_assert_eq(server.deadline.v, INT64_MAX, "SERVWAIT is suspended");
	give(&server, stop, sizeof stop);
	cr_assert_eq(answer.length, 0);
	cr_assert_eq(server.state, TWAMP_SERVER_REQUEST);
	cr_assert_eq(server.deadline.v, now.v + 900 * NS_PER_S, "SERVWAIT");
	cr_assert_eq(ask(&server, 0, 5), TWAMP_ACCEPTED, "another one on the same connection");
	cr_assert_eq(server.sessions, 1);
}

Test(twamp, a_mode_that_was_not_offered_is_refused)
{
	static const uint8_t modes[] = {2, 4, 8, 3, 9, 17, 33, 65}; /* RFC 4656, 5618, 5938, 6038 */

	for (size_t i = 0; i < sizeof modes; i++) {
		struct twamp_server server = begin(&terms);
		uint8_t set_up[164] = {[3] = modes[i]};

		give(&server, set_up, sizeof set_up);
		cr_assert_eq(answer.length, 48);
		cr_assert_eq(answer.bytes[15], TWAMP_NOT_SUPPORTED);
		cr_assert_eq(server.state, TWAMP_SERVER_OVER);
	}
	{
		struct twamp_server server = begin(&terms);
		static const uint8_t leaves[164];

		give(&server, leaves, sizeof leaves);
		cr_assert_eq(answer.length, 0, "mode 0: the client leaves");
		cr_assert_eq(server.state, TWAMP_SERVER_OVER);
	}
}

Test(twamp, requests_that_cannot_be_met_are_refused)
{
	static const struct {
		size_t at;
		uint8_t value, accept;
	} cases[] = {
		{1, 6, TWAMP_NOT_SUPPORTED},     /* IPv6 */
		{2, 1, TWAMP_NOT_SUPPORTED},     /* Conf-Sender */
		{3, 1, TWAMP_NOT_SUPPORTED},     /* Conf-Receiver */
		{7, 1, TWAMP_NOT_SUPPORTED},     /* schedule slots */
		{11, 1, TWAMP_NOT_SUPPORTED},    /* number of packets */
		{35, 9, TWAMP_NOT_SUPPORTED},    /* another receiver */
		{84, 0x40, TWAMP_NOT_SUPPORTED}, /* a PHB identifier as Type-P */
		{87, 1, TWAMP_NOT_SUPPORTED},
		{65, 1, TWAMP_PERMANENT_LIMIT}, /* more padding than an IP packet has */
		{19, 9, TWAMP_ACCEPTED},        /* a sender elsewhere */
		{32, 10, TWAMP_ACCEPTED},
	};
	struct twamp_server server = connect_to(&terms);
	const struct reflector_prefix allow = {0x0a000002, 32};
	struct twamp_terms listed = terms;
	uint8_t request[112];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_assert_eq(ask(&server, cases[i].at, cases[i].value), cases[i].accept, "case %zu: %u", i,
			     answer.bytes[0]);
	fill_request(request);
	memset(request + 16, 0, 4);
	memset(request + 32, 0, 4);
	give(&server, request, sizeof request);
	cr_assert_eq(answer.bytes[0], TWAMP_ACCEPTED, "addresses of zeros are those of the connection");
	memset(request + 12, 0, 2);
	give(&server, request, sizeof request);
	cr_assert_eq(answer.bytes[0], TWAMP_NOT_SUPPORTED, "no sender port");
	cr_assert_arr_eq(answer.bytes + 1, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 19, "neither port nor SID");
	listed.allow = &allow;
	listed.allow_count = 1;
	server = connect_to(&listed);
	cr_assert_eq(ask(&server, 19, 2), TWAMP_ACCEPTED);
	cr_assert_eq(ask(&server, 19, 3), TWAMP_NOT_SUPPORTED, "a sender that gets no answers");
}

Test(twamp, sessions_of_a_connection_are_limited)
{
	struct twamp_server server = connect_to(&terms);

	for (int i = 0; i < TWAMP_SESSIONS_MAXIMUM; i++)
		cr_assert_eq(ask(&server, 0, 5), TWAMP_ACCEPTED);
	cr_assert_eq(ask(&server, 0, 5), TWAMP_TEMPORARY_LIMIT);
	cr_assert_eq(server.accepted, TWAMP_SESSIONS_MAXIMUM);
	cr_assert_eq(server.refused, 1);
}

Test(twamp, commands_out_of_turn_end_the_connection)
{
	static const uint8_t unknown[] = {0, 1, 4, 6, 7, 8, 9, 10, 255}; /* RFC 4656, RFC 5938 */
	struct twamp_server server;
	uint8_t wrong[32] = {[0] = 3, [7] = 2}, request[112];

	for (size_t i = 0; i < sizeof unknown; i++) {
		server = connect_to(&terms);
		give(&server, &unknown[i], 1);
		cr_assert_eq(server.state, TWAMP_SERVER_OVER, "command %u", unknown[i]);
		cr_assert_eq(answer.length, 0);
	}
	server = connect_to(&terms);
	give(&server, start, sizeof start);
	cr_assert_eq(answer.bytes[0], TWAMP_FAILURE, "nothing to start");
	give(&server, stop, sizeof stop);
	cr_assert_eq(server.state, TWAMP_SERVER_OVER, "nothing to stop");
	server = connect_to(&terms);
	ask(&server, 0, 5);
	give(&server, start, sizeof start);
	give(&server, wrong, sizeof wrong);
	cr_assert_eq(server.state, TWAMP_SERVER_OVER, "another number of sessions");
	server = connect_to(&terms);
	ask(&server, 0, 5);
	give(&server, start, sizeof start);
	fill_request(request);
	cr_assert_eq(twamp_server_take(&server, request, sizeof request, now, wall, &answer), sizeof request);
	cr_assert_eq(server.state, TWAMP_SERVER_OVER, "a request while sessions run");
	cr_assert_eq(twamp_server_take(&server, request, 1, now, wall, &answer), 0);
}

/* Bytes that come one at a time do not move the deadline. */
Test(twamp, a_message_must_come_in_time)
{
	struct twamp_server server = begin(&terms);
	const uint8_t zeros[164] = {[3] = 1};
	struct ns later = {now.v + 29 * NS_PER_S};
	uint8_t request[112];

	cr_assert_eq(server.deadline.v, now.v + 30 * NS_PER_S);
	for (int i = 0; i < 163; i++)
		cr_assert_eq(twamp_server_take(&server, zeros + i, 1, later, wall, &answer), 1);
	cr_assert_eq(server.deadline.v, now.v + 30 * NS_PER_S);
	twamp_server_take(&server, zeros + 163, 1, now, wall, &answer);
	cr_assert_eq(server.deadline.v, now.v + 900 * NS_PER_S);
	fill_request(request);
	for (int i = 0; i < 111; i++)
		twamp_server_take(&server, request + i, 1, (struct ns){now.v + i * NS_PER_S}, wall, &answer);
	cr_assert_eq(server.deadline.v, now.v + 30 * NS_PER_S);
	twamp_server_take(&server, request + 111, 1, later, wall, &answer);
	cr_assert_eq(answer.length, 48);
}

/* Several messages in one read: each call takes one. */
Test(twamp, pipelined_messages_are_taken_one_by_one)
{
	uint8_t bytes[164 + 112 + 32] = {[3] = 1};
	struct twamp_server server = begin(&terms);

	fill_request(bytes + 164);
	bytes[164 + 112] = 2;
	cr_assert_eq(twamp_server_take(&server, bytes, sizeof bytes, now, wall, &answer), 164);
	cr_assert_eq(twamp_server_take(&server, bytes + 164, 144, now, wall, &answer), 112);
	cr_assert_eq(twamp_server_take(&server, bytes + 276, 32, now, wall, &answer), 32);
	cr_assert_eq(server.state, TWAMP_SERVER_RUNNING);
}

/* The client against the server: octets of its messages, then that both agree. */

static const uint16_t ports[] = {50000, 50001};
static const struct twamp_wish wish = {.sender = 0x0a000002,
				       .receiver = 0x0a000001,
				       .sender_ports = ports,
				       .sessions = 2,
				       .receiver_port = 18760,
				       .padding = 30,
				       .timeout = {1500 * NS_PER_MS},
				       .dscp = 46};

static void hear(struct twamp_client *client, const uint8_t *bytes, size_t count)
{
	cr_assert_eq(twamp_client_take(client, bytes, count, &answer), count);
}

Test(twamp, the_client_asks_for_each_source_port)
{
	static const uint8_t greeting[64] = {[15] = 15}, server_start[48], accept[48] = {[2] = 3, [3] = 0x5e}, ack[32];
	struct twamp_client client;
	uint8_t request[112];

	twamp_client_begin(&client, &wish);
	hear(&client, greeting, 64);
	cr_assert_eq(answer.length, 164);
	cr_assert_arr_eq(answer.bytes, "\0\0\0\1\0\0\0\0", 8, "the open mode of all that are offered");
	hear(&client, server_start, 48);
	cr_assert_eq(answer.length, 112);
	fill_request(request);
	memcpy(request + 76, "\0\0\0\1\x80\0\0\0", 8);
	cr_assert_arr_eq(answer.bytes, request, 112);
	hear(&client, accept, 48);
	request[13]++;
	cr_assert_arr_eq(answer.bytes, request, 112);
	hear(&client, accept, 48);
	cr_assert_eq(answer.length, 32);
	cr_assert_eq(answer.bytes[0], 2);
	hear(&client, ack, 32);
	cr_assert_eq(client.state, TWAMP_CLIENT_RUNNING);
	cr_assert_eq(client.receiver_port, 862);
	twamp_client_stop(&client, &answer);
	cr_assert_eq(answer.length, 32);
	cr_assert_arr_eq(answer.bytes, "\3\0\0\0\0\0\0\2", 8);
	cr_assert_eq(twamp_client_take(&client, greeting, 64, &answer), 0);
}

/* Both halves talk until the sessions run; returns the server. */
static struct twamp_server converse(const struct twamp_terms *of, const struct twamp_wish *wanted,
				    struct twamp_client *client)
{
	struct twamp_server server = begin(of);
	struct twamp_message reply;

	twamp_client_begin(client, wanted);
	while (answer.length) {
		reply = answer;
		hear(client, reply.bytes, reply.length);
		if (!answer.length)
			break;
		reply = answer;
		give(&server, reply.bytes, reply.length);
	}
	return server;
}

Test(twamp, client_and_server_agree)
{
	struct twamp_client client;
	struct twamp_server server = converse(&terms, &wish, &client);
	struct twamp_message stopping;

	cr_assert_eq(client.state, TWAMP_CLIENT_RUNNING);
	cr_assert_eq(server.state, TWAMP_SERVER_RUNNING);
	cr_assert_eq(server.sessions, 2);
	twamp_client_stop(&client, &stopping);
	give(&server, stopping.bytes, stopping.length);
	cr_assert_eq(server.state, TWAMP_SERVER_REQUEST);
}

Test(twamp, they_agree_over_ipv6)
{
	struct twamp_terms six = terms;
	struct twamp_wish wanted = wish;
	struct twamp_client client;

	cr_assert_eq(address_parse("2001:db8::1", &six.address), 0);
	wanted.receiver = six.address;
	cr_assert_eq(address_parse("2001:db8::2", &wanted.sender), 0);
	cr_assert_eq(converse(&six, &wanted, &client).sessions, 2);
	cr_assert_eq(client.state, TWAMP_CLIENT_RUNNING);
	cr_assert_eq(address_parse("2001:db8::3", &wanted.receiver), 0);
	cr_assert_eq(converse(&six, &wanted, &client).sessions, 0);
	cr_assert_eq(client.accept, TWAMP_NOT_SUPPORTED, "another receiver, by its last byte");
	cr_assert_eq(converse(&six, &wish, &client).sessions, 0);
	cr_assert_eq(client.accept, TWAMP_NOT_SUPPORTED, "a client of IPv4");
}

Test(twamp, the_client_names_what_the_server_refuses)
{
	static const uint8_t no_mode[64], secure[64] = {[15] = 6}, open[64] = {[15] = 1}, closed[48] = {[15] = 5},
					  fine[48], refused[48] = {4}, no_port[48], one[48] = {[3] = 1},
					  other[48] = {[3] = 2}, not_started[32] = {1};
	static const struct {
		const uint8_t *messages[5];
		uint8_t accept;
		const char *failure;
	} cases[] = {
		{{no_mode}, 0, "refuses connections from us"},
		{{secure}, 0, "does not offer the unauthenticated mode"},
		{{open, closed}, 5, "refuses the connection"},
		{{open, fine, refused}, 4, "refuses the session"},
		{{open, fine, no_port}, 0, "gives no port for the session"},
		{{open, fine, one, other}, 0, "gives each session a port of its own, which needs --paths 1"},
		{{open, fine, one, one, not_started}, 1, "refuses to start the sessions"},
	};
	static const size_t lengths[] = {64, 48, 48, 48, 32};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct twamp_client client;

		twamp_client_begin(&client, &wish);
		for (size_t m = 0; m < 5 && cases[i].messages[m]; m++)
			hear(&client, cases[i].messages[m], lengths[m]);
		cr_assert_eq(client.state, TWAMP_CLIENT_FAILED);
		cr_assert_str_eq(client.failure, cases[i].failure);
		cr_assert_eq(client.accept, cases[i].accept);
		cr_assert_eq(answer.length, 0);
	}
	cr_assert_str_eq(twamp_accept_text(5), "temporary resource limit");
	cr_assert_str_eq(twamp_accept_text(200), "unknown reason");
}
