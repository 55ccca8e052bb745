/* SPDX-License-Identifier: BSD-3-Clause */
#include <probe/rtt/stamp.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rtt_priv.h"

/* Seconds from NTP's epoch, 1900, to 1970. */
static const int64_t ntp_to_unix_s = INT64_C(2208988800);

/* Offsets of the fields after the sequence number: RFC 8762 figures 2, 3, 5 and 6, SSID from RFC 8972 figures 1 to 4.
 */
struct layout {
	uint8_t stamp, error, session, received, request_sequence, request_stamp, request_error, request_ttl, end;
};

static const struct layout layouts[] = {
	{4, 12, 14, 16, 24, 28, 36, 40, STAMP_BYTES},
	{16, 24, 26, 32, 48, 64, 72, 80, STAMP_AUTHENTICATED_BYTES - STAMP_HMAC_BYTES},
};

enum { LONGEST_RESIDENCE_S = 10 };

/* Floor division, so that the fraction is never negative. */
static inline void split_seconds(struct ns t, int64_t *seconds, uint32_t *fraction_ns)
{
	*seconds = t.v / NS_PER_S - (t.v % NS_PER_S < 0);
	*fraction_ns = (uint32_t)(t.v - *seconds * NS_PER_S);
}

void stamp_put_time(uint8_t *out, struct ns t, enum stamp_format format)
{
	uint32_t fraction_ns;
	int64_t seconds;

	split_seconds(t, &seconds, &fraction_ns);
	if (format == STAMP_PTP) {
		put32(out, (uint32_t)seconds);
		put32(out + 4, fraction_ns);
		return;
	}
	put32(out, (uint32_t)(seconds + ntp_to_unix_s));
	/* Rounded up, because reading rounds down: so the same nanosecond is read again. */
	put32(out + 4, (uint32_t)((((uint64_t)fraction_ns << 32) + NS_PER_S - 1) / NS_PER_S));
}

int stamp_get_time(const uint8_t *bytes, enum stamp_format format, struct ns *t)
{
	int64_t seconds = get32(bytes);
	uint32_t fraction = get32(bytes + 4);

	if (format == STAMP_PTP) {
		if (fraction >= NS_PER_S)
			return -EBADMSG;
		*t = (struct ns){seconds * NS_PER_S + fraction};
		return 0;
	}
	/* RFC 5905 section 6: the era is not sent. A clear top bit means the era that begins in 2036. */
	if (seconds < INT64_C(0x80000000))
		seconds += INT64_C(1) << 32;
	*t = (struct ns){(seconds - ntp_to_unix_s) * NS_PER_S + (int64_t)(((uint64_t)fraction * NS_PER_S) >> 32)};
	return 0;
}

static void put_error(uint8_t *out, struct stamp_error_estimate error)
{
	out[0] = (uint8_t)((error.synchronised ? 0x80 : 0) | (error.format == STAMP_PTP ? 0x40 : 0) |
			   (error.scale & 0x3f));
	out[1] = error.multiplier ? error.multiplier : 1;
}

static int get_error(const uint8_t *bytes, struct stamp_error_estimate *error)
{
	error->synchronised = bytes[0] & 0x80;
	error->format = bytes[0] & 0x40 ? STAMP_PTP : STAMP_NTP;
	error->scale = bytes[0] & 0x3f;
	error->multiplier = bytes[1];
	return error->multiplier ? 0 : -EBADMSG;
}

struct stamp_error_estimate stamp_error_from_ns(struct ns error, bool synchronised, enum stamp_format format)
{
	struct stamp_error_estimate estimate = {synchronised, format, 0, 1};
	uint32_t fraction_ns;
	int64_t seconds;
	uint64_t units;

	if (error.v >= (INT64_C(1) << 31) * NS_PER_S) {
		estimate.scale = 0x3f;
		estimate.multiplier = 0xff;
		return estimate;
	}
	/* Units of 2^-32 s, rounded up. */
	split_seconds(error.v > 0 ? error : (struct ns){1}, &seconds, &fraction_ns);
	units = ((uint64_t)seconds << 32) + (((uint64_t)fraction_ns << 32) + NS_PER_S - 1) / NS_PER_S;
	while (units > 0xff) {
		units = (units >> 1) + (units & 1);
		estimate.scale++;
	}
	estimate.multiplier = (uint8_t)units;
	return estimate;
}

struct ns stamp_error_to_ns(struct stamp_error_estimate error)
{
	uint64_t units = (uint64_t)error.multiplier * NS_PER_S; /* of 2^(scale - 32) ns; less than 2^38 */
	int up = error.scale - 32;

	if (error.multiplier == 0 || (up > 0 && units > (uint64_t)INT64_MAX >> up))
		return (struct ns){INT64_MAX};
	return (struct ns){(int64_t)(up > 0 ? units << up : units >> -up)};
}

static inline void write_request(const struct stamp_request *request, const struct layout *at, uint8_t *out)
{
	memset(out, 0, at->end);
	put32(out, request->sequence);
	stamp_put_time(out + at->stamp, request->sent_at, request->error.format);
	put_error(out + at->error, request->error);
	put16(out + at->session, request->session);
}

/* Separate calls make the layout a compile-time constant, here and below. */
void stamp_write_request(const struct stamp_request *request, uint8_t *out)
{
	if (request->authenticated)
		write_request(request, &layouts[true], out);
	else
		write_request(request, &layouts[false], out);
}

/*
 * RFC 8762 section 4.2.1: a request has zeros where an answer has its stamps. `bytes` contains the whole base packet.
 */
static bool has_request_zeros(const uint8_t *bytes, const struct layout *at)
{
	static const uint8_t zeros[STAMP_AUTHENTICATED_BYTES];

	return memcmp(bytes + at->received, zeros, at->end - (size_t)at->received) == 0;
}

int stamp_read_request(const uint8_t *bytes, size_t length, struct stamp_request *request)
{
	const struct layout *at = &layouts[false];

	*request = (struct stamp_request){0};
	if (length < STAMP_REQUEST_MINIMUM || get_error(bytes + at->error, &request->error))
		return -EBADMSG;
	request->sequence = get32(bytes);
	request->twamp = length < STAMP_BYTES || !has_request_zeros(bytes, at);
	request->session = request->twamp ? 0 : get16(bytes + at->session);
	return stamp_get_time(bytes + at->stamp, request->error.format, &request->sent_at);
}

int stamp_read_authenticated_request(const uint8_t *bytes, size_t length, struct stamp_request *request)
{
	const struct layout *at = &layouts[true];

	*request = (struct stamp_request){.authenticated = true};
	if (length < STAMP_AUTHENTICATED_BYTES || get_error(bytes + at->error, &request->error))
		return -EBADMSG;
	request->sequence = get32(bytes);
	request->session = get16(bytes + at->session);
	return stamp_get_time(bytes + at->stamp, request->error.format, &request->sent_at);
}

static inline void write_reply(const struct stamp_reply *reply, const struct layout *at, uint8_t *out)
{
	memset(out, 0, at->end);
	put32(out, reply->sequence);
	stamp_put_time(out + at->stamp, reply->sent_at, reply->error.format);
	put_error(out + at->error, reply->error);
	put16(out + at->session, reply->session);
	stamp_put_time(out + at->received, reply->received_at, reply->error.format);
	put32(out + at->request_sequence, reply->request_sequence);
	stamp_put_time(out + at->request_stamp, reply->request_sent_at, reply->request_error.format);
	put_error(out + at->request_error, reply->request_error);
	out[at->request_ttl] = reply->request_ttl;
}

void stamp_write_reply(const struct stamp_reply *reply, uint8_t *out)
{
	if (reply->authenticated)
		write_reply(reply, &layouts[true], out);
	else
		write_reply(reply, &layouts[false], out);
}

uint64_t stamp_raw_time(const uint8_t *request, bool authenticated)
{
	uint64_t raw;

	memcpy(&raw, request + layouts[authenticated].stamp, sizeof raw);
	return raw;
}

void stamp_echo_time(uint64_t raw, bool authenticated, uint8_t *reply)
{
	memcpy(reply + layouts[authenticated].request_stamp, &raw, sizeof raw);
}

static inline int read_reply(const uint8_t *bytes, size_t length, const struct layout *at, struct stamp_reply *reply)
{
	if (get_error(bytes + at->error, &reply->error) || get_error(bytes + at->request_error, &reply->request_error))
		return -EBADMSG;
	reply->sequence = get32(bytes);
	reply->session = get16(bytes + at->session);
	reply->request_sequence = get32(bytes + at->request_sequence);
	reply->request_ttl = length > at->request_ttl ? bytes[at->request_ttl] : 0;
	if (stamp_get_time(bytes + at->stamp, reply->error.format, &reply->sent_at) ||
	    stamp_get_time(bytes + at->received, reply->error.format, &reply->received_at))
		return -EBADMSG;
	return stamp_get_time(bytes + at->request_stamp, reply->request_error.format, &reply->request_sent_at);
}

int stamp_read_reply(const uint8_t *bytes, size_t length, struct stamp_reply *reply)
{
	*reply = (struct stamp_reply){0};
	return length < STAMP_REPLY_MINIMUM ? -EBADMSG : read_reply(bytes, length, &layouts[false], reply);
}

int stamp_read_authenticated_reply(const uint8_t *bytes, size_t length, struct stamp_reply *reply)
{
	*reply = (struct stamp_reply){.authenticated = true};
	return length < STAMP_AUTHENTICATED_BYTES ? -EBADMSG : read_reply(bytes, length, &layouts[true], reply);
}

void stamp_sign(const struct stamp_key *key, uint8_t *bytes)
{
	const size_t end = layouts[true].end;

	stamp_hmac(key, bytes, end, bytes, 0, bytes + end);
}

bool stamp_is_signed(const struct stamp_key *key, const uint8_t *bytes, size_t length)
{
	const size_t end = layouts[true].end;
	uint8_t hmac[STAMP_HMAC_BYTES];

	if (length < STAMP_AUTHENTICATED_BYTES)
		return false;
	stamp_hmac(key, bytes, end, bytes, 0, hmac);
	return stamp_hmac_equal(hmac, bytes + end);
}

uint16_t stamp_session(const uint8_t *bytes, size_t length, bool authenticated)
{
	return length < stamp_bytes(authenticated) ? 0 : get16(bytes + layouts[authenticated].session);
}

uint32_t stamp_request_number(const uint8_t *bytes, size_t length, bool authenticated)
{
	return length < stamp_bytes(authenticated) ? 0 : get32(bytes + layouts[authenticated].request_sequence);
}

bool stamp_looks_like_reply(const uint8_t *bytes, size_t length, bool authenticated)
{
	struct stamp_reply reply = {0};
	int64_t inside_ns;

	if ((length >= stamp_bytes(authenticated) && has_request_zeros(bytes, &layouts[authenticated])) ||
	    (authenticated ? stamp_read_authenticated_reply : stamp_read_reply)(bytes, length, &reply))
		return false;
	inside_ns = reply.sent_at.v - reply.received_at.v;
	return llabs(inside_ns) <= LONGEST_RESIDENCE_S * NS_PER_S;
}

/*
 * The stamp is in bytes 4 to 11 of an unauthenticated packet, and in bytes 16 to 23 of an authenticated one. A packet
 * does not show which it is, so the hash includes both parts.
 */
uint64_t stamp_identity(const uint8_t *bytes, size_t length)
{
	uint64_t stamp = (uint64_t)get32(bytes + 4) << 32 | get32(bytes + 8);

	if (length >= 24)
		stamp ^= (uint64_t)get32(bytes + 16) << 32 | get32(bytes + 20);
	return stamp * UINT64_C(0x9e3779b97f4a7c15) + get32(bytes);
}
