/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets, bursts and the time stamp counter: the functions that hot loops use. Other modules use DPDK only through
 * these functions. Each wraps one or two of DPDK's inline functions at no extra cost.
 *
 * A packet is a frame in a buffer of a pool. The code that received, allocated or copied it owns it until the packet is
 * freed or a port has taken it. Ports are identified by number, dp_port_id(), and their queues by 0..queues-1. At any
 * time at most one thread may receive from a queue and one may send to it; different queues are independent.
 */
#ifndef DP_PACKET_H
#define DP_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/ns.h>
#include <dp/clock.h>
#include <dp/port.h>

/* rte_cycles.h defines NS_PER_S as an int: keep the one of base/ns.h. */
#pragma push_macro("NS_PER_S")
#undef NS_PER_S
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#pragma pop_macro("NS_PER_S")

/* An rte_mbuf; a dp_pool is an rte_mempool of them. */
struct dp_packet;

static inline struct rte_mbuf *dp_mbuf(const struct dp_packet *packet)
{
	return (struct rte_mbuf *)(uintptr_t)packet;
}

/*
 * Reads the time stamp counter. The CPU may reorder two readings that are less than about 10 ns apart. See dp/clock.h
 * for the length of a cycle.
 */
static inline uint64_t dp_cycles(void)
{
	return rte_rdtsc();
}

static inline struct stamp dp_now(const struct dp_clock *clock)
{
	return dp_clock_stamp(clock, dp_cycles());
}

/* Receives up to `count` packets; returns their number. Some drivers return no packets if `count` is less than 4. */
static inline uint16_t dp_receive(uint16_t port, uint16_t queue, struct dp_packet **packets, uint16_t count)
{
	return rte_eth_rx_burst(port, queue, (struct rte_mbuf **)packets, count);
}

/* Transmits packets. Returns the number that the port took, from the first on; the caller keeps the others. */
static inline uint16_t dp_transmit(uint16_t port, uint16_t queue, struct dp_packet **packets, uint16_t count)
{
	return rte_eth_tx_burst(port, queue, (struct rte_mbuf **)packets, count);
}

/*
 * Lets the driver reclaim descriptors and buffers of packets that have left. Otherwise the next dp_transmit() does this
 * first. Implemented as an empty TX burst: skip it if the port's report says sends_by_system_call.
 */
static inline void dp_transmit_poll(uint16_t port, uint16_t queue)
{
	struct rte_mbuf *none = NULL;

	(void)rte_eth_tx_burst(port, queue, &none, 0);
}

/* Returns an empty packet, or NULL. */
static inline struct dp_packet *dp_packet_alloc(struct dp_pool *pool)
{
	return (struct dp_packet *)rte_pktmbuf_alloc((struct rte_mempool *)pool);
}

/* Allocates `count` empty packets. Returns 0, or -ENOENT and allocates none. */
static inline int dp_packets_alloc(struct dp_pool *pool, struct dp_packet **packets, unsigned int count)
{
	return rte_pktmbuf_alloc_bulk((struct rte_mempool *)pool, (struct rte_mbuf **)packets, count);
}

/* Returns a copy of the whole packet in a buffer of the same pool, or NULL. */
static inline struct dp_packet *dp_packet_copy(const struct dp_packet *packet)
{
	return (struct dp_packet *)rte_pktmbuf_copy(dp_mbuf(packet), dp_mbuf(packet)->pool, 0, UINT32_MAX);
}

static inline void dp_packet_free(struct dp_packet *packet)
{
	rte_pktmbuf_free(dp_mbuf(packet));
}

static inline void dp_packets_free(struct dp_packet **packets, unsigned int count)
{
	rte_pktmbuf_free_bulk((struct rte_mbuf **)packets, count);
}

/*
 * Returns the first byte of the frame, that of the destination address. dp_packet_contiguous() bytes may be read from
 * there, and dp_packet_room() bytes may be written.
 */
static inline uint8_t *dp_packet_bytes(const struct dp_packet *packet)
{
	return rte_pktmbuf_mtod(dp_mbuf(packet), uint8_t *);
}

static inline uint16_t dp_packet_contiguous(const struct dp_packet *packet)
{
	return dp_mbuf(packet)->data_len;
}

/* Returns the length of the whole frame, bytes, without preamble and check sequence. */
static inline uint32_t dp_packet_length(const struct dp_packet *packet)
{
	return dp_mbuf(packet)->pkt_len;
}

/* Returns true if the frame is in one segment, so that dp_packet_contiguous() is its length. */
static inline bool dp_packet_in_one_piece(const struct dp_packet *packet)
{
	return dp_mbuf(packet)->nb_segs == 1;
}

static inline size_t dp_packet_room(const struct dp_packet *packet)
{
	return (size_t)dp_mbuf(packet)->buf_len - dp_mbuf(packet)->data_off;
}

/* Sets the length of a packet that is in one segment; at most dp_packet_room(). */
static inline void dp_packet_set_length(struct dp_packet *packet, size_t bytes)
{
	dp_mbuf(packet)->data_len = (uint16_t)bytes;
	dp_mbuf(packet)->pkt_len = (uint32_t)bytes;
}

/* Returns false if the packet has no stamp; otherwise sets *nic to it, a reading of the port's own clock. */
static inline bool dp_packet_stamp(const struct dp_packet *packet, const struct dp_stamps *stamps, uint64_t *nic)
{
	if (stamps->offset < 0 || !(dp_mbuf(packet)->ol_flags & stamps->flag))
		return false;
	*nic = *RTE_MBUF_DYNFIELD(dp_mbuf(packet), stamps->offset, const uint64_t *);
	return true;
}

#endif
