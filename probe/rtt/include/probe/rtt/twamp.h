/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TWAMP-Control in open mode (RFC 5357 section 3, with the messages of RFC 4656 section 3): the server's and the
 * client's half of one connection, as state machines. Bytes in, bytes out; no I/O, no clock, no allocation. One thread
 * per connection.
 *
 * Only the unauthenticated mode is offered and chosen, without the extensions of RFC 5618, 5938 and 6038. A session
 * grants its client nothing: the reflector answers TWAMP-Test packets by its own rules, with or without a session. The
 * server only says to which UDP port to send them. So nobody gets more packets by asking for sessions, and an answer of
 * the server is never longer than the message that it answers.
 */
#ifndef RTT_TWAMP_H
#define RTT_TWAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/address.h>
#include <base/ns.h>
#include <probe/rtt/reflector.h>

enum {
	TWAMP_CONTROL_PORT = 862,
	TWAMP_GREETING_BYTES = 64,
	TWAMP_MESSAGE_BYTES = 164, /* the longest message: Set-Up-Response */
	TWAMP_RANDOM_BYTES = 36,
	TWAMP_SESSIONS_MAXIMUM = 256, /* of one connection */
};

/* RFC 4656 section 3.3: the values of Accept fields. Values beyond the last are refusals too. */
enum twamp_accept {
	TWAMP_ACCEPTED,
	TWAMP_FAILURE,
	TWAMP_INTERNAL_ERROR,
	TWAMP_NOT_SUPPORTED,
	TWAMP_PERMANENT_LIMIT,
	TWAMP_TEMPORARY_LIMIT,
};

/* Returns what a value of an Accept field means. */
const char *twamp_accept_text(uint8_t accept);

/* A message to send; length 0 = none. */
struct twamp_message {
	size_t length;
	uint8_t bytes[TWAMP_MESSAGE_BYTES];
};

/* The server's half. */

/* What the server offers; borrowed by its connections. */
struct twamp_terms {
	ip_address address;                   /* of our reflector */
	uint16_t udp_port;                    /* of our reflector: replaces the port that a client asks for */
	const struct reflector_prefix *allow; /* as in reflector_rules: senders that get answers; none = all */
	size_t allow_count;
	struct ns started_at; /* CLOCK_REALTIME, for Server-Start */
};

enum twamp_server_state {
	TWAMP_SERVER_SET_UP,  /* waits for Set-Up-Response */
	TWAMP_SERVER_REQUEST, /* waits for Request-TW-Session or Start-Sessions */
	TWAMP_SERVER_RUNNING, /* sessions have begun: waits for Stop-Sessions */
	TWAMP_SERVER_OVER,    /* send the last message, if there is one, then close the connection */
};

struct twamp_server {
	const struct twamp_terms *terms;
	enum twamp_server_state state;
	/*
	 * CLOCK_MONOTONIC: close the connection then. INT64_MAX while sessions run: section 3.1 suspends SERVWAIT.
	 */
	struct ns deadline;
	uint32_t sessions;          /* accepted, and not stopped yet */
	uint64_t accepted, refused; /* answers to Request-TW-Session so far */
	uint32_t nonce;
	size_t filled;
	uint8_t input[TWAMP_MESSAGE_BYTES];
};

/*
 * Begins a connection with the Server Greeting. `welcome` false: the greeting offers no mode, which refuses the client,
 * and the connection is over. `random`: TWAMP_RANDOM_BYTES random bytes.
 */
void twamp_server_begin(struct twamp_server *server, const struct twamp_terms *terms, bool welcome,
			const uint8_t *random, struct ns now, struct twamp_message *greeting);

/*
 * Takes received bytes, at most to the end of a message; `now`: CLOCK_MONOTONIC, `wall`: CLOCK_REALTIME. Returns the
 * number of bytes taken; call it again for the others until the state is TWAMP_SERVER_OVER, in which it takes none.
 */
size_t twamp_server_take(struct twamp_server *server, const uint8_t *bytes, size_t count, struct ns now, struct ns wall,
			 struct twamp_message *answer);

/* The client's half: one session for each source port, then all begin. */

struct twamp_wish {
	ip_address sender, receiver;  /* ours, and that of the reflector */
	const uint16_t *sender_ports; /* one for each session; borrowed */
	uint32_t sessions;            /* 1..TWAMP_SESSIONS_MAXIMUM */
	uint16_t receiver_port;       /* the UDP port to ask for */
	uint32_t padding;             /* bytes after the first 14 of a TWAMP-Test packet */
	struct ns timeout;            /* how long the reflector goes on after Stop-Sessions */
	uint8_t dscp;
};

enum twamp_client_state {
	TWAMP_CLIENT_GREETING,
	TWAMP_CLIENT_START,
	TWAMP_CLIENT_ACCEPT,
	TWAMP_CLIENT_ACK,
	TWAMP_CLIENT_RUNNING, /* the sessions have begun */
	TWAMP_CLIENT_FAILED,
};

struct twamp_client {
	const struct twamp_wish *wish;
	enum twamp_client_state state;
	uint32_t asked;         /* sessions requested so far */
	uint16_t receiver_port; /* of all sessions, as the server chose it */
	const char *failure;    /* what the server did, if the state is TWAMP_CLIENT_FAILED */
	uint8_t accept;         /* the value that refused us; 0 = the failure is of another kind */
	size_t filled;
	uint8_t input[TWAMP_GREETING_BYTES];
};

/* Begins a connection, in which the server speaks first. Borrows the wish. */
void twamp_client_begin(struct twamp_client *client, const struct twamp_wish *wish);
/*
 * Like twamp_server_take(): takes received bytes, at most to the end of a message, none in the last two states.
 */
size_t twamp_client_take(struct twamp_client *client, const uint8_t *bytes, size_t count, struct twamp_message *answer);
/* Makes the message that ends all sessions. */
void twamp_client_stop(const struct twamp_client *client, struct twamp_message *stop);

#endif
