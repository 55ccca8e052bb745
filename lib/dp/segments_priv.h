/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cuts a super-packet (TCP segments, or UDP datagrams, that a host joined for its NIC to cut) into the frames that the
 * NIC would send, with their checksums. Pure: no I/O.
 */
#ifndef DP_SEGMENTS_PRIV_H
#define DP_SEGMENTS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEGMENTS_BYTES_MAXIMUM = 65536 + 64 }; /* an IP packet with its Ethernet header and tags */

struct segments {
	const uint8_t *frame;
	uint32_t bytes;                       /* of the super-packet */
	uint32_t network, transport, payload; /* offsets of the headers and of the payload */
	uint32_t size;                        /* payload of each segment, bytes */
	uint32_t at;                          /* offset of the next segment's payload; 0 = no segment is left */
	uint16_t index;
	bool is_ipv4, is_tcp;
};

/*
 * Starts with a super-packet, which must stay in place until no segment is left. Returns false, and leaves none, if it
 * is neither TCP nor UDP over IPv4 or IPv6 without extension headers, or if a segment has more than `room` bytes.
 */
bool segments_begin(struct segments *segments, const uint8_t *frame, uint32_t bytes, uint32_t size, uint32_t room);
static inline bool segments_left(const struct segments *segments)
{
	return segments->at != 0;
}
/* Writes the next segment, a whole frame; returns its length. */
uint16_t segments_next(struct segments *segments, uint8_t *to);

/* The Internet checksum (RFC 1071): adds bytes to a sum; folds a sum into 16 bits, in the order of memory. */
uint32_t segments_sum(const uint8_t *bytes, size_t count, uint32_t sum);
uint16_t segments_fold(uint32_t sum);

#endif
