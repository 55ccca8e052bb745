/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stateful STAMP session-reflector without its I/O: counts answers per session (RFC 8762 section 4.3.1), and turns
 * a request into its answer in place. Sessions are known by the sender's address, port and SSID; the table is
 * bounded, the session that was quiet longest makes room. One thread.
 */
#ifndef RTT_REFLECTOR_H
#define RTT_REFLECTOR_H

#include <stddef.h>
#include <stdint.h>

#include <probe/rtt/frame.h>
#include <probe/rtt/stamp.h>

struct reflector;

struct reflector_counters {
	uint64_t answered, malformed, sessions, evicted;
};

/* NULL: out of memory. `capacity` sessions, 1..2^20. */
struct reflector *reflector_create(uint32_t capacity);
void reflector_destroy(struct reflector *reflector); /* NULL is legal */

/*
 * Prepares the answer to `request`, a UDP frame whose payload is a STAMP request: writes the answer's payload over
 * the request's (`payload`, the same bytes, writable) all but t3, which reflector_finish() adds last. 0, or -EBADMSG
 * for what is no request, such as another reflector's answer.
 */
int reflector_prepare(struct reflector *reflector, const struct frame *request, struct ns received_at,
		      struct stamp_error_estimate error, uint8_t *payload, struct stamp_reply *reply);

/* Puts t3 into the prepared payload; the UDP checksum is computed after this. */
void reflector_finish(struct stamp_reply *reply, struct ns sent_at, uint8_t *payload);

struct reflector_counters reflector_counters(const struct reflector *reflector);

#endif
