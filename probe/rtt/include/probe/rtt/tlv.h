/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extensions of STAMP packets: the TLVs of RFC 8972 section 4 after the base packet, the destination address of RFC
 * 9503 section 3, and the member links of RFC 9534 section 3. A sender requests data by empty TLVs with the U flag; the
 * reflector fills them in place and clears U. Pure.
 */
#ifndef RTT_TLV_H
#define RTT_TLV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <probe/rtt/frame.h>
#include <probe/rtt/stamp.h>

enum tlv_type {
	TLV_PADDING = 1,
	TLV_LOCATION = 2,
	TLV_TIMESTAMP = 3,
	TLV_CLASS = 4,
	TLV_DIRECT = 5,
	TLV_FOLLOW_UP = 7,
	TLV_HMAC = 8,
	TLV_DESTINATION = 9,
	TLV_MICRO_SESSION = 11,
	TLV_TYPES,
};

enum tlv_flag {
	TLV_UNRECOGNISED = 0x80,
	TLV_MALFORMED = 0x40,
	TLV_INTEGRITY = 0x20, /* the HMAC TLV is wrong or missing */
};

enum tlv_clock { TLV_CLOCK_NTP = 1, TLV_CLOCK_FREE = 5 }; /* RFC 8972 table 6 */
enum tlv_method { TLV_METHOD_HARDWARE = 1, TLV_METHOD_SOFTWARE = 2 };

/* The requests of a sender. */
struct tlv_request {
	uint32_t wanted;             /* bits 1 << tlv_type, without padding and HMAC */
	const struct stamp_key *key; /* for an HMAC TLV over the other TLVs; NULL = none */
	uint32_t sequence;           /* sequence number of the base packet */
	uint8_t dscp;                /* class: DSCP requested for the answer */
	uint32_t sent;               /* direct measurement: packets sent in this session, including this one */
	ip_address destination;
	uint16_t member, peer_member; /* micro-session: LAG member links at both ends; peer's 0 = unknown */
	size_t padding;               /* bytes of a padding TLV, with its header: 0, or at least 4 */
};

size_t tlv_request_bytes(const struct tlv_request *request);
/* `out` has room for tlv_request_bytes(). */
void tlv_write_request(const struct tlv_request *request, uint8_t *out);

/* The data that a reflector has about a request and its session. */
struct tlv_facts {
	const struct frame *request; /* only the headers of the request are read: tlv_answer() changes the payload */
	const struct stamp_key *key; /* NULL: no HMAC can be checked */
	bool authenticated;          /* the base packet is authenticated */
	uint32_t request_sequence, answer_sequence;
	uint32_t received, sent; /* packets of the session, including this request and its answer */
	enum tlv_clock clock;
	bool follow_up; /* the departure time of the previous answer is known */
	uint32_t follow_up_sequence;
	struct ns follow_up_at;
	enum stamp_format format;
	uint16_t member; /* LAG member link on which the request arrived; 0 = none: micro-sessions are not supported */
};

/*
 * Returns false if the TLVs say that the request is for a member link other than `member`. Such a request must not be
 * answered (RFC 9534 section 3.2).
 */
bool tlv_is_for_member(uint16_t member, const uint8_t *bytes, size_t length);

/*
 * Fills the TLVs of a request in place, and computes the HMAC TLV again. Sets flags:
 *   - U on TLVs of an unknown or unsupported type, and on a destination that is not our address
 *   - M on a TLV that is cut short or has a wrong length for its type; the TLVs after it stay as they are
 *   - I on all TLVs, and no other flag, if the HMAC is wrong or missing; nothing is filled then
 *
 * Returns the DSCP requested for the answer, or -1 for that of the request.
 */
int tlv_answer(const struct tlv_facts *facts, uint8_t *bytes, size_t length);

/* Contents of the TLVs in an answer, for the types in `filled`. */
struct tlv_reading {
	uint32_t filled;  /* bits 1 << tlv_type of TLVs that were answered and have no flag */
	uint32_t flagged; /* bits 1 << tlv_type of TLVs that came back with a flag */
	bool bad_hmac;    /* the HMAC TLV is wrong: the other TLVs must not be used */
	uint16_t source_port, destination_port;
	ip_address source, destination; /* location: addresses of the request as it arrived; 0 = not reported */
	uint8_t source_mac[FRAME_MAC_BYTES];
	bool has_mac;
	uint8_t clock_in, method_in, clock_out, method_out;
	uint8_t dscp, ecn;                 /* class: of the request as it arrived */
	bool class_refused;                /* the reflector did not use the requested DSCP */
	uint32_t sent, received, answered; /* direct measurement: numbers of packets sent by us, received by the peer
					      and answered by it */
	uint32_t follow_up_sequence;
	struct ns follow_up_at;
	uint16_t member, peer_member; /* micro-session: our link as sent, and the peer's */
};

/* Reads the TLVs of an answer; sequence and format are those of its base packet. */
void tlv_read(const struct stamp_key *key, uint32_t sequence, enum stamp_format format, const uint8_t *bytes,
	      size_t length, struct tlv_reading *reading);

/*
 * Returns "location", "timestamp", "class", "direct", "follow-up", "destination", "micro-session", "padding" or "hmac";
 * NULL for other types.
 */
const char *tlv_name(enum tlv_type type);

#endif
