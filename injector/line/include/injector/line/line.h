/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The delay line: every packet that enters port A leaves port B exactly D later, and the other way round. One busy
 * lcore serves both directions (or one each); this thread, the control thread, configures and reads.
 *
 * A packet's stay begins when the burst that brought it is read (or at its NIC stamp) and ends no earlier than D
 * later: never early; how late is recorded. Order is kept, also while D is lowered live. Nothing is dropped without a
 * counter: rx = tx + held + ring_full + lost (a mode's), and duplicates are counted apart.
 *
 * A stall is a gap between two looks at the clock that is longer than a threshold: an interrupt, a descheduling, a slow
 * system call. Each packet whose stay met one counts as disturbed, those in the receive queue included. A hiccup is a
 * shorter gap, yet longer than a round of the loop should take: it disturbs the packets that arrived or left in it.
 * Where neither direction has a delay and both ports fill whole bursts of 32, they lie between two looks together, and
 * a stall is a gap of over twice the threshold.
 *
 * Lateness is the counter's last reading before the burst that a packet left in, less its due time; that reading is
 * taken anew for each burst, 32 packets at most.
 *
 * Units: _us microseconds per direction; _ns nanoseconds. Threads: create, start, set, read, stop and destroy on one
 * control thread.
 */
#ifndef INJECTOR_LINE_H
#define INJECTOR_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <base/histogram.h>
#include <dp/clock.h>
#include <dp/port.h>
#include <injector/line/mode.h>

struct injector;
struct injector_capture;

enum injector_direction { INJECTOR_AB, INJECTOR_BA, INJECTOR_DIRECTIONS };

#define INJECTOR_DELAY_MAXIMUM_US 10000.0

struct injector_settings {
	uint16_t port_a, port_b;    /* started DPDK ports, queue 0 */
	const unsigned int *lcores; /* one: both directions; two: one direction each */
	unsigned int lcore_count;
	uint32_t slots;                       /* per direction; rounded up to a power of two, 1024..2^22 */
	double delay_us[INJECTOR_DIRECTIONS]; /* in steps of 0.1 */
	double subtract_ns; /* the D = 0 path, taken off every delay; over its least time packets may be early */
	bool transmit_is_system_call; /* so a stall's time in it is told apart: two more clock readings a burst */
	double stall_us;              /* a longer gap is a stall, > 0 */
	double hiccup_ns;             /* a longer gap is a hiccup at least, > 0; at most stall_us counts */
	int nice;                     /* of the busy threads: -20 is served first, 0 as this one; tried, not required */
	/* Per direction; 0 = not told. Longest D * pps, with copies, over slots: refused; so is more than a rate lets
	 * through. */
	double expected_pps;
	struct injector_modes *modes[INJECTOR_DIRECTIONS]; /* borrowed; NULL = fixed delay, the fastest loop */
	struct dp_stamps stamps[INJECTOR_DIRECTIONS]; /* the receive ports'; offset < 0: the arrival is what counts */
	struct injector_capture *capture;             /* borrowed; NULL = none */
};

/* NULL with err set: -EINVAL (range; says which ring size would do), -ENOMEM. */
struct injector *injector_create(const struct injector_settings *settings, const struct dp_clock *clock,
				 struct error *err);
int injector_start(struct injector *injector, struct error *err);

/*
 * Before injector_start(): runs the loop on this thread for some 50 ms (traffic passes), and takes half of the median
 * time between two polls of a port off every delay: what a packet waits on average to be received. Some packets are
 * then early, by less than that. Returns what was taken off, ns.
 */
double injector_calibrate(struct injector *injector);

/*
 * Instead of injector_start(): `rounds` times both directions' polls and then the chores, on this thread. For programs
 * that have a loop of their own, and for measurements without a second CPU.
 */
void injector_poll(struct injector *injector, unsigned int rounds);

/* Stops the lcores, sends nothing more and frees what is held. Safe when not started. */
void injector_stop(struct injector *injector);
void injector_destroy(struct injector *injector); /* stops first; NULL is legal */

/*
 * New delays, seen by the loop within some microseconds, when this has returned. -ERANGE or -EINVAL (no step of 0.1;
 * ring's reach; a mode sets the delay).
 */
int injector_set_delay(struct injector *injector, const double delay_us[INJECTOR_DIRECTIONS], struct error *err);
/* How often it was set, to the same value or another: who sets it and comes back later learns whether others did. */
uint64_t injector_delay_changes(const struct injector *injector);
unsigned int injector_lcore_count(const struct injector *injector); /* 1 or 2; their stalls are added up */
double injector_subtract_ns(const struct injector *injector);
/* The CPU does not vouch for its counter, see dp/clock.h. */
bool injector_trusts_counter(const struct injector *injector);
/* The mode, steps or replay, that sets a direction's delay; the configured one is without effect then. NULL if none. */
const char *injector_delay_setter(const struct injector *injector, enum injector_direction direction);
/* Of any packet, that modes give it; a rate's wait not counted. */
double injector_longest_delay_us(const struct injector *injector, enum injector_direction direction);
/* How many packets modes make of one on average: 1 + P / 100 with duplicates. What a ring has to hold grows by that. */
double injector_multiple(const struct injector *injector, enum injector_direction direction);
double injector_delay_us(const struct injector *injector, enum injector_direction direction);

/*
 * How far the NIC's clock of a direction's receive port is from the counter: at TSC `cycles` it showed `nic`, and it
 * runs `nic_per_cycle` ticks a cycle. To be called now and then where packets are stamped.
 */
void injector_set_nic_clock(struct injector *injector, enum injector_direction direction, uint64_t nic, uint64_t cycles,
			    double nic_per_cycle);

/*
 * Reads both ports' clocks and tells the loops, where packets are stamped. Call it once a second; the rate is known
 * from the second call on. 0 or -errno with err set.
 */
struct injector_nic_tracker {
	bool started;
	uint64_t nic[INJECTOR_DIRECTIONS], cycles[INJECTOR_DIRECTIONS];
};

int injector_track_nic_clocks(struct injector *injector, struct injector_nic_tracker *tracker,
			      struct dp_port *const ports[INJECTOR_DIRECTIONS], struct error *err);

uint32_t injector_slots(const struct injector *injector);

struct injector_direction_statistics {
	uint64_t rx_packets, tx_packets, held;
	uint64_t ring_full;  /* dropped: no slot was free */
	uint64_t tx_full;    /* refused once by the transmit port, sent later */
	uint64_t no_mbuf;    /* duplicates not made for want of a buffer */
	uint64_t lost;       /* dropped by a loss mode */
	uint64_t duplicated; /* extra packets made by a mode */
	uint64_t bypassed;   /* not matched by the filter: passed at once */
	uint64_t disturbed;  /* sent, their stay met a stall, or a hiccup when they arrived or left */
	uint64_t calls;      /* polls of the receive port */
};

struct injector_statistics {
	struct injector_direction_statistics direction[INJECTOR_DIRECTIONS];
	uint64_t stalls;
	double stall_total_us, stall_max_us;
	bool transmit_timed;      /* else the next one means nothing */
	double stall_transmit_us; /* of the total: within calls that transmit, interrupted ones included */
	double stall_threshold_us;
	uint64_t hiccups;
	double hiccup_threshold_ns;
};

/* A consistent moment of the running loop: the counters add up. -ETIMEDOUT if the lcore does not answer for 2 s. */
int injector_read(struct injector *injector, struct injector_statistics *statistics, struct error *err);

/* Adds the lateness (release - due, ns) of every packet sent since start or reset; `disturbed` picks which ones. */
void injector_read_lateness(const struct injector *injector, enum injector_direction direction, bool disturbed,
			    struct histogram *into);

/* Zeroes every counter and histogram; packets held stay. */
int injector_reset(struct injector *injector, struct error *err);

#endif
