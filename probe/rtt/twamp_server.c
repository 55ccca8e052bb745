/* SPDX-License-Identifier: BSD-3-Clause */
#include "twamp_priv.h"

static const struct ns servwait = {900 * NS_PER_S}; /* without a command: SERVWAIT, RFC 5357 section 3.1 */
static const struct ns patience = {30 * NS_PER_S};  /* for the rest of a message, and for Set-Up-Response */

/* Iterations of the key derivation, which open mode does not use: RFC 4656 section 3.1 wants a power of 2 from 1024. */
enum { GREETING_ITERATIONS = 1024 };
/* A TWAMP-Test packet is at most this much longer than its first 14 bytes. */
enum { PADDING_MAXIMUM = 65535 - 20 - 8 - STAMP_REQUEST_MINIMUM };

void twamp_server_begin(struct twamp_server *server, const struct twamp_terms *terms, bool welcome,
			const uint8_t *random, struct ns now, struct twamp_message *greeting)
{
	*server = (struct twamp_server){
		.terms = terms,
		.state = welcome ? TWAMP_SERVER_SET_UP : TWAMP_SERVER_OVER,
		.deadline = ns_add(now, patience),
		.nonce = get32(random + 32),
	};
	*greeting = (struct twamp_message){.length = TWAMP_GREETING_BYTES};
	put32(greeting->bytes + GREETING_MODES, welcome ? TWAMP_OPEN : 0);
	memcpy(greeting->bytes + GREETING_CHALLENGE, random, 32); /* and the salt */
	put32(greeting->bytes + GREETING_COUNT, GREETING_ITERATIONS);
}

static void answer_set_up(struct twamp_server *server, struct twamp_message *answer)
{
	uint32_t mode = get32(server->input);

	server->state = mode == TWAMP_OPEN ? TWAMP_SERVER_REQUEST : TWAMP_SERVER_OVER;
	if (mode == 0) /* the client does not want any of our modes */
		return;
	answer->length = SERVER_START_BYTES;
	answer->bytes[SERVER_START_ACCEPT] = mode == TWAMP_OPEN ? TWAMP_ACCEPTED : TWAMP_NOT_SUPPORTED;
	stamp_put_time(answer->bytes + SERVER_START_TIME, server->terms->started_at, STAMP_NTP);
}

static ip_address read_address(const uint8_t *bytes, size_t length)
{
	ip_address address = 0;

	for (size_t i = 0; i < length; i++)
		address = address << 8 | bytes[i];
	return address;
}

/* RFC 5357 section 3.5. Addresses of zeros are those of the connection. */
static enum twamp_accept judge_request(const struct twamp_server *server)
{
	const struct twamp_terms *terms = server->terms;
	const uint8_t *request = server->input;
	bool four = address_is_ipv4(terms->address);
	ip_address sender = read_address(request + REQUEST_SENDER, four ? 4 : 16),
		   receiver = read_address(request + REQUEST_RECEIVER, four ? 4 : 16);

	if ((request[REQUEST_IP_VERSION] & 0xf) != (four ? 4 : 6) || get16(request + REQUEST_CONF) ||
	    get32(request + REQUEST_SLOTS) || get32(request + REQUEST_SLOTS + 4) ||
	    get16(request + REQUEST_SENDER_PORT) == 0 || (receiver && receiver != terms->address) ||
	    (sender && terms->allow_count && !reflector_is_listed(terms->allow, terms->allow_count, sender)))
		return TWAMP_NOT_SUPPORTED;
	/* A Type-P descriptor other than a DSCP. */
	if (get32(request + REQUEST_TYPE_P) & ~(UINT32_C(0x3f) << 24))
		return TWAMP_NOT_SUPPORTED;
	if (get32(request + REQUEST_PADDING) > PADDING_MAXIMUM)
		return TWAMP_PERMANENT_LIMIT;
	return server->sessions < TWAMP_SESSIONS_MAXIMUM ? TWAMP_ACCEPTED : TWAMP_TEMPORARY_LIMIT;
}

static void answer_request(struct twamp_server *server, struct ns wall, struct twamp_message *answer)
{
	enum twamp_accept accept = judge_request(server);
	uint8_t *sid = answer->bytes + ACCEPT_SID;

	answer->length = ACCEPT_BYTES;
	answer->bytes[0] = (uint8_t)accept;
	if (accept != TWAMP_ACCEPTED) {
		server->refused++;
		return;
	}
	server->accepted++;
	server->sessions++;
	put16(answer->bytes + ACCEPT_PORT, server->terms->udp_port);
	/* RFC 4656 section 3.5: our address, the time, and a number that makes the identifier unique. */
	put32(sid, (uint32_t)server->terms->address);
	stamp_put_time(sid + 4, wall, STAMP_NTP);
	put32(sid + 12, server->nonce++);
}

static void answer_start(struct twamp_server *server, struct twamp_message *answer)
{
	bool any = server->sessions > 0;

	answer->length = COMMAND_BYTES;
	answer->bytes[0] = any ? TWAMP_ACCEPTED : TWAMP_FAILURE;
	if (any)
		server->state = TWAMP_SERVER_RUNNING;
}

/* The length of the message that begins in the input; commands that we do not have end at their first byte. */
static size_t message_bytes(const struct twamp_server *server)
{
	if (server->state == TWAMP_SERVER_SET_UP)
		return SET_UP_BYTES;
	if (server->filled == 0)
		return 1;
	switch (server->input[0]) {
	case TWAMP_REQUEST_SESSION:
		return REQUEST_BYTES;
	case TWAMP_START_SESSIONS:
	case TWAMP_STOP_SESSIONS:
		return COMMAND_BYTES;
	default:
		return 1;
	}
}

static void answer_command(struct twamp_server *server, struct ns wall, struct twamp_message *answer)
{
	bool running = server->state == TWAMP_SERVER_RUNNING;
	uint8_t command = server->input[0];

	if (command == TWAMP_STOP_SESSIONS && running && get32(server->input + STOP_COUNT) == server->sessions) {
		server->state = TWAMP_SERVER_REQUEST;
		server->sessions = 0;
	} else if (command == TWAMP_REQUEST_SESSION && !running) {
		answer_request(server, wall, answer);
	} else if (command == TWAMP_START_SESSIONS && !running) {
		answer_start(server, answer);
	} else { /* RFC 5357 sections 3.4 and 3.8: a command that is not expected ends the connection */
		server->state = TWAMP_SERVER_OVER;
	}
}

size_t twamp_server_take(struct twamp_server *server, const uint8_t *bytes, size_t count, struct ns now, struct ns wall,
			 struct twamp_message *answer)
{
	size_t taken = 0;

	*answer = (struct twamp_message){0};
	if (server->state == TWAMP_SERVER_OVER || count == 0)
		return 0;
	if (server->filled == 0 && server->state != TWAMP_SERVER_SET_UP)
		server->deadline = ns_add(now, patience);
	while (server->filled < message_bytes(server) && taken < count)
		taken +=
			twamp_fill(server->input, &server->filled, message_bytes(server), bytes + taken, count - taken);
	if (server->filled < message_bytes(server))
		return taken;
	if (server->state == TWAMP_SERVER_SET_UP)
		answer_set_up(server, answer);
	else
		answer_command(server, wall, answer);
	server->filled = 0;
	server->deadline = ns_add(now, servwait);
	if (server->state == TWAMP_SERVER_RUNNING)
		server->deadline.v = INT64_MAX;
	return taken;
}
