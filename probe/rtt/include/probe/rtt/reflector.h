/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stateful STAMP session-reflector without its I/O: counts answers per session (RFC 8762 section 4.3.1), decides whom
 * to answer, and turns a request into its answer in place. Sessions are identified by the sender's address, port and
 * SSID; their table and that of the sources are bounded: when full, the entry that was unused longest is replaced. No
 * allocation after creation. One thread.
 */
#ifndef RTT_REFLECTOR_H
#define RTT_REFLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <probe/rtt/frame.h>
#include <probe/rtt/stamp.h>

struct reflector;

struct reflector_prefix {
	ip_address address;
	int bits; /* 0..32 or 0..128 */
};

/*
 * Rules about whom to answer. Independently of them, a request is answered only if it comes from a unicast host other
 * than ourselves to our own MAC and address, and does not look like an answer: two reflectors never answer each other.
 */
struct reflector_rules {
	uint8_t mac[FRAME_MAC_BYTES]; /* ours */
	ip_address address;           /* ours */
	int prefix_bits; /* of our link, whose network and broadcast addresses (IPv4) are no hosts; 0 = unknown */
	/*
	 * Sources to answer; none = all. TWAMP requests under 44 bytes, whose answers are longer than they are, get an
	 * answer only if their source is listed. Borrowed.
	 */
	const struct reflector_prefix *allow;
	size_t allow_count;
	uint32_t source_pps, total_pps; /* answers a second to one source, and in all; 0 = no limit */
	/*
	 * Keys of authenticated sessions; if set, no other sessions are answered. NULL = no session is authenticated.
	 * Borrowed.
	 */
	const struct stamp_keys *keys;
	uint16_t member; /* of a LAG (RFC 9534): the link that this reflector answers on; 0 = none */
	bool stateless;  /* RFC 8762 section 4: answers have the request's number */
};

struct reflector_counters {
	uint64_t answered;
	uint64_t malformed;      /* not a request */
	uint64_t not_ours;       /* to another host's MAC or address, or to a group's */
	uint64_t bad_source;     /* from no unicast host, or from our own address */
	uint64_t loops;          /* looks like another reflector's answer */
	uint64_t not_allowed;    /* by the list */
	uint64_t short_requests; /* refused because the answer would be longer */
	uint64_t source_limited, total_limited;
	uint64_t unknown_session; /* there is no key for it */
	uint64_t bad_hmac;
	uint64_t replayed;     /* an authentic request that came before */
	uint64_t other_member; /* for another link of the LAG */
	uint64_t sessions, evicted;
};

/* NULL: out of memory or range. `capacity` sessions, 1..2^20. Copies the rules. */
struct reflector *reflector_create(uint32_t capacity, const struct reflector_rules *rules);
void reflector_destroy(struct reflector *reflector); /* NULL is legal */

struct reflector_answer {
	struct stamp_reply reply;
	size_t payload_bytes;        /* as long as the request, the base packet at least */
	int dscp;                    /* DSCP requested by a class of service TLV; -1 = the request's own */
	const struct stamp_key *key; /* NULL: not authenticated */
	uint32_t place;              /* of its session, for reflector_sent() */
};

/*
 * Prepares the answer to `request`, a UDP frame: writes the answer's payload over the request's (`payload`, the same
 * bytes, writable, with room for STAMP_AUTHENTICATED_BYTES) all but t3, which reflector_finish() adds last. 0, or
 * -EBADMSG for anything that gets no answer; the counters say why.
 */
int reflector_prepare(struct reflector *reflector, const struct frame *request, struct ns received_at,
		      struct stamp_error_estimate error, uint8_t *payload, struct reflector_answer *answer);

/*
 * Prefetches the memory that reflector_prepare() needs; call it for a burst of requests before the first of them, where
 * the sessions outgrow the caches.
 */
bool reflector_needs_prefetch(const struct reflector *reflector);
void reflector_prefetch(const struct reflector *reflector, const struct frame *request);

/* Puts t3 into the prepared payload; the UDP checksum is computed after this. */
void reflector_finish(struct reflector_answer *answer, struct ns sent_at, uint8_t *payload);

/* Records when the answer left, for the next answer's follow-up telemetry. */
void reflector_sent(struct reflector *reflector, const struct reflector_answer *answer, struct ns left_at);

/*
 * The same from a copy of the answer, with a more exact time than reflector_sent() had; ignored if there is a newer
 * answer.
 */
void reflector_left(struct reflector *reflector, const struct frame *answer, struct ns left_at);

struct reflector_counters reflector_counters(const struct reflector *reflector);

#endif
