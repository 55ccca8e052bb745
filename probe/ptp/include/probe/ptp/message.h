/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the Precision Time Protocol, IEEE 1588-2008 clause 13 (PTPv2), limited to the fields that delay
 * measurements need. Pure: bytes in, values out.
 */
#ifndef PTP_MESSAGE_H
#define PTP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/ns.h>

enum ptp_type {
	PTP_SYNC = 0,
	PTP_DELAY_REQUEST = 1,
	PTP_PEER_REQUEST = 2,
	PTP_PEER_RESPONSE = 3,
	PTP_FOLLOW_UP = 8,
	PTP_DELAY_RESPONSE = 9,
	PTP_PEER_FOLLOW_UP = 10,
};

enum { PTP_CLOCK_BYTES = 8, PTP_MESSAGE_BYTES = 54, PTP_IDENTITY_TEXT_BYTES = 32 };

/* IEEE 1588-2008 annexes D to F: UDP ports of event messages and of all other messages. */
enum { PTP_ETHERTYPE = 0x88f7, PTP_EVENT_PORT = 319, PTP_GENERAL_PORT = 320, PTP_MAC_BYTES = 6 };

struct ptp_identity {
	uint8_t clock[PTP_CLOCK_BYTES];
	uint16_t port;
};

struct ptp_message {
	enum ptp_type type;
	uint8_t domain;
	bool two_step; /* the time stamp of this message is in a follow-up */
	uint16_t sequence;
	struct ns correction;     /* time spent in transparent clocks, in whole nanoseconds */
	struct ptp_identity from; /* the sender */
	struct ns stamp;          /* since 1970 (TAI, or whatever the sender's clock counts) */
	struct ptp_identity to;   /* of a response: the clock that sent the request */
};

/*
 * Returns 0, or -EBADMSG if the message is cut short, if its version or type is not supported, or if its nanoseconds
 * are invalid (10^9 or more).
 */
int ptp_read(const uint8_t *bytes, size_t length, struct ptp_message *message);
/* Writes a request without a stamp. Returns its length, at most PTP_MESSAGE_BYTES. */
size_t ptp_write_request(const struct ptp_message *message, uint8_t *out);

const uint8_t *ptp_group_mac(bool peer_delay); /* [PTP_MAC_BYTES] multicast MAC address, annex F */
bool ptp_same_identity(const struct ptp_identity *a, const struct ptp_identity *b);
/* Returns our identity: the MAC as EUI-64, and a port number that no daemon on the same interface uses. */
struct ptp_identity ptp_identity_of_mac(const uint8_t *mac);
/* Prints an identity in ptp4l's form, "001b19.fffe.010203-1". */
void ptp_identity_print(const struct ptp_identity *identity, char text[PTP_IDENTITY_TEXT_BYTES]);

#endif
