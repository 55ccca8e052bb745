/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending side of one STAMP session: which probes are out, which answers are new, late, doubled or out of order,
 * and on which way the missing ones were lost. Time is in ticks of whatever counter the caller stamps with. Pure;
 * constant time and no allocation after creation. One thread.
 */
#ifndef RTT_SESSION_H
#define RTT_SESSION_H

#include <stddef.h>
#include <stdint.h>

struct session;

enum session_answer {
	SESSION_FRESH,     /* the first answer, in time */
	SESSION_LATE,      /* the first answer, but the probe had been given up: counts as lost */
	SESSION_DUPLICATE, /* answered before */
	SESSION_UNKNOWN,   /* a sequence number that was not sent, or so old that nothing is known of it */
};

struct session_counters {
	uint64_t sent, fresh, lost, late, duplicates, reordered, unknown;
};

/* window: probes that can be out at once, rounded up to a power of two, 1..2^20. NULL: out of memory or range. */
struct session *session_create(uint32_t window);
void session_destroy(struct session *session); /* NULL is legal */

/* Takes the next sequence number (from 0) for a probe leaving at `sent_ticks`. A probe still out after `window` more
 * counts as lost. */
uint32_t session_send(struct session *session, uint64_t sent_ticks);
/* Corrects the stamp of the newest probe, when the driver took it later than planned. */
void session_restamp(struct session *session, uint64_t sent_ticks);
/* The newest probe did not leave: forgets it, its number will be used again. */
void session_unsend(struct session *session);

/* An answer to `sequence`; *sent_ticks is set for SESSION_FRESH and SESSION_LATE. */
enum session_answer session_receive(struct session *session, uint32_t sequence, uint32_t reflector_sequence,
				    uint64_t *sent_ticks);

/* Gives up what was sent before `deadline_ticks`; returns how many. */
uint32_t session_expire(struct session *session, uint64_t deadline_ticks);

/* Takes back what is still out, as if it had not been sent: for the end of a run that does not wait for answers. */
void session_abandon(struct session *session);

/* Probes that are neither answered nor given up. */
uint32_t session_outstanding(const struct session *session);
struct session_counters session_counters(const struct session *session);

/*
 * Of those lost, how many never reached the reflector, as its own counter tells (RFC 8762 section 4.3.1, stateful
 * mode) up to the newest answer; the rest were lost on the way back or after that answer. A probe that the network
 * doubled on its way there counts twice at the reflector, which shows when both answers come back; where one of them is
 * lost, the figure is one too small. Needs a session that is new to the reflector and fewer than 2^32 probes.
 */
uint64_t session_lost_forward(const struct session *session);

#endif
