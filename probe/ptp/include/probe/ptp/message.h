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
#include <base/stamp.h>

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

/*
 * Computes delays from the messages and stamps of a PTP exchange with another clock. Pure.
 *
 * Peer delay (IEEE 1588-2008 section 11.4): t1 our request leaves, t2 it arrives at the peer, t3 the peer's response
 * leaves, t4 the response arrives here. Delay request-response (section 11.3): t1 a Sync leaves the master, t2 it
 * arrives here, t3 our request leaves, t4 it arrives at the master. Both have one event message in each direction. The
 * round trip is
 *
 *   (arrival of theirs here - departure of ours) - (departure of theirs - arrival of ours there) - corrections
 *
 * Half of it is the one-way delay, if both directions take equally long. Corrections are the times that the messages
 * spent in transparent clocks. A two-step clock sends its stamps in follow-ups, a one-step clock in its Syncs. A
 * one-step clock answers a peer delay request without stamps and with t3 - t2 in the correction, so only the round trip
 * is known.
 */

enum ptp_mechanism { PTP_PEER_DELAY, PTP_E2E };

/* Source of the stamps of event messages on our side: software (the kernel or this program) or the NIC. */
enum ptp_stamps { PTP_SOFTWARE, PTP_HARDWARE, PTP_STAMPS };

/* Time when an event message left or arrived here, by each source of stamps; missing stamps are invalid. */
struct ptp_moment {
	struct stamp by[PTP_STAMPS];
};

/* The known data of a Sync or response that arrived from the other clock. */
struct ptp_half {
	struct ptp_moment arrived;
	struct stamp left; /* when the message left the other clock, CLOCK_PEER */
	struct ns correction;
	uint16_t sequence;
	bool waits; /* a follow-up is announced and has not arrived yet */
	bool one_step, known;
};

/* The caller zeroes the struct at the beginning and sets `mechanism` and `sequence`. */
struct ptp_exchange {
	enum ptp_mechanism mechanism;
	uint16_t sequence;      /* of our request */
	struct ptp_moment left; /* when our request left */
	struct stamp asked;     /* when our request arrived at the other clock, CLOCK_PEER */
	struct ns correction;   /* correction of our request */
	struct ptp_half newest; /* the Sync or response that arrived last */
	struct ptp_half answer; /* the newest Sync or response whose data are complete */
};

struct ptp_sample {
	struct ns round_trip;
	struct ns out;    /* time from us to the other clock, by the stamps of both clocks */
	struct ns back;   /* time from the other clock to us, likewise */
	struct ns offset; /* our clock minus the other, if both directions take equally long */
	bool one_step;    /* the other clock is a one-step clock */
	bool delay_only;  /* only the round trip is known; out, back and offset are not set */
};

/*
 * Processes a message of the other clock: a Sync, a follow-up or an answer to us. `arrived` is used for event messages
 * only.
 */
void ptp_exchange_take(struct ptp_exchange *exchange, const struct ptp_message *message,
		       const struct ptp_moment *arrived);
/* True if all stamps of the other clock have arrived. */
bool ptp_exchange_is_whole(const struct ptp_exchange *exchange);
/*
 * Returns false if the exchange is incomplete, or if one of our stamps of this kind is missing. Sums wrap around modulo
 * 2^64, because received stamps may have any value.
 */
bool ptp_exchange_sample(const struct ptp_exchange *exchange, enum ptp_stamps stamps, struct ptp_sample *sample);

#endif
