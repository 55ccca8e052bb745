/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the capture that runs on the lcores: a single-producer single-consumer ring of records per direction. The
 * lcore copies the first bytes of each frame and the TSC into a record; the capture's writer thread writes the records
 * to the file.
 */
#ifndef INJECTOR_CAPTURE_PRIV_H
#define INJECTOR_CAPTURE_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <dp/packet.h>
#include <injector/line/capture.h>

#include "hints_priv.h"

enum { CAPTURE_RECORD_BYTES = 256, CAPTURE_SNAP_BYTES = CAPTURE_RECORD_BYTES - 16, CAPTURE_RECORDS = 1 << 16 };

struct capture_record {
	uint64_t tsc;      /* arrival or departure of the frame */
	uint32_t length;   /* length of the frame, bytes */
	uint16_t captured; /* number of valid bytes in bytes[] */
	uint8_t port;      /* 0 = A, 1 = B */
	uint8_t outbound;
	uint8_t bytes[CAPTURE_SNAP_BYTES];
};

struct capture_ring {
	struct capture_record *records;      /* [CAPTURE_RECORDS] */
	_Atomic uint32_t head CACHE_ALIGNED; /* producer */
	_Atomic uint64_t lost[2]; /* written by the lcore: frames of port A and B lost because the ring was full */
	_Atomic uint32_t tail CACHE_ALIGNED; /* consumer */
};

/* Returns the ring that the lcore of this direction fills. */
struct capture_ring *capture_ring_of(struct injector_capture *capture, unsigned int direction);

/* Fills the record that is `ahead` places after the first uncommitted one. Returns false if the ring is full. */
static inline bool capture_fill(struct capture_ring *ring, uint32_t ahead, const struct dp_packet *packet, uint64_t tsc,
				uint8_t port, bool outbound)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed) + ahead;
	struct capture_record *record = &ring->records[head & (CAPTURE_RECORDS - 1)];

	if (head - atomic_load_explicit(&ring->tail, memory_order_acquire) >= CAPTURE_RECORDS)
		return false;
	record->tsc = tsc;
	record->length = dp_packet_length(packet);
	record->captured = (uint16_t)MIN(dp_packet_contiguous(packet), (uint16_t)CAPTURE_SNAP_BYTES);
	record->port = port;
	record->outbound = outbound;
	memcpy(record->bytes, dp_packet_bytes(packet), record->captured);
	return true;
}

/* Sets the times of the first `filled` uncommitted records. */
static inline void capture_restamp(struct capture_ring *ring, uint32_t filled, uint64_t tsc)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	for (uint32_t i = 0; i < filled; i++)
		ring->records[(head + i) & (CAPTURE_RECORDS - 1)].tsc = tsc;
}

/*
 * Commits the first `filled` uncommitted records, which belong to one port. `seen` is the number of frames that passed
 * the port since the last commit; those without a record (seen - filled) count as lost.
 */
static inline void capture_commit(struct capture_ring *ring, uint8_t port, uint32_t filled, uint32_t seen)
{
	if (UNLIKELY(filled < seen))
		atomic_store_explicit(&ring->lost[port],
				      atomic_load_explicit(&ring->lost[port], memory_order_relaxed) + seen - filled,
				      memory_order_relaxed);
	atomic_store_explicit(&ring->head, atomic_load_explicit(&ring->head, memory_order_relaxed) + filled,
			      memory_order_release);
}

#endif
