/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TWAMP-Control in both directions: a server that hears any bytes, in pieces of any length, and a client that does. The
 * first byte chooses the peer, the second the pieces; the rest is what arrives. Then our client talks to our server
 * with each byte of the conversation changed by the input.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <probe/rtt/twamp.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t random_bytes[TWAMP_RANDOM_BYTES];
static const struct ns begun = {NS_PER_S};

static void require(int holds)
{
	if (!holds)
		abort();
}

/*
 * The laws of a server: it takes something unless it is over; no answer is longer than its message; its sessions have a
 * limit (which takes 28 KB to reach); it waits without end only while sessions run, and a slow sender gains no time.
 */
static void check_server(const uint8_t *data, size_t size, size_t piece)
{
	const struct reflector_prefix allow = {0x0a000000, 8};
	const struct twamp_terms terms = {
		.address = 0x0a000001, .udp_port = 862, .allow = &allow, .allow_count = size & 1};
	struct twamp_server server;
	struct twamp_message message;
	struct ns now = begun;

	twamp_server_begin(&server, &terms, true, random_bytes, now, &message);
	for (size_t at = 0; at < size;) {
		size_t count = piece < size - at ? piece : size - at, taken;
		size_t before = server.filled;
		struct ns deadline = server.deadline;
		uint32_t sessions = server.sessions;

		taken = twamp_server_take(&server, data + at, count, now, now, &message);
		require(taken <= count && (taken > 0 || server.state == TWAMP_SERVER_OVER));
		if (taken == 0)
			break;
		at += taken;
		require(message.length <= before + taken);
		require(server.sessions <= TWAMP_SESSIONS_MAXIMUM && server.sessions <= sessions + 1);
		if (server.filled)
			require(server.deadline.v <= now.v + 30 * NS_PER_S &&
				(before == 0 || server.deadline.v <= deadline.v));
		else if (server.state != TWAMP_SERVER_RUNNING)
			require(server.deadline.v <= now.v + 900 * NS_PER_S);
		require(server.state != TWAMP_SERVER_RUNNING || server.sessions > 0);
		now.v += NS_PER_S;
	}
	require(server.accepted + server.refused <= size / 112);
}

static const uint16_t ports[] = {50000, 50001, 50002};
static const struct twamp_wish wish = {.sender = 0x0a000002,
				       .receiver = 0x0a000001,
				       .sender_ports = ports,
				       .sessions = 3,
				       .receiver_port = 862,
				       .timeout = {NS_PER_S}};

/* The client asks for no more sessions than it wants, and ends with one port for all of them, or with a reason. */
static void check_client(const uint8_t *data, size_t size, size_t piece)
{
	struct twamp_client client;
	struct twamp_message message;
	size_t messages = 0;

	twamp_client_begin(&client, &wish);
	for (size_t at = 0; at < size;) {
		size_t count = piece < size - at ? piece : size - at;
		size_t taken = twamp_client_take(&client, data + at, count, &message);
		bool over = client.state == TWAMP_CLIENT_RUNNING || client.state == TWAMP_CLIENT_FAILED;

		require(taken <= count && message.length <= TWAMP_MESSAGE_BYTES && (taken > 0 || over));
		if (taken == 0)
			break;
		at += taken;
		messages += message.length > 0;
		require(client.asked <= wish.sessions && messages <= wish.sessions + 2);
	}
	if (client.state == TWAMP_CLIENT_RUNNING)
		require(client.asked == wish.sessions && client.receiver_port != 0);
	require((client.state == TWAMP_CLIENT_FAILED) == (client.failure != NULL));
}

/* A conversation whose bytes are changed on the way: if nothing is changed, both end with the sessions running. */
static void check_conversation(const uint8_t *data, size_t size)
{
	const struct twamp_terms terms = {.address = 0x0a000001, .udp_port = 862};
	struct twamp_server server;
	struct twamp_client client;
	struct twamp_message message, answer;
	size_t at = 0;
	bool changed = false;

	twamp_server_begin(&server, &terms, true, random_bytes, begun, &message);
	twamp_client_begin(&client, &wish);
	for (int turn = 0; turn < 64 && message.length; turn++) {
		for (size_t i = 0; i < message.length && at < size; i++, at++) {
			changed = changed || data[at];
			message.bytes[i] ^= data[at];
		}
		answer.length = 0;
		if (turn % 2)
			twamp_server_take(&server, message.bytes, message.length, begun, begun, &answer);
		else
			twamp_client_take(&client, message.bytes, message.length, &answer);
		message = answer;
	}
	require(changed || (client.state == TWAMP_CLIENT_RUNNING && server.state == TWAMP_SERVER_RUNNING &&
			    server.sessions == wish.sessions && client.receiver_port == terms.udp_port));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	switch (data[0] % 3) {
	case 0:
		check_server(data + 2, size - 2, 1 + data[1]);
		break;
	case 1:
		check_client(data + 2, size - 2, 1 + data[1]);
		break;
	default:
		check_conversation(data + 2, size - 2);
		break;
	}
	return 0;
}
