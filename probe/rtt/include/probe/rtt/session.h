/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sender's state of one STAMP session: which probes are outstanding, which answers are fresh, late, duplicate or
 * out of order, and in which direction missing packets were lost. All stamps of a session are of one clock. Pure;
 * constant time and no allocation after creation. One thread.
 */
#ifndef RTT_SESSION_H
#define RTT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/ns.h>
#include <base/stamp.h>

struct session;

enum session_answer {
	SESSION_FRESH,     /* the first answer, in time */
	SESSION_LATE,      /* the first answer, but the probe was given up before: the probe counts as lost */
	SESSION_DUPLICATE, /* the probe was answered before */
	SESSION_UNKNOWN,   /* the sequence number was not sent, or is too old to be remembered */
};

/*
 * fresh, late, duplicates and unknown: numbers of answers by enum session_answer. reordered: fresh and late answers
 * that arrived after the answer to a newer probe.
 */
struct session_counters {
	uint64_t sent, fresh, lost, late, duplicates, reordered, unknown;
};

/*
 * window: maximum number of outstanding probes, 1..2^20, rounded up to a power of two. Returns NULL if out of memory or
 * out of range.
 */
struct session *session_create(uint32_t window);
void session_destroy(struct session *session); /* NULL is legal */

/*
 * Takes the next sequence number (from 0) for a probe that leaves at `sent_at`. A probe that is still outstanding when
 * `window` more were sent counts as lost.
 */
uint32_t session_send(struct session *session, struct stamp sent_at);
/*
 * Corrects the stamp of a sent probe and clears the mark of session_disturb(). departed: the new stamp was taken when
 * the probe left the host, not before. Such a stamp is ignored if it is over 1 ms earlier than the old one, because
 * then the wall clock was set.
 */
void session_restamp(struct session *session, uint32_t sequence, struct stamp sent_at, bool departed);
/*
 * The timestamp in a probe is a number that somebody who does not see the probe cannot guess. session_carries() notes
 * it; session_echoes() returns false for an answer that does not echo the timestamp of the probe that it answers.
 */
void session_carries(struct session *session, uint32_t sequence, struct ns sent_at);
bool session_echoes(struct session *session, uint32_t sequence, struct ns echoed);
/*
 * Marks a probe whose stamp may be wrong because the sender stalled while sending it. session_receive() reports the
 * mark with the probe's answer.
 */
void session_disturb(struct session *session, uint32_t sequence);
/*
 * Marks a probe that left late because the sender had stalled. session_receive() reports the mark with the probe's
 * answer, even if the stamp is exact.
 */
void session_left_late(struct session *session, uint32_t sequence);
/* The newest probe was not sent: forgets it and reuses its number. */
void session_unsend(struct session *session);

struct session_probe {
	struct stamp sent_at;
	bool disturbed, departed;
};

/* Takes an answer to `sequence`. *probe is set if the result is SESSION_FRESH or SESSION_LATE. */
enum session_answer session_receive(struct session *session, uint32_t sequence, uint32_t reflector_sequence,
				    struct session_probe *probe);

/*
 * session_prefetch() prefetches the session itself. Once it is in the cache, session_prefetch_slot() prefetches the
 * slot of a probe that was answered, and session_prefetch_next() the slot of the next probe to send.
 */
void session_prefetch(const struct session *session);
void session_prefetch_slot(const struct session *session, uint32_t sequence);
void session_prefetch_next(const struct session *session);

/* Counts the outstanding probes sent before `deadline` as lost (gives them up). Returns their number. */
uint32_t session_expire(struct session *session, struct stamp deadline);
/*
 * Call it after session_expire(). Sets *sent_at to the time of the oldest outstanding probe. Returns false if there is
 * none.
 */
bool session_oldest(struct session *session, struct stamp *sent_at);

/* Discards outstanding probes as if they had not been sent: for a run that ends without waiting for answers. */
void session_abandon(struct session *session);

/* Returns the number of probes that are neither answered nor given up. */
uint32_t session_outstanding(const struct session *session);
size_t session_bytes(const struct session *session); /* memory in use */
struct session_counters session_counters(const struct session *session);

/*
 * Records that the reflector has its own sequence numbers (RFC 8762 section 4.3.1, stateful mode), as observed in
 * another session with it.
 */
void session_set_stateful(struct session *session);

/*
 * Sets *lost to the number of lost probes that never reached the reflector, according to the reflector's own counter in
 * its newest answer. The other lost probes were lost on the way back, or were sent after the newest answered probe. A
 * probe that the network duplicates on the way to the reflector counts twice there. This is detected if both answers
 * arrive; if one of them is lost, *lost is too small by one. If the reflector restarts its count, because it was
 * restarted or evicted the session, the probes lost between its last answer before and its first one after are not in
 * *lost.
 *
 * Returns false, with *lost unchanged, if the counter cannot be used:
 *   - there is no answer yet
 *   - the reflector copies the request's number (stateless mode)
 *   - the reflector counts requests of other senders in the same session
 *
 * The session must be new to the reflector and have fewer than 2^32 probes.
 */
bool session_lost_forward(const struct session *session, uint64_t *lost);

/*
 * The arithmetic of a two-way exchange, after RFC 5905 section 8 and RFC 2681. The sender stamps t1 (request sent) and
 * t4 (answer received) by its clock, the reflector t2 (request received) and t3 (answer sent) by its own. Pure: no I/O,
 * no clock.
 */

struct exchange {
	struct stamp t1, t2, t3, t4;
};

enum exchange_outcome {
	EXCHANGE_MEASURED,
	EXCHANGE_INCOMPARABLE, /* a stamp is missing, t1 and t4 are of different clocks, or t2 and t3 are */
	EXCHANGE_IMPOSSIBLE, /* by its stamps, the reflector answered before the request arrived, or held it longer than
				the whole exchange took */
};

struct exchange_times {
	struct ns rtt;       /* on the wire: (t4 - t1) - (t3 - t2). The two clocks need not agree */
	struct ns residence; /* time spent in the reflector: t3 - t2 */
};

/* Sets *times only if the result is EXCHANGE_MEASURED. */
static inline enum exchange_outcome exchange_measure(const struct exchange *exchange, struct exchange_times *times)
{
	struct ns gross, residence;

	if (!stamp_difference(exchange->t4, exchange->t1, &gross) ||
	    !stamp_difference(exchange->t3, exchange->t2, &residence))
		return EXCHANGE_INCOMPARABLE;
	if (residence.v < 0 || gross.v < residence.v)
		return EXCHANGE_IMPOSSIBLE;
	*times = (struct exchange_times){ns_sub(gross, residence), residence};
	return EXCHANGE_MEASURED;
}

/*
 * Returns the reflector's clock minus the sender's, if both directions take equally long: ((t2 - t1) + (t3 - t4)) / 2,
 * rounded toward zero. The exchange must have been measured. The error is at most half of the round trip.
 */
static inline struct ns exchange_offset(const struct exchange *exchange)
{
	int64_t out = exchange->t2.ns - exchange->t1.ns, back = exchange->t3.ns - exchange->t4.ns;

	return (struct ns){out / 2 + back / 2 + (out % 2 + back % 2) / 2};
}

#endif
