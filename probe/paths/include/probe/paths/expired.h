/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a router's message that the TTL of a UDP datagram expired: ICMP time exceeded in transit (RFC 792 type 11, RFC
 * 4443 type 3) in an Ethernet frame, with or without VLAN tags. The message quotes the datagram's IP and UDP headers,
 * by which the sender identifies the datagram. Pure.
 */
#ifndef PROBE_EXPIRED_H
#define PROBE_EXPIRED_H

#include <stddef.h>
#include <stdint.h>

#include <base/address.h>

struct expired {
	ip_address router;
	ip_address source, destination; /* of the datagram */
	uint16_t source_port, destination_port;
	uint16_t udp_bytes; /* UDP length of the datagram */
};

/* Returns 0, or -EBADMSG if the frame is something else, is cut short or has a wrong checksum. */
int expired_read(const uint8_t *bytes, size_t length, struct expired *expired);

#endif
