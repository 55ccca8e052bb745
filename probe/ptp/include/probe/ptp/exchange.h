/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arithmetic of a PTP exchange with another clock, pure: messages and stamps in, times out.
 *
 * Peer delay (IEEE 1588-2008 section 11.4): t1 our request leaves, t2 it arrives at the peer, t3 its response leaves,
 * t4 that arrives here. Delay request-response (section 11.3): t1 a Sync leaves the master, t2 it arrives here, t3 our
 * request leaves, t4 it arrives at the master. In both, one event message goes each way, and the round trip is
 *
 *   (theirs arrived here - ours left) - (theirs left there - ours arrived there) - corrections
 *
 * half of which is the one-way delay, if both directions take equally long. Corrections are times that the messages
 * spent in transparent clocks. A two-step clock sends its stamps in follow-ups, a one-step clock in its Syncs; a
 * one-step clock's answer to a peer delay request has t3 - t2 in the correction and no stamps, so that only the round
 * trip is known.
 */
#ifndef PTP_EXCHANGE_H
#define PTP_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include <base/ns.h>
#include <base/stamp.h>
#include <probe/ptp/message.h>

enum ptp_mechanism { PTP_PEER_DELAY, PTP_E2E };

/* The source of the stamps of our own two event messages: the kernel or this program, or the NIC. */
enum ptp_stamps { PTP_SOFTWARE, PTP_HARDWARE, PTP_STAMPS };

/* When an event message left or arrived here; stamps that were not taken are invalid. */
struct ptp_moment {
	struct stamp by[PTP_STAMPS];
};

/* A message of the other clock arrived: what is known of it so far. */
struct ptp_half {
	struct ptp_moment arrived;
	struct stamp left; /* CLOCK_PEER */
	struct ns correction;
	uint16_t sequence;
	bool waits; /* for its follow-up */
	bool one_step, known;
};

/* Zeroed at the beginning, except for `mechanism` and `sequence`. */
struct ptp_exchange {
	enum ptp_mechanism mechanism;
	uint16_t sequence;      /* of our request */
	struct ptp_moment left; /* when it left */
	struct stamp asked;     /* when it arrived there, CLOCK_PEER */
	struct ns correction;   /* of that way */
	struct ptp_half newest; /* Sync or response that came last */
	struct ptp_half answer; /* the last complete one */
};

struct ptp_sample {
	struct ns round_trip;
	struct ns out;    /* from us to the other clock, by both clocks */
	struct ns back;   /* from there to us */
	struct ns offset; /* our clock minus the other, if both directions take equally long */
	bool one_step;    /* the other clock's */
	bool delay_only;  /* of these times only the round trip is known */
};

/* Takes a message of the other clock: a Sync or one that answers us. `arrived` counts for event messages. */
void ptp_exchange_take(struct ptp_exchange *exchange, const struct ptp_message *message,
		       const struct ptp_moment *arrived);
/* The other clock's part is complete: nothing more is to come. */
bool ptp_exchange_is_whole(const struct ptp_exchange *exchange);
/* False: it is not whole, or a stamp of this kind is missing. Sums wrap around: stamps may be anything. */
bool ptp_exchange_sample(const struct ptp_exchange *exchange, enum ptp_stamps stamps, struct ptp_sample *sample);

#endif
