/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending side of one STAMP session: which probes are outstanding, which answers are fresh, late, duplicate or out
 * of order, and in which direction the missing ones were lost. All stamps of a session are of one clock. Pure; constant
 * time and no allocation after creation. One thread.
 */
#ifndef RTT_SESSION_H
#define RTT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/stamp.h>

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

/*
 * window: probes that can be outstanding at once, rounded up to a power of two, 1..2^20. NULL: out of memory or range.
 */
struct session *session_create(uint32_t window);
void session_destroy(struct session *session); /* NULL is legal */

/*
 * Takes the next sequence number (from 0) for a probe that leaves at `sent_at`. A probe that is still outstanding after
 * `window` more counts as lost.
 */
uint32_t session_send(struct session *session, struct stamp sent_at);
/*
 * Corrects the stamp of a probe that has left; whatever disturbed the old one is forgotten. departed: it was stamped as
 * it left the host, not before; such a stamp that is earlier than the old one is wrong and changes nothing (the wall
 * clock was set meanwhile).
 */
void session_restamp(struct session *session, uint32_t sequence, struct stamp sent_at, bool departed);
/* Marks a probe whose stamp may be wrong because the sender stalled while sending it; its answer is marked, too. */
void session_disturb(struct session *session, uint32_t sequence);
/* Marks a probe that left late because the sender had stalled: its answer is marked, however exact its stamp is. */
void session_left_late(struct session *session, uint32_t sequence);
/* The newest probe was not sent: forgets it, its number is reused. */
void session_unsend(struct session *session);

struct session_probe {
	struct stamp sent_at;
	bool disturbed, departed;
};

/* An answer to `sequence`; *probe is set for SESSION_FRESH and SESSION_LATE. */
enum session_answer session_receive(struct session *session, uint32_t sequence, uint32_t reflector_sequence,
				    struct session_probe *probe);

/* Fetch what is needed next: the session itself, and when it is there the slot of an answer or of the next probe. */
void session_prefetch(const struct session *session);
void session_prefetch_slot(const struct session *session, uint32_t sequence);
void session_prefetch_next(const struct session *session);

/* Gives up probes sent before `deadline`; returns their number. */
uint32_t session_expire(struct session *session, struct stamp deadline);
/* After session_expire(): when the oldest probe that is still outstanding was sent; false: there is none. */
bool session_oldest(struct session *session, struct stamp *sent_at);

/* Takes back outstanding probes, as if they had not been sent: for a run that ends without waiting for answers. */
void session_abandon(struct session *session);

/* Probes that are neither answered nor given up. */
uint32_t session_outstanding(const struct session *session);
size_t session_bytes(const struct session *session); /* memory in use */
struct session_counters session_counters(const struct session *session);

/*
 * States that the reflector has its own sequence numbers (RFC 8762 section 4.3.1, stateful mode), as seen in another
 * session with it.
 */
void session_set_stateful(struct session *session);

/*
 * The number of lost probes that never reached the reflector, by its own counter up to the newest answer; the rest were
 * lost on the way back or after that answer. A probe that the network duplicates on its way there counts twice at the
 * reflector, which shows when both answers come back; if one of them is lost, the figure is one too small.
 *
 * False, with *lost unchanged, if the counter cannot be used: no answer yet, a reflector that copies the request's
 * number (stateless mode), one that started to count again (restart, eviction) or that counts others' requests in the
 * same session. Needs a session that is new to the reflector and fewer than 2^32 probes.
 */
bool session_lost_forward(const struct session *session, uint64_t *lost);

#endif
