/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An injector whose ports are rings in memory, and the client and reflector around it. The test's thread plays both
 * hosts; the delay line runs on a worker lcore. Asserts by Criterion.
 */
#ifndef TESTS_INJECTOR_RINGS_H
#define TESTS_INJECTOR_RINGS_H

#include <stdint.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <injector/line/line.h>

struct rings_options {
	double delay_us[2];
	uint32_t slots;
	unsigned int lcores;
	double stall_us;          /* 0 = one second, so that nothing counts as a stall */
	double hiccup_ns;         /* 0 = one second */
	unsigned int frame_bytes; /* 0 = 60 */
	unsigned int out_ring;    /* size of the output rings, 0 = 8192 */
	struct injector_mode_settings modes;
	const char *rules[4];    /* up to the first NULL */
	const char *capture;     /* file */
	unsigned int size_limit; /* maximum file size, bytes; 0 = none. Further writes fail as on a full disk */
	bool stamps;             /* client writes its TSC where a NIC would stamp */
};

struct rings {
	struct rte_ring *in[2], *out[2]; /* of port A and B */
	uint16_t ports[2];
	struct rte_mempool *pool;
	struct dp_clock clock;
	struct injector_modes *modes[2];
	struct injector_rules *rules[2];
	struct injector_capture *capture;
	struct injector *injector;
	struct dp_stamps stamps;
	unsigned int frame_bytes;
};

/* Written into each frame by the client. */
struct rings_payload {
	uint8_t ethernet[14];
	uint8_t pad[2];
	uint64_t sequence;
	uint64_t sent; /* TSC before the client sent it */
};

void rings_open(struct rings *rings, const struct rings_options *options);
void rings_start(struct rings *rings);
void rings_close(struct rings *rings);

/* Sends a frame into port 0 or 1; false when its ring is full. */
bool rings_send(struct rings *rings, int port, uint64_t sequence);

/* Receives up to `count` frames that left port 0 or 1; the caller frees. */
unsigned int rings_receive(struct rings *rings, int port, struct rte_mbuf **packets, unsigned int count);

struct rings_payload *rings_payload(struct rte_mbuf *packet);

/*
 * The counter after all previous reads: rte_rdtsc() may execute before a receive that waits for a cache line of the
 * other core, and a packet on time would then look up to 30 ns early.
 */
static inline uint64_t rings_now(void)
{
	return rte_rdtsc_precise();
}

#endif
