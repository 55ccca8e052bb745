/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/rtt/session.h>

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include <base/spsc.h>

static const struct ns departure_slack = {NS_PER_MS}; /* a departure stamp may be earlier than the stamp before it by
							 this; if the difference is larger, the clock was set */

enum slot_state { SLOT_OUT, SLOT_ANSWERED, SLOT_GIVEN_UP, SLOT_ANSWERED_LATE, SLOT_UNSENT };

struct slot {
	int64_t sent_ns;
	/*
	 * Lowest and highest sequence number that the reflector gave to this probe's answers. Before the first answer,
	 * reflector_highest is the highest number that was known when the probe left; the answer has a higher number,
	 * unless the reflector restarted its count.
	 */
	uint32_t reflector_lowest, reflector_highest;
	uint32_t carried; /* low bits of the timestamp in the probe, ns; 0 = not known */
	uint8_t clock;    /* enum clock */
	uint8_t state;    /* enum slot_state */
	bool stamped : 1, disturbed : 1, late : 1, departed : 1;
	bool reflector_known : 1; /* reflector_highest was known when the probe left */
};

static_assert(sizeof(struct slot) == 24, "the slots of many sessions do not fit into a cache");

/*
 * slots[]: the newest `window` probes. `oldest`: number of the first probe that session_expire() must check. Sequence
 * numbers have 64 bits here and wrap on the wire.
 */
struct session {
	uint64_t next, oldest;
	uint64_t highest_answered;
	uint32_t mask;
	uint32_t outstanding;
	uint32_t reflector_highest; /* highest number that the reflector gave to an answer */
	bool has_answer;
	bool stateful; /* the reflector numbers its answers itself */
	struct session_counters counters;
	/*
	 * Since the reflector last restarted its count: the losses before that, and the answer with which the new count
	 * was noticed.
	 */
	uint64_t lost_before, base_sent;
	uint32_t base_reflected;
	uint64_t doubled_requests; /* probes that were duplicated on the way there, so that the reflector counted each
				      as two requests */
	struct slot slots[];
};

/* An answered probe touches only the first cache line, and the one of its slot. */
static_assert(offsetof(struct session, counters.lost) <= CACHE_LINE, "fields of an answered probe");

struct session *session_create(uint32_t window)
{
	struct session *session;
	uint32_t size = 1;

	if (window == 0 || window > UINT32_C(1) << 20)
		return NULL;
	while (size < window)
		size *= 2;
	session = cache_aligned_zeros(sizeof *session + size * sizeof session->slots[0]);
	if (session)
		session->mask = size - 1;
	return session;
}

void session_destroy(struct session *session)
{
	free(session);
}

static struct slot *slot_of(struct session *session, uint64_t sequence)
{
	return &session->slots[sequence & session->mask];
}

static struct stamp stamp_of(const struct slot *slot)
{
	return (struct stamp){slot->sent_ns, (enum clock)slot->clock, slot->stamped};
}

void session_prefetch(const struct session *session)
{
	__builtin_prefetch(session, 1);
}

void session_prefetch_slot(const struct session *session, uint32_t sequence)
{
	__builtin_prefetch(&session->slots[sequence & session->mask], 1);
}

void session_prefetch_next(const struct session *session)
{
	session_prefetch_slot(session, (uint32_t)session->next);
}

/*
 * Prefetches the cache line of the slots that are used next, because the slots of many sessions do not fit into a
 * cache. Measured: a third more probes per second.
 */
static void prefetch_ahead(struct session *session, uint64_t sequence)
{
	__builtin_prefetch(slot_of(session, sequence + 64 / sizeof(struct slot) + 1), 1);
}

static bool give_up(struct session *session, uint64_t sequence)
{
	struct slot *slot = slot_of(session, sequence);

	if (slot->state != SLOT_OUT)
		return false;
	slot->state = SLOT_GIVEN_UP;
	session->outstanding--;
	session->counters.lost++;
	return true;
}

uint32_t session_send(struct session *session, struct stamp sent_at)
{
	uint64_t sequence = session->next;

	if (sequence > session->mask && session->oldest <= sequence - session->mask - 1) {
		give_up(session, session->oldest);
		session->oldest++;
	}
	*slot_of(session, sequence) = (struct slot){
		.sent_ns = sent_at.ns,
		.clock = (uint8_t)sent_at.clock,
		.stamped = sent_at.valid,
		.state = SLOT_OUT,
		.reflector_highest = session->reflector_highest,
		.reflector_known = session->has_answer,
	};
	session->next++;
	session->outstanding++;
	session->counters.sent++;
	prefetch_ahead(session, sequence);
	return (uint32_t)sequence;
}

/*
 * Extends a 32-bit sequence number to 64 bits: to the newest number sent that ends in these bits. Returns false if
 * there is none, or if its slot was reused.
 */
static bool widen(const struct session *session, uint32_t sequence, uint64_t *wide)
{
	uint64_t newest = session->next - 1;
	uint64_t back = (uint32_t)((uint32_t)newest - sequence);

	if (!session->next || back > newest || back > session->mask)
		return false;
	*wide = newest - back;
	return true;
}

/* Returns the slot of a number that was sent, or NULL if the slot was reused. */
static struct slot *sent_slot(struct session *session, uint32_t sequence)
{
	uint64_t wide;

	return widen(session, sequence, &wide) ? slot_of(session, wide) : NULL;
}

void session_restamp(struct session *session, uint32_t sequence, struct stamp sent_at, bool departed)
{
	struct slot *slot = sent_slot(session, sequence);
	struct ns later;

	if (!slot || (departed && stamp_difference(sent_at, stamp_of(slot), &later) && later.v < -departure_slack.v))
		return;
	slot->sent_ns = sent_at.ns;
	slot->clock = (uint8_t)sent_at.clock;
	slot->stamped = sent_at.valid;
	slot->disturbed = false;
	slot->departed = departed;
}

void session_carries(struct session *session, uint32_t sequence, struct ns sent_at)
{
	struct slot *slot = sent_slot(session, sequence);

	if (slot)
		slot->carried = (uint32_t)sent_at.v;
}

bool session_echoes(struct session *session, uint32_t sequence, struct ns echoed)
{
	const struct slot *slot = sent_slot(session, sequence);

	/* A time in NTP's format may differ by a nanosecond from the one that was written. */
	return !slot || !slot->carried || slot->state == SLOT_UNSENT ||
	       (uint32_t)((uint32_t)echoed.v - slot->carried + 1) <= 2;
}

void session_disturb(struct session *session, uint32_t sequence)
{
	struct slot *slot = sent_slot(session, sequence);

	if (slot)
		slot->disturbed = true;
}

void session_left_late(struct session *session, uint32_t sequence)
{
	struct slot *slot = sent_slot(session, sequence);

	if (slot)
		slot->late = true;
}

bool session_oldest(struct session *session, struct stamp *sent_at)
{
	if (session->oldest >= session->next)
		return false;
	*sent_at = stamp_of(slot_of(session, session->oldest));
	return true;
}

void session_set_stateful(struct session *session)
{
	session->stateful = true;
}

void session_unsend(struct session *session)
{
	if (!session->next || slot_of(session, session->next - 1)->state != SLOT_OUT)
		return;
	session->next--;
	slot_of(session, session->next)->state = SLOT_UNSENT;
	session->outstanding--;
	session->counters.sent--;
}

/* Counts an answer as reordered if a newer probe was answered before. */
static void follow_order(struct session *session, uint64_t sequence)
{
	if (session->has_answer && sequence < session->highest_answered)
		session->counters.reordered++;
	else
		session->highest_answered = sequence;
}

/* A different reflector number for an answered probe means that the network duplicated the probe on the way there. */
static void note_copy(struct session *session, struct slot *slot, uint32_t reflector_sequence)
{
	if ((int32_t)(reflector_sequence - slot->reflector_highest) > 0)
		slot->reflector_highest = reflector_sequence;
	else if ((int32_t)(reflector_sequence - slot->reflector_lowest) < 0)
		slot->reflector_lowest = reflector_sequence;
	else
		return;
	session->doubled_requests++;
}

/* Keeps the reflector's highest number. Its numbers may arrive out of order, and wrap. */
static void follow_reflector(struct session *session, uint32_t reflector_sequence)
{
	if (!session->has_answer || (int32_t)(reflector_sequence - session->reflector_highest) > 0)
		session->reflector_highest = reflector_sequence;
	session->has_answer = true;
}

/*
 * The reflector restarted its count: keeps the losses until its last answer of the old count, and counts from this
 * answer on. Which way the probes between the two were lost is not known: they do not count as lost on the way there.
 */
static void count_again(struct session *session, uint64_t sequence, uint32_t reflector_sequence)
{
	uint64_t lost;

	if (session_lost_forward(session, &lost))
		session->lost_before = lost;
	session->base_sent = sequence + session->doubled_requests;
	session->base_reflected = session->reflector_highest = reflector_sequence;
}

/*
 * A request sent after an answer was received must get a higher number from the reflector than that answer. If not, the
 * reflector restarted its count.
 */
static void check_counting(struct session *session, const struct slot *slot, uint64_t sequence,
			   uint32_t reflector_sequence)
{
	if (reflector_sequence != (uint32_t)sequence)
		session->stateful = true;
	if (slot->reflector_known && (int32_t)(reflector_sequence - slot->reflector_highest) <= 0)
		count_again(session, sequence, reflector_sequence);
}

enum session_answer session_receive(struct session *session, uint32_t sequence, uint32_t reflector_sequence,
				    struct session_probe *probe)
{
	struct slot *slot;
	uint64_t wide;

	if (!widen(session, sequence, &wide)) {
		session->counters.unknown++;
		return SESSION_UNKNOWN;
	}
	slot = slot_of(session, wide);
	if (slot->state == SLOT_UNSENT) { /* the number was taken back by session_unsend(); the older number that used
					     the slot is forgotten */
		session->counters.duplicates++;
		return SESSION_DUPLICATE;
	}
	if (slot->state == SLOT_ANSWERED || slot->state == SLOT_ANSWERED_LATE) {
		session->counters.duplicates++;
		note_copy(session, slot, reflector_sequence);
		follow_reflector(session, reflector_sequence);
		return SESSION_DUPLICATE;
	}
	check_counting(session, slot, wide, reflector_sequence);
	follow_order(session, wide);
	follow_reflector(session, reflector_sequence);
	slot->reflector_lowest = slot->reflector_highest = reflector_sequence;
	*probe = (struct session_probe){stamp_of(slot), slot->disturbed || slot->late, slot->departed};
	if (slot->state == SLOT_GIVEN_UP) {
		slot->state = SLOT_ANSWERED_LATE;
		session->counters.late++;
		return SESSION_LATE;
	}
	slot->state = SLOT_ANSWERED;
	session->outstanding--;
	session->counters.fresh++;
	return SESSION_FRESH;
}

uint32_t session_expire(struct session *session, struct stamp deadline)
{
	uint32_t given_up = 0;

	for (; session->oldest < session->next; session->oldest++) {
		struct slot *slot = slot_of(session, session->oldest);
		struct ns left = {0};

		if (slot->state == SLOT_OUT && (!stamp_difference(stamp_of(slot), deadline, &left) || left.v >= 0))
			break;
		given_up += give_up(session, session->oldest);
	}
	prefetch_ahead(session, session->oldest);
	return given_up;
}

void session_abandon(struct session *session)
{
	for (; session->oldest < session->next; session->oldest++) {
		if (!give_up(session, session->oldest))
			continue;
		session->counters.lost--;
		session->counters.sent--;
	}
}

uint32_t session_outstanding(const struct session *session)
{
	return session->outstanding;
}

struct session_counters session_counters(const struct session *session)
{
	return session->counters;
}

bool session_lost_forward(const struct session *session, uint64_t *lost)
{
	uint64_t sent, reflected;

	if (!session->has_answer || !session->stateful)
		return false;
	/* Both sides count from the same probe: the difference is the number that never reached the reflector. */
	sent = session->highest_answered + session->doubled_requests - session->base_sent;
	reflected = session->reflector_highest - session->base_reflected;
	if (sent < reflected)
		return false;
	sent += session->lost_before;
	*lost = sent - reflected < session->counters.lost ? sent - reflected : session->counters.lost;
	return true;
}

size_t session_bytes(const struct session *session)
{
	return sizeof *session + (session->mask + (size_t)1) * sizeof session->slots[0];
}
