/* SPDX-License-Identifier: BSD-3-Clause */
#include "twamp_priv.h"

const char *twamp_accept_text(uint8_t accept)
{
	static const char *const texts[] = {
		[TWAMP_ACCEPTED] = "accepted",
		[TWAMP_FAILURE] = "failure, reason unspecified",
		[TWAMP_INTERNAL_ERROR] = "internal error",
		[TWAMP_NOT_SUPPORTED] = "some aspect of the request is not supported",
		[TWAMP_PERMANENT_LIMIT] = "permanent resource limit",
		[TWAMP_TEMPORARY_LIMIT] = "temporary resource limit",
	};

	return accept < sizeof texts / sizeof *texts ? texts[accept] : "unknown reason";
}

void twamp_client_begin(struct twamp_client *client, const struct twamp_wish *wish)
{
	*client = (struct twamp_client){.wish = wish, .state = TWAMP_CLIENT_GREETING};
}

static void fail(struct twamp_client *client, uint8_t accept, const char *failure)
{
	client->state = TWAMP_CLIENT_FAILED;
	client->accept = accept;
	client->failure = failure;
}

static void put_address(uint8_t *out, ip_address address)
{
	size_t length = address_is_ipv4(address) ? 4 : 16;

	for (size_t i = 0; i < length; i++)
		out[i] = (uint8_t)(address >> 8 * (length - 1 - i));
}

/* RFC 5357 section 3.5; a start time of 0 means at once after Start-Sessions. */
static void ask_session(struct twamp_client *client, struct twamp_message *answer)
{
	const struct twamp_wish *wish = client->wish;
	uint8_t *request = answer->bytes;

	answer->length = REQUEST_BYTES;
	request[0] = TWAMP_REQUEST_SESSION;
	request[REQUEST_IP_VERSION] = address_is_ipv4(wish->sender) ? 4 : 6;
	put16(request + REQUEST_SENDER_PORT, wish->sender_ports[client->asked]);
	put16(request + REQUEST_RECEIVER_PORT, wish->receiver_port);
	put_address(request + REQUEST_SENDER, wish->sender);
	put_address(request + REQUEST_RECEIVER, wish->receiver);
	put32(request + REQUEST_PADDING, wish->padding);
	put32(request + REQUEST_TIMEOUT, (uint32_t)(wish->timeout.v / NS_PER_S));
	put32(request + REQUEST_TIMEOUT + 4, (uint32_t)(((uint64_t)(wish->timeout.v % NS_PER_S) << 32) / NS_PER_S));
	put32(request + REQUEST_TYPE_P, (uint32_t)wish->dscp << 24);
	client->asked++;
	client->state = TWAMP_CLIENT_ACCEPT;
}

static void answer_greeting(struct twamp_client *client, struct twamp_message *answer)
{
	uint32_t modes = get32(client->input + GREETING_MODES);

	if (!(modes & TWAMP_OPEN)) {
		fail(client, 0, modes ? "does not offer the unauthenticated mode" : "refuses connections from us");
		return;
	}
	answer->length = SET_UP_BYTES;
	put32(answer->bytes, TWAMP_OPEN);
	client->state = TWAMP_CLIENT_START;
}

/* All our probes have one destination port. */
static void answer_accept(struct twamp_client *client, struct twamp_message *answer)
{
	uint16_t port = get16(client->input + ACCEPT_PORT);

	if (client->input[0] != TWAMP_ACCEPTED) {
		fail(client, client->input[0], "refuses the session");
	} else if (port == 0) {
		fail(client, 0, "gives no port for the session");
	} else if (client->asked > 1 && port != client->receiver_port) {
		fail(client, 0, "gives each session a port of its own, which needs --paths 1");
	} else {
		client->receiver_port = port;
		if (client->asked < client->wish->sessions) {
			ask_session(client, answer);
			return;
		}
		answer->length = COMMAND_BYTES;
		answer->bytes[0] = TWAMP_START_SESSIONS;
		client->state = TWAMP_CLIENT_ACK;
	}
}

static size_t message_bytes(const struct twamp_client *client)
{
	switch (client->state) {
	case TWAMP_CLIENT_GREETING:
		return TWAMP_GREETING_BYTES;
	case TWAMP_CLIENT_START:
		return SERVER_START_BYTES;
	case TWAMP_CLIENT_ACCEPT:
		return ACCEPT_BYTES;
	case TWAMP_CLIENT_ACK:
		return COMMAND_BYTES;
	case TWAMP_CLIENT_RUNNING:
	case TWAMP_CLIENT_FAILED:
		break;
	}
	return 0;
}

static void answer_message(struct twamp_client *client, struct twamp_message *answer)
{
	switch (client->state) {
	case TWAMP_CLIENT_GREETING:
		answer_greeting(client, answer);
		break;
	case TWAMP_CLIENT_START:
		if (client->input[SERVER_START_ACCEPT] == TWAMP_ACCEPTED)
			ask_session(client, answer);
		else
			fail(client, client->input[SERVER_START_ACCEPT], "refuses the connection");
		break;
	case TWAMP_CLIENT_ACCEPT:
		answer_accept(client, answer);
		break;
	case TWAMP_CLIENT_ACK:
		if (client->input[0] == TWAMP_ACCEPTED)
			client->state = TWAMP_CLIENT_RUNNING;
		else
			fail(client, client->input[0], "refuses to start the sessions");
		break;
	case TWAMP_CLIENT_RUNNING:
	case TWAMP_CLIENT_FAILED:
		break;
	}
}

size_t twamp_client_take(struct twamp_client *client, const uint8_t *bytes, size_t count, struct twamp_message *answer)
{
	size_t wanted = message_bytes(client), taken;

	*answer = (struct twamp_message){0};
	taken = twamp_fill(client->input, &client->filled, wanted, bytes, count);
	if (wanted == 0 || client->filled < wanted)
		return taken;
	client->filled = 0;
	answer_message(client, answer);
	return taken;
}

void twamp_client_stop(const struct twamp_client *client, struct twamp_message *stop)
{
	*stop = (struct twamp_message){.length = COMMAND_BYTES};
	stop->bytes[0] = TWAMP_STOP_SESSIONS;
	put32(stop->bytes + STOP_COUNT, client->wish->sessions);
}
