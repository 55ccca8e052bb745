/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory an injector needs, and its thresholds for stalls, from its settings. Pure. */
#ifndef INJECTOR_SIZING_H
#define INJECTOR_SIZING_H

#include <stdbool.h>
#include <stdint.h>

enum { INJECTOR_SLOTS_DEFAULT = 16384, INJECTOR_DESCRIPTORS = 1024 /* per queue of a port */ };

/* The slots that a direction needs to hold a delay at this packet rate, with 10 % to spare; a power of two. */
uint32_t injector_slots_needed(double delay_us, double rate_pps);

/*
 * The slots per direction unless the user sets them: INJECTOR_SLOTS_DEFAULT, or fewer where most of them would stay
 * empty at the expected rate (0 = not known) even at the longest delay. Each slot takes a packet buffer. `modes`: a
 * mode may hold packets longer, so that the default stays.
 */
uint32_t injector_slots_default(double expected_pps, bool modes);

struct injector_memory {
	unsigned int mbufs; /* packet buffers: both rings, the ports' descriptors, bursts in progress */
	unsigned int MiB;   /* for DPDK's EAL: these buffers, and its own tables */
};

struct injector_memory injector_memory_needed(uint32_t slots, uint16_t mbuf_bytes);

struct injector_thresholds {
	double stall_us;  /* a longer gap between two polls is a stall */
	double hiccup_ns; /* a longer gap is a hiccup */
};

/*
 * The given thresholds, with defaults for those that are 0. Where each burst is a system call, gaps below 20 µs are its
 * ordinary cost, and a hiccup is a stall.
 */
struct injector_thresholds injector_thresholds_of(double stall_us, double hiccup_ns, bool bursts_are_system_calls);

#endif
