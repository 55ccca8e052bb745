/* SPDX-License-Identifier: BSD-3-Clause */
/* Offsets of TWAMP-Control's messages, for both halves. */
#ifndef RTT_TWAMP_PRIV_H
#define RTT_TWAMP_PRIV_H

#include <probe/rtt/twamp.h>

#include "rtt_priv.h"

enum { TWAMP_OPEN = 1 }; /* the mode: unauthenticated */

/* Command numbers: RFC 4656 section 3.4, RFC 5357 section 3.4. */
enum { TWAMP_START_SESSIONS = 2, TWAMP_STOP_SESSIONS = 3, TWAMP_REQUEST_SESSION = 5 };

/* Lengths. */
enum {
	SET_UP_BYTES = 164,
	SERVER_START_BYTES = 48,
	REQUEST_BYTES = 112,
	ACCEPT_BYTES = 48,
	COMMAND_BYTES = 32, /* Start-Sessions, Start-Ack, Stop-Sessions */
};

/* Server Greeting. */
enum { GREETING_MODES = 12, GREETING_CHALLENGE = 16, GREETING_SALT = 32, GREETING_COUNT = 48 };
/* Server-Start. */
enum { SERVER_START_ACCEPT = 15, SERVER_START_TIME = 32 };
/* Request-TW-Session. */
enum {
	REQUEST_IP_VERSION = 1,
	REQUEST_CONF = 2,  /* Conf-Sender, Conf-Receiver */
	REQUEST_SLOTS = 4, /* number of schedule slots, number of packets */
	REQUEST_SENDER_PORT = 12,
	REQUEST_RECEIVER_PORT = 14,
	REQUEST_SENDER = 16,
	REQUEST_RECEIVER = 32,
	REQUEST_PADDING = 64,
	REQUEST_TIMEOUT = 76,
	REQUEST_TYPE_P = 84,
};
/* Accept-Session. */
enum { ACCEPT_PORT = 2, ACCEPT_SID = 4 };
/* Stop-Sessions. */
enum { STOP_COUNT = 4 };

/* Adds received bytes to `input` up to its `wanted` bytes. Returns the number taken. */
static inline size_t twamp_fill(uint8_t *input, size_t *filled, size_t wanted, const uint8_t *bytes, size_t count)
{
	size_t taken = wanted - *filled < count ? wanted - *filled : count;

	if (taken)
		memcpy(input + *filled, bytes, taken);
	*filled += taken;
	return taken;
}

#endif
