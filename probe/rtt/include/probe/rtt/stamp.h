/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of the Simple Two-way Active Measurement Protocol in unauthenticated mode: RFC 8762 sections 4.2.1 and
 * 4.3.1, with the session identifier and the TLV flags of RFC 8972 sections 3 and 4. Big-endian on the wire; both
 * forms are 44 bytes and may be followed by TLVs. TWAMP's senders and reflectors (RFC 5357) are understood too: their
 * packets have the same fields at the same places, may be shorter, and have padding of any content behind them. Pure:
 * bytes in, values out.
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

enum {
	STAMP_PORT = 862,
	STAMP_BYTES = 44,
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
	uint16_t session; /* SSID, 0 = none */
	bool twamp;       /* no STAMP packet by its length or by what should be zero: padding, no SSID and no TLVs */
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
};

/* The estimate whose value is the smallest that is not under `error`. */
struct stamp_error_estimate stamp_error_from_ns(struct ns error, bool synchronised, enum stamp_format format);
/* Saturates at INT64_MAX; a zero multiplier (not allowed on the wire) counts as the largest error. */
struct ns stamp_error_to_ns(struct stamp_error_estimate error);

/* `out` holds STAMP_BYTES. */
void stamp_write_request(const struct stamp_request *request, uint8_t *out);
void stamp_write_reply(const struct stamp_reply *reply, uint8_t *out);

/* 0, or -EBADMSG: shorter than the minimum, a zero multiplier, or PTP nanoseconds of a second or more. */
int stamp_read_request(const uint8_t *bytes, size_t length, struct stamp_request *request);
int stamp_read_reply(const uint8_t *bytes, size_t length, struct stamp_reply *reply);

/*
 * A reflector's answer, by its content: it reads as one, and t3 is within ten seconds of t2. Random padding of a
 * request passes for that once in 2^27. Always false for a STAMP request, whose fields there are zero.
 */
bool stamp_looks_like_reply(const uint8_t *bytes, size_t length);
/* Sequence number and stamp of a request or a reply, as one figure: `bytes` holds STAMP_REQUEST_MINIMUM. */
uint64_t stamp_identity(const uint8_t *bytes);

/* `length` bytes behind the base packet as an Extra Padding TLV (RFC 8972 section 4.1): 0, or 4 at least. */
void stamp_write_padding(uint8_t *out, size_t length);

/*
 * Sets the flags of the TLVs behind the base packet as a reflector must (RFC 8972 section 4): M on a TLV that is cut
 * short, U on a type not known here (all but Extra Padding, type 1). Works in place on what follows the 44 bytes.
 */
void stamp_mark_tlvs(uint8_t *bytes, size_t length);

#endif
