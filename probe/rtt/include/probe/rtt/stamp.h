/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of the Simple Two-way Active Measurement Protocol: RFC 8762 sections 4.2.1 and 4.3.1 (unauthenticated) and
 * 4.2.2 and 4.3.2 (authenticated: the same fields at other places, and an HMAC at the end), with the session identifier
 * and the TLV flags of RFC 8972 sections 3 and 4. Big-endian on the wire. Requests and replies have 44 bytes
 * (authenticated: 112) and may be followed by TLVs. Packets of TWAMP's senders and reflectors (RFC 5357) are read too:
 * they have the same fields at the same places, may be shorter, and end with padding of any content. Pure: bytes in,
 * values out.
 *
 * A stamp is sent as NTP (RFC 5905: seconds since 1900 and units of 2^-32 s) or truncated PTPv2 (IEEE 1588: seconds and
 * nanoseconds); the Z bit of the error estimate distinguishes them (RFC 8186 section 2.3). Here both are `struct ns`
 * since 1970. 32-bit seconds are interpreted as 1968..2104 (NTP) or 1970..2106 (PTP).
 */
#ifndef RTT_STAMP_H
#define RTT_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/error.h>
#include <base/file.h>
#include <base/ns.h>

/*
 * Keys of authenticated STAMP sessions, one for each session identifier: a text file with lines "SSID KEY", the key in
 * hexadecimal; '#' begins a comment. Only the owner may have access to the file. Uses HMAC-SHA-256 truncated to 16
 * bytes (RFC 8762 section 4.4), from nettle.
 */

enum { STAMP_KEY_MINIMUM = 16, STAMP_KEY_MAXIMUM = 64, STAMP_HMAC_BYTES = 16, STAMP_KEYS_MAXIMUM = 4096 };

struct stamp_key {
	uint16_t session; /* SSID, not 0 */
	uint8_t bytes[STAMP_KEY_MAXIMUM];
	size_t length;
};

struct stamp_keys {
	size_t count, capacity;
	struct stamp_key *items;
};

/*
 * Reads a file of keys. Returns 0, or -errno with err set if the file has no key, others have access to it, a line is
 * bad or a session occurs twice. Free with stamp_keys_free().
 */
int stamp_keys_read(const char *path, struct stamp_keys *keys, struct error *err);
int stamp_keys_parse(struct file_lines *lines, struct stamp_keys *keys, struct error *err);
void stamp_keys_free(struct stamp_keys *keys);
const struct stamp_key *stamp_keys_find(const struct stamp_keys *keys, uint16_t session); /* or NULL */

/*
 * Returns the companion of a session: a second session, whose identifier differs in the lowest bit, by which a prober
 * looks for paths. A session without a key of its own uses that of its companion: this is safe because the HMAC covers
 * the identifier.
 */
static inline uint16_t stamp_companion(uint16_t session)
{
	return session ^ 1;
}

/* Returns the key of the session, or else that of its companion, or else NULL. */
const struct stamp_key *stamp_keys_for(const struct stamp_keys *keys, uint16_t session);

/* Computes the HMAC over `head` followed by `tail`, which may be empty. */
void stamp_hmac(const struct stamp_key *key, const uint8_t *head, size_t head_bytes, const uint8_t *tail,
		size_t tail_bytes, uint8_t out[STAMP_HMAC_BYTES]);
/* Compares in constant time. */
bool stamp_hmac_equal(const uint8_t *a, const uint8_t *b);

enum {
	STAMP_PORT = 862,
	STAMP_BYTES = 44,
	STAMP_AUTHENTICATED_BYTES = 112,
	STAMP_REQUEST_MINIMUM = 14,   /* TWAMP's shortest request: sequence number, stamp, error estimate */
	STAMP_TWAMP_REPLY_BYTES = 41, /* of a TWAMP answer without padding: RFC 5357 section 4.2.1 */
	STAMP_REPLY_MINIMUM = 38,     /* ends with the last required field, the request's error estimate */
};

enum stamp_format { STAMP_NTP, STAMP_PTP };

/* RFC 4656 section 4.1.2: the error is multiplier * 2^(scale - 32) seconds. */
struct stamp_error_estimate {
	bool synchronised; /* S: the clock is synchronised to UTC by an external source */
	enum stamp_format format;
	uint8_t scale;      /* 0..63 */
	uint8_t multiplier; /* never 0 on the wire */
};

struct stamp_request {
	uint32_t sequence;
	struct ns sent_at; /* t1 */
	struct stamp_error_estimate error;
	uint16_t session;   /* SSID, 0 = none */
	bool authenticated; /* the authenticated form */
	/*
	 * Not a STAMP packet, by its length or because bytes that must be zero are not. Such a packet has padding, but
	 * no SSID and no TLVs.
	 */
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
	bool authenticated;  /* the authenticated form */
};

/* Returns the estimate with the smallest value that is not below `error`. */
struct stamp_error_estimate stamp_error_from_ns(struct ns error, bool synchronised, enum stamp_format format);
/* Saturates at INT64_MAX. A zero multiplier (not allowed on the wire) counts as the largest error. */
struct ns stamp_error_to_ns(struct stamp_error_estimate error);

/*
 * Read a request's t1 and write it into the reply. RFC 8762 section 4.3.1 and RFC 5357 section 4.2.1 want an exact
 * copy, and `struct ns` is coarser than NTP.
 */
uint64_t stamp_raw_time(const uint8_t *request, bool authenticated);
void stamp_echo_time(uint64_t raw, bool authenticated, uint8_t *reply);

/* `out` has room for stamp_bytes(). The HMAC of an authenticated packet is written by stamp_sign() later. */
void stamp_write_request(const struct stamp_request *request, uint8_t *out);
void stamp_write_reply(const struct stamp_reply *reply, uint8_t *out);

/* Returns the length of the base packet. */
static inline size_t stamp_bytes(bool authenticated)
{
	return authenticated ? STAMP_AUTHENTICATED_BYTES : STAMP_BYTES;
}

/*
 * Return 0, or -EBADMSG if the packet is shorter than the minimum, if a multiplier is zero, or if PTP nanoseconds are
 * invalid (10^9 or more).
 */
int stamp_read_request(const uint8_t *bytes, size_t length, struct stamp_request *request);
int stamp_read_reply(const uint8_t *bytes, size_t length, struct stamp_reply *reply);

/*
 * Return the session identifier of a packet, and the request's sequence number in an answer; 0 if the packet is too
 * short.
 */
uint16_t stamp_session(const uint8_t *bytes, size_t length, bool authenticated);
uint32_t stamp_request_number(const uint8_t *bytes, size_t length, bool authenticated);

/*
 * Like stamp_read_request() and stamp_read_reply(), but for an authenticated packet, which has at least
 * STAMP_AUTHENTICATED_BYTES. These functions do not check the HMAC.
 */
int stamp_read_authenticated_request(const uint8_t *bytes, size_t length, struct stamp_request *request);
int stamp_read_authenticated_reply(const uint8_t *bytes, size_t length, struct stamp_reply *reply);
/* Writes the HMAC over all bytes before it; bytes[] has room for STAMP_AUTHENTICATED_BYTES. */
void stamp_sign(const struct stamp_key *key, uint8_t *bytes);
bool stamp_is_signed(const struct stamp_key *key, const uint8_t *bytes, size_t length);

/*
 * True if the content is that of a reflector's answer: all fields are valid, and t3 is within ten seconds of t2. Random
 * padding of a request looks like this with a probability of 2^-27. Always false for a STAMP request, because it has
 * zeros in these fields.
 */
bool stamp_looks_like_reply(const uint8_t *bytes, size_t length, bool authenticated);
/*
 * Returns a number made of the sequence number and the stamp of a request or reply of either form. `length` must be at
 * least STAMP_REQUEST_MINIMUM.
 */
uint64_t stamp_identity(const uint8_t *bytes, size_t length);

/* Write and read the 8 bytes of a stamp. Reading returns 0, or -EBADMSG for invalid PTP nanoseconds (10^9 or more). */
void stamp_put_time(uint8_t *out, struct ns t, enum stamp_format format);
int stamp_get_time(const uint8_t *bytes, enum stamp_format format, struct ns *t);

#endif
