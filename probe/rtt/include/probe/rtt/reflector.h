/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stateful STAMP session-reflector without I/O: counts answers per session (RFC 8762 section 4.3.1), decides which
 * requests to answer, and turns a request into its answer in place. A session is identified by the sender's address,
 * port and SSID. The tables of sessions and of sources are bounded: if there is no room, the least recently used entry
 * is replaced. No allocation after creation. One thread.
 */
#ifndef RTT_REFLECTOR_H
#define RTT_REFLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <probe/rtt/frame.h>
#include <probe/rtt/stamp.h>

struct reflector;

/*
 * Answers per second to short requests of all sources that are not listed: each is up to 27 bytes longer than its
 * request, so that requests with a forged source add at most 2.7 KB/s.
 */
enum { REFLECTOR_SHORT_PPS = 100 };

struct reflector_prefix {
	ip_address address;
	int bits; /* 0..32 or 0..128 */
};

/* Returns true if one of the prefixes contains the address. */
bool reflector_is_listed(const struct reflector_prefix *prefixes, size_t count, ip_address address);

/*
 * Which requests to answer. In addition to these rules, a request is answered only if it comes from a unicast host
 * other than this one, is addressed to our own MAC and IP address, and does not look like an answer, so that two
 * reflectors never answer each other.
 */
struct reflector_rules {
	uint8_t mac[FRAME_MAC_BYTES]; /* ours */
	ip_address address;           /* ours */
	int prefix_bits; /* prefix length of our link, whose network and broadcast addresses (IPv4) do not count as
			    hosts; 0 = unknown */
	/*
	 * Sources to answer; none = all. TWAMP requests below 41 bytes, whose answers are longer than the requests, are
	 * limited to REFLECTOR_SHORT_PPS, unless their source is listed. Borrowed.
	 */
	const struct reflector_prefix *allow;
	size_t allow_count;
	uint32_t source_pps, total_pps; /* maximum rate of answers to one source, and to all; 0 = no limit */
	/*
	 * Keys of authenticated sessions; if set, only these sessions are answered. NULL = no authentication. Borrowed.
	 */
	const struct stamp_keys *keys;
	uint16_t member; /* LAG member link (RFC 9534) of this reflector; 0 = none */
	bool stateless;  /* RFC 8762 section 4: answers have the sequence number of the request */
};

struct reflector_counters {
	uint64_t answered;
	uint64_t malformed;      /* not a request */
	uint64_t not_ours;       /* for another host's MAC or address, or for a group */
	uint64_t bad_source;     /* not from a unicast host, or from our own address */
	uint64_t loops;          /* looks like another reflector's answer */
	uint64_t not_allowed;    /* source not in the list */
	uint64_t short_requests; /* requests shorter than an answer, beyond REFLECTOR_SHORT_PPS */
	uint64_t source_limited, total_limited;
	uint64_t unknown_session; /* requests of sessions without a key */
	uint64_t bad_hmac;
	uint64_t replayed;          /* authentic requests that were received before */
	uint64_t other_member;      /* for another link of the LAG */
	uint64_t sessions, evicted; /* sessions begun so far, and those of them that were replaced by others */
};

/*
 * Creates a reflector for 1..2^20 sessions; copies the rules. Returns NULL if out of memory or if `capacity` is out of
 * range.
 */
struct reflector *reflector_create(uint32_t capacity, const struct reflector_rules *rules);
void reflector_destroy(struct reflector *reflector); /* NULL is legal */

struct reflector_answer {
	struct stamp_reply reply;
	uint64_t request_stamp; /* stamp_raw_time() */
	size_t payload_bytes;   /* length of the answer's payload: that of the request, but at least that of the base
				   packet, or of TWAMP's */
	int dscp;               /* DSCP requested by a class of service TLV; -1 = the request's own */
	const struct stamp_key *key; /* NULL: not authenticated */
	uint32_t place;              /* index of the session, for reflector_sent() */
};

/*
 * Prepares the answer to `request`, a UDP frame. The answer's payload replaces the request's in place. `payload`: the
 * same bytes as request->payload, writable, with room for STAMP_AUTHENTICATED_BYTES. Writes the TLVs here;
 * reflector_finish() writes the base packet with t3. Returns 0, or -EBADMSG if the request must not be answered; the
 * counters tell the reason.
 */
int reflector_prepare(struct reflector *reflector, const struct frame *request, struct ns received_at,
		      struct stamp_error_estimate error, uint8_t *payload, struct reflector_answer *answer);

/*
 * reflector_prefetch() prefetches the memory that reflector_prepare() needs; call it for all requests of a burst before
 * the first reflector_prepare(). reflector_needs_prefetch() returns true if there are so many sessions that this helps.
 */
bool reflector_needs_prefetch(const struct reflector *reflector);
void reflector_prefetch(const struct reflector *reflector, const struct frame *request);

/* Writes the base packet with t3 into the prepared payload. Compute the UDP checksum after this. */
void reflector_finish(struct reflector_answer *answer, struct ns sent_at, uint8_t *payload);

/* Records when an answer departed, for follow-up telemetry in the session's next answer. */
void reflector_sent(struct reflector *reflector, const struct reflector_answer *answer, struct ns left_at);

/*
 * Like reflector_sent(), with a more exact departure time. `answer`: a copy of the sent frame. Ignored if a newer
 * answer was sent in this session.
 */
void reflector_left(struct reflector *reflector, const struct frame *answer, struct ns left_at);

struct reflector_counters reflector_counters(const struct reflector *reflector);

#endif
