/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replaces the real dp/packet.h in the tests of the loops: packets, ports and the counter belong to the test, which
 * defines them in test_loop.c. So a loop runs deterministically, and each cycle can be accounted for.
 */
#ifndef DP_PACKET_H
#define DP_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dp/port.h>

struct dp_packet {
	uint64_t arrives;  /* at the port */
	uint64_t received; /* counter value when the loop received it */
	uint64_t left;
	uint64_t prepared; /* the counter when the port was prepared for the next packet after this one left
			      (dp_transmit_prepare()); 0 = it was not */
	uint64_t stamp;    /* the NIC's; 0 = none */
	bool gone, freed;
};

uint64_t dp_cycles(void);
uint16_t dp_receive(uint16_t port, uint16_t queue, struct dp_packet **packets, uint16_t count);
uint16_t dp_transmit(uint16_t port, uint16_t queue, struct dp_packet **packets, uint16_t count);
void dp_transmit_poll(uint16_t port, uint16_t queue);
void dp_packet_free(struct dp_packet *packet);
void dp_packets_free(struct dp_packet **packets, unsigned int count);
struct dp_packet *dp_packet_copy(const struct dp_packet *packet);
uint8_t *dp_packet_bytes(const struct dp_packet *packet);
uint16_t dp_packet_contiguous(const struct dp_packet *packet);
uint32_t dp_packet_length(const struct dp_packet *packet);
bool dp_packet_stamp(const struct dp_packet *packet, const struct dp_stamps *stamps, uint64_t *nic);

#endif
