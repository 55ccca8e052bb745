/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of OpenFlow 1.3.5 (wire version 4) as needed by a controller that sets routes. Pure: bytes in, bytes out.
 * Sections are those of the OpenFlow Switch Specification 1.3.5.
 */
#ifndef LAB_OPENFLOW_MESSAGE_H
#define LAB_OPENFLOW_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OPENFLOW_VERSION = 4,
	OPENFLOW_HEADER_BYTES = 8,
	OPENFLOW_MESSAGE_BYTES = 128,    /* maximum size of the messages that these functions write */
	OPENFLOW_LENGTH_MAXIMUM = 65535, /* maximum size of any message */
};

/* 7.1 */
enum openflow_type {
	OPENFLOW_HELLO = 0,
	OPENFLOW_ERROR = 1,
	OPENFLOW_ECHO_REQUEST = 2,
	OPENFLOW_ECHO_REPLY = 3,
	OPENFLOW_FEATURES_REQUEST = 5,
	OPENFLOW_FEATURES_REPLY = 6,
	OPENFLOW_FLOW_MOD = 14,
	OPENFLOW_MULTIPART_REQUEST = 18,
	OPENFLOW_MULTIPART_REPLY = 19,
	OPENFLOW_BARRIER_REQUEST = 20,
	OPENFLOW_BARRIER_REPLY = 21,
};

struct openflow_message {
	uint8_t version, type;
	uint16_t length;
	uint32_t transaction;
	const uint8_t *body; /* length - OPENFLOW_HEADER_BYTES bytes, in the caller's buffer */
	/* only for OPENFLOW_ERROR (7.4.4) */
	uint16_t error_type, error_code;
	/* only for OPENFLOW_FEATURES_REPLY (7.3.1): id of the switch */
	uint64_t datapath;
};

/*
 * Parses the message at the start of bytes[]. Returns its length, 0 if it is incomplete, or -EBADMSG if its length is
 * invalid. The body is parsed only for OPENFLOW_ERROR and OPENFLOW_FEATURES_REPLY.
 */
int openflow_parse(const uint8_t *bytes, size_t count, struct openflow_message *message);

/* Writes the error of an OPENFLOW_ERROR as text, such as "flow mod failed: table full", to text[96]. */
void openflow_error_text(const struct openflow_message *message, char *text);

/* Writes a message without a body to out[]. Returns its length. */
size_t openflow_write(enum openflow_type type, uint32_t transaction, uint8_t out[OPENFLOW_MESSAGE_BYTES]);
/* Writes the answer to an echo request to out[], with only the first bytes of a long request. Returns its length. */
size_t openflow_write_echo_reply(const struct openflow_message *request, uint8_t out[OPENFLOW_MESSAGE_BYTES]);

/*
 * A flow of a switch: the switch sends the IPv4 packets from `source` to `destination` out of a port. If `arp` is true,
 * the flow is for the ARP packets between these addresses instead (7.3.4.1, 7.2.3, 7.2.5).
 */
struct openflow_flow {
	uint64_t cookie;
	uint16_t priority;
	bool arp;
	uint32_t source, destination; /* addresses, host byte order */
	uint32_t port;
};

/* Writes a message that adds the flow, or replaces the one with the same match and priority. Returns the length. */
size_t openflow_write_add(const struct openflow_flow *flow, uint32_t transaction, uint8_t out[OPENFLOW_MESSAGE_BYTES]);
/*
 * Writes a message that deletes, in all tables, the flows whose cookie equals `cookie` in the bits that are set in
 * `mask`. Returns the length.
 */
size_t openflow_write_delete(uint64_t cookie, uint64_t mask, uint32_t transaction, uint8_t out[OPENFLOW_MESSAGE_BYTES]);

/* Writes a request for all flows of the switch (7.3.5.2). Returns the length. */
size_t openflow_write_flows_request(uint32_t transaction, uint8_t out[OPENFLOW_MESSAGE_BYTES]);
/*
 * Reads the next flow of an OPENFLOW_MULTIPART_REPLY that has a match of the kind above and is in table 0; skips
 * others. *offset: position in the body, 0 at first. flow->port is 0 if the flow does anything but send to one port.
 * Returns 1, 0 at the end of the message, or -EBADMSG.
 */
int openflow_next_flow(const struct openflow_message *message, size_t *offset, struct openflow_flow *flow);

#endif
