/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ethernet frames that the prober speaks: UDP over IPv4 and ARP, written and read as bytes, with their checksums.
 * Addresses and ports are in host order here. Pure. RFC 894, 826, 791, 768, 1071.
 */
#ifndef RTT_FRAME_H
#define RTT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FRAME_MAC_BYTES = 6,
	FRAME_UDP_HEADERS = 14 + 20 + 8,
	FRAME_ARP_BYTES = 60, /* padded to what Ethernet wants (without the FCS) */
	FRAME_MINIMUM = 60,
};

enum frame_kind {
	FRAME_OTHER,  /* something else: not ours to judge */
	FRAME_BROKEN, /* cut short, fragmented, or a checksum is wrong */
	FRAME_UDP,
	FRAME_ARP_REQUEST,
	FRAME_ARP_REPLY,
};

struct frame {
	enum frame_kind kind;
	uint8_t source_mac[FRAME_MAC_BYTES], destination_mac[FRAME_MAC_BYTES];
	uint32_t source_address, destination_address; /* IPv4; in ARP the sender's and the target's */
	uint16_t source_port, destination_port;
	uint8_t ttl, dscp;
	uint8_t tags;   /* VLAN tags that were skipped */
	bool unchecked; /* the UDP checksum was 0 (none), or `captured` was too short to tell */
	/* FRAME_BROKEN for one reason alone: the checksum covers just the pseudo-header, as a local sender's kernel
	 * leaves it to a NIC that computes the rest (transmit checksum offload). */
	bool unfinished;
	const uint8_t *payload; /* into the frame */
	size_t payload_bytes;
};

/*
 * Reads `captured` bytes of a frame that had `length` on the wire (equal when nothing was cut off). VLAN tags (802.1Q
 * and 802.1ad, at most two) are skipped. The result points into `bytes`.
 */
struct frame frame_read(const uint8_t *bytes, size_t captured, size_t length);

/*
 * Writes headers, payload and checksums; frame->payload may already lie at its place in `out` (in place). Pads to
 * FRAME_MINIMUM. Returns the frame's length, 0 if `capacity` does not hold it.
 */
size_t frame_write_udp(const struct frame *frame, uint8_t *out, size_t capacity);

/* "Who has destination_address?" (broadcast) or "source_address is at source_mac"; FRAME_ARP_BYTES, 0 if too small. */
size_t frame_write_arp(const struct frame *frame, uint8_t *out, size_t capacity);

#endif
