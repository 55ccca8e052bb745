/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of the Simple Two-way Active Measurement Protocol: RFC 8762 sections 4.2.1 and 4.3.1 (unauthenticated) and
 * 4.2.2 and 4.3.2 (authenticated: the same fields at other places and an HMAC at the end), with the session identifier
 * and the TLV flags of RFC 8972 sections 3 and 4. Big-endian on the wire; requests and replies are 44 bytes,
 * authenticated ones 112, and may be followed by TLVs. TWAMP's senders and reflectors (RFC 5357) are understood too:
 * their packets have the same fields at the same places, may be shorter, and have padding of any content behind them.
 * Pure: bytes in, values out.
 *
 * A stamp goes out as NTP (RFC 5905: seconds since 1900 and 2^-32 s) or truncated PTPv2 (IEEE 1588: seconds and
 * nanoseconds), told apart by the Z bit of the error estimate (RFC 8186 section 2.3). Here both are `struct ns`
 * since 1970; 32-bit seconds are taken for the era that lies around 2004..2140 (NTP) and 1970..2106 (PTP).
 */
#ifndef RTT_STAMP_H
#define RTT_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/ns.h>
#include <probe/rtt/keys.h>

enum {
	STAMP_PORT = 862,
	STAMP_BYTES = 44,
	STAMP_AUTHENTICATED_BYTES = 112,
	STAMP_REQUEST_MINIMUM = 14, /* TWAMP's: number, stamp, error estimate */
	STAMP_REPLY_MINIMUM = 38,   /* the request's error estimate is the last field that is needed */
};

enum stamp_format { STAMP_NTP, STAMP_PTP };

/* RFC 4656 section 4.1.2: the error is multiplier * 2^(scale - 32) seconds. */
struct stamp_error_estimate {
	bool synchronised; /* S: to UTC, by an outside source */
	enum stamp_format format;
	uint8_t scale;      /* 0..63 */
	uint8_t multiplier; /* never 0 on the wire */
};

struct stamp_request {
	uint32_t sequence;
	struct ns sent_at; /* t1 */
	struct stamp_error_estimate error;
	uint16_t session;   /* SSID, 0 = none */
	bool authenticated; /* which form */
	/* Not a STAMP packet, by its length or by bytes that should be zero: has padding, no SSID and no TLVs. */
	bool twamp;
};

struct stamp_reply {
	uint32_t sequence; /* the reflector's own (stateful mode), or the request's */
	struct ns sent_at; /* t3 */
	struct stamp_error_estimate error;
	uint16_t session;
	struct ns received_at; /* t2, in the format of `error` */
	uint32_t request_sequence;
	struct ns request_sent_at; /* t1, in the format of `request_error` */
	struct stamp_error_estimate request_error;
	uint8_t request_ttl; /* of the request as it arrived; 0 = not in the packet */
	bool authenticated;  /* which form */
};

/* The estimate whose value is the smallest that is not under `error`. */
struct stamp_error_estimate stamp_error_from_ns(struct ns error, bool synchronised, enum stamp_format format);
/* Saturates at INT64_MAX; a zero multiplier (not allowed on the wire) counts as the largest error. */
struct ns stamp_error_to_ns(struct stamp_error_estimate error);

/* `out` holds stamp_bytes(). The HMAC of an authenticated packet is left to stamp_sign(). */
void stamp_write_request(const struct stamp_request *request, uint8_t *out);
void stamp_write_reply(const struct stamp_reply *reply, uint8_t *out);

/* The length of the base packet. */
static inline size_t stamp_bytes(bool authenticated)
{
	return authenticated ? STAMP_AUTHENTICATED_BYTES : STAMP_BYTES;
}

/* 0, or -EBADMSG: shorter than the minimum, a zero multiplier, or PTP nanoseconds of a second or more. */
int stamp_read_request(const uint8_t *bytes, size_t length, struct stamp_request *request);
int stamp_read_reply(const uint8_t *bytes, size_t length, struct stamp_reply *reply);

/* The session identifier of a request, and the request's number in an answer; 0 if it is too short to have one. */
uint16_t stamp_session(const uint8_t *bytes, size_t length, bool authenticated);
uint32_t stamp_request_number(const uint8_t *bytes, size_t length, bool authenticated);

/* The same for an authenticated packet of at least STAMP_AUTHENTICATED_BYTES. Reading does not check the HMAC. */
int stamp_read_authenticated_request(const uint8_t *bytes, size_t length, struct stamp_request *request);
int stamp_read_authenticated_reply(const uint8_t *bytes, size_t length, struct stamp_reply *reply);
/* Writes the HMAC, over what is before it; bytes holds STAMP_AUTHENTICATED_BYTES. */
void stamp_sign(const struct stamp_key *key, uint8_t *bytes);
bool stamp_is_signed(const struct stamp_key *key, const uint8_t *bytes, size_t length);

/*
 * True if the packet is a reflector's answer by its content: it is a valid answer, and t3 is within ten seconds of t2.
 * Random padding of a request has this form once in 2^27. Always false for a STAMP request, whose fields there are
 * zero.
 */
bool stamp_looks_like_reply(const uint8_t *bytes, size_t length, bool authenticated);
/*
 * Sequence number and stamp of a request or a reply of either form, as one figure; `length` is STAMP_REQUEST_MINIMUM at
 * least.
 */
uint64_t stamp_identity(const uint8_t *bytes, size_t length);

/* The 8 bytes of a stamp; reading returns -EBADMSG for PTP nanoseconds of a second or more. */
void stamp_put_time(uint8_t *out, struct ns t, enum stamp_format format);
int stamp_get_time(const uint8_t *bytes, enum stamp_format format, struct ns *t);

#endif
