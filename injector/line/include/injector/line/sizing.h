/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the memory that an injector needs, and its thresholds for stalls, from its settings. Pure. */
#ifndef INJECTOR_SIZING_H
#define INJECTOR_SIZING_H

#include <stdbool.h>
#include <stdint.h>

enum { INJECTOR_SLOTS_DEFAULT = 16384, INJECTOR_DESCRIPTORS = 1024 /* per queue of a port */ };

/*
 * Returns the number of slots, a power of two, that a direction needs to hold packets of this rate for this delay, with
 * 10 % to spare.
 */
uint32_t injector_slots_needed(double delay_us, double rate_pps);

/*
 * Returns the number of slots per direction to use if the user sets none: INJECTOR_SLOTS_DEFAULT, or fewer if the
 * longest delay needs fewer at the expected rate (0 = not known). Each slot takes a packet buffer. `modes`: delay modes
 * are in use. They may hold packets longer, so the result is then always INJECTOR_SLOTS_DEFAULT.
 */
uint32_t injector_slots_default(double expected_pps, bool modes);

struct injector_memory {
	unsigned int mbufs; /* packet buffers: both rings, the ports' descriptors, bursts in progress */
	unsigned int MiB;   /* memory that EAL needs for these buffers and for its own tables */
};

struct injector_memory injector_memory_needed(uint32_t slots, uint16_t mbuf_bytes);

struct injector_thresholds {
	double stall_us;  /* a longer gap between two clock readings is a stall (see line.h) */
	double hiccup_ns; /* a longer gap that is no stall is a hiccup */
};

/*
 * Returns the given thresholds, with defaults for those that are 0. The defaults are 1 µs (stall) and 300 ns (hiccup).
 * If each burst is a system call, gaps below 20 µs are normal: then the default stall threshold is 20 µs, and the
 * default hiccup threshold equals the stall threshold.
 */
struct injector_thresholds injector_thresholds_of(double stall_us, double hiccup_ns, bool bursts_are_system_calls);

#endif
