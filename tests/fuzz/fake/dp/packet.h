/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes the place of lib/dp's header for the fuzzers: a packet is memory of the heap, so that ASan sees each byte
 * beyond its end, and the clock moves only when the target says so.
 */
#ifndef DP_PACKET_H
#define DP_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <base/ns.h>
#include <dp/clock.h>
#include <dp/port.h>

enum { FAKE_ROOM = 2048 };

struct dp_packet {
	uint32_t length;
	uint8_t *bytes; /* [FAKE_ROOM] */
};

/* Of the target. */
extern uint64_t fake_cycles;
extern size_t fake_packets; /* not freed yet */
extern bool fake_pool_is_empty;
uint16_t dp_receive(uint16_t port, uint16_t queue, struct dp_packet **packets, uint16_t count);
uint16_t dp_transmit(uint16_t port, uint16_t queue, struct dp_packet **packets, uint16_t count);

static inline uint64_t dp_cycles(void)
{
	return fake_cycles += 10;
}

static inline struct stamp dp_now(const struct dp_clock *clock)
{
	return dp_clock_stamp(clock, dp_cycles());
}

static inline struct dp_packet *dp_packet_alloc(struct dp_pool *pool)
{
	struct dp_packet *packet = fake_pool_is_empty ? NULL : calloc(1, sizeof *packet);

	(void)pool;
	if (!packet)
		return NULL;
	packet->bytes = malloc(FAKE_ROOM);
	if (!packet->bytes)
		abort();
	fake_packets++;
	return packet;
}

static inline void dp_packet_free(struct dp_packet *packet)
{
	if (!packet)
		return;
	fake_packets--;
	free(packet->bytes);
	free(packet);
}

static inline void dp_packets_free(struct dp_packet **packets, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		dp_packet_free(packets[i]);
}

static inline int dp_packets_alloc(struct dp_pool *pool, struct dp_packet **packets, unsigned int count)
{
	if (fake_pool_is_empty)
		return -1;
	for (unsigned int i = 0; i < count; i++)
		packets[i] = dp_packet_alloc(pool);
	return 0;
}

static inline struct dp_packet *dp_packet_copy(const struct dp_packet *packet)
{
	struct dp_packet *copy = dp_packet_alloc(NULL);

	if (copy) {
		copy->length = packet->length;
		memcpy(copy->bytes, packet->bytes, packet->length);
	}
	return copy;
}

static inline uint8_t *dp_packet_bytes(const struct dp_packet *packet)
{
	return packet->bytes;
}

static inline uint16_t dp_packet_contiguous(const struct dp_packet *packet)
{
	return (uint16_t)packet->length;
}

static inline uint32_t dp_packet_length(const struct dp_packet *packet)
{
	return packet->length;
}

static inline bool dp_packet_in_one_piece(const struct dp_packet *packet)
{
	(void)packet;
	return true;
}

static inline size_t dp_packet_room(const struct dp_packet *packet)
{
	(void)packet;
	return FAKE_ROOM;
}

static inline void dp_packet_set_length(struct dp_packet *packet, size_t bytes)
{
	if (bytes > FAKE_ROOM)
		abort();
	packet->length = (uint32_t)bytes;
}

static inline bool dp_packet_stamp(const struct dp_packet *packet, const struct dp_stamps *stamps, uint64_t *nic)
{
	(void)packet;
	(void)stamps;
	(void)nic;
	return false;
}

#endif
