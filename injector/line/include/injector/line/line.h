/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The delay line: every packet that enters port A leaves port B D later, and vice versa, where D is the delay that is
 * set for the packet's direction. One busy lcore serves both directions (or one lcore each); the calling thread, the
 * control thread, configures the line and reads its counters.
 *
 * A packet is held from the moment when its burst is received (or from its NIC stamp) for at least D, less the
 * subtracted time (subtract_ns). If nothing is subtracted, packets are never early. Their lateness is recorded. Order
 * is kept, also while D is lowered, unless a mode reorders or exempts packets. Held packets wait in a ring of a fixed
 * number of slots per direction, one packet per slot. Every packet is counted:
 *   rx + duplicated = tx + held + ring_full + too_late + lost
 * Modes make the duplicated packets and drop the lost ones. No packet is transmitted later than late_limit_us after its
 * due time.
 *
 * The lcore runs rounds: in a round, it polls each receive port once and transmits the packets that are due. It reads
 * the clock (the time stamp counter) at least once a round; the time between two readings is a gap. A stall is a gap
 * that is longer than a threshold: an interrupt, descheduling, a slow system call. Each packet that was held, or waited
 * in the receive queue, during a stall counts as disturbed. A hiccup is a shorter gap that is still longer than a round
 * should take: it disturbs only the packets that arrived or left during it. If neither direction has a delay and both
 * ports fill whole bursts of 32, the loop forwards both bursts between two readings, so the threshold of stalls is
 * doubled.
 *
 * Lateness is the clock reading before the packet's transmit burst, minus the packet's due time; there is a new reading
 * for each burst of at most 32 packets.
 *
 * Units: _us microseconds, _ns nanoseconds. A delay applies to one direction. Threads: create, start, set, read, stop
 * and destroy on one control thread.
 */
#ifndef INJECTOR_LINE_H
#define INJECTOR_LINE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <base/histogram.h>
#include <base/ns.h>
#include <dp/clock.h>
#include <dp/port.h>
#include <injector/line/mode.h>

struct injector;
struct injector_capture;

enum injector_direction { INJECTOR_AB, INJECTOR_BA, INJECTOR_DIRECTIONS };

#define INJECTOR_DELAY_MAXIMUM_US 10000.0

struct injector_settings {
	uint16_t port_a, port_b;    /* started DPDK ports, queue 0 */
	const unsigned int *lcores; /* one for both directions, or one for each direction */
	unsigned int lcore_count;
	uint32_t slots; /* size of each direction's ring, packets; rounded up to a power of two, 1024..2^22 */
	double delay_us[INJECTOR_DIRECTIONS]; /* up to INJECTOR_DELAY_MAXIMUM_US, in steps of 0.1 */
	double subtract_ns; /* ns that a packet takes at D = 0; subtracted from every delay. A packet that takes less is
			       early by the difference. */
	bool transmit_is_system_call; /* measure stalls in transmit calls separately; takes two more clock readings per
					 burst */
	double stall_us;              /* > 0; a longer gap is a stall */
	double hiccup_ns; /* > 0; a longer gap is a hiccup or a stall; values above stall_us have the effect of stall_us
			   */
	double late_limit_us; /* a packet that is later than this is dropped and not transmitted; 0 = no limit */
	int nice; /* nice value of the lcores' threads, -20 highest priority, 0 unchanged; ignored if not permitted */
	/*
	 * Packets per second in each direction; 0 = not known. injector_create() refuses settings with which the ring
	 * would overflow at this rate:
	 * - the packets that arrive during the longest D, and their copies, need more than `slots`, or
	 * - a rate mode lets fewer packets through.
	 */
	double expected_pps;
	struct injector_modes *modes[INJECTOR_DIRECTIONS]; /* borrowed; NULL = fixed delay, the fastest loop */
	struct injector_rules *rules[INJECTOR_DIRECTIONS]; /* borrowed; NULL = none */
	/*
	 * Location of the NIC stamp in the packets of each receive port. offset < 0: packets have no stamps, and are
	 * held from their reception on.
	 */
	struct dp_stamps stamps[INJECTOR_DIRECTIONS];
	struct injector_capture *capture; /* borrowed; NULL = none */
};

/*
 * Returns NULL with err set on failure:
 * - ERANGE: a delay is out of range
 * - EINVAL: another setting is out of range, or the delays need more slots (the message gives the number)
 * - ENOMEM
 */
struct injector *injector_create(const struct injector_settings *settings, const struct dp_clock *clock,
				 struct error *err);
/* Starts the loop on the lcores. Returns 0, or -errno with err set. */
int injector_start(struct injector *injector, struct error *err);

/*
 * Measures the median time between two polls of a port. Half of it is the mean time that a packet waits to be received;
 * this half is subtracted from every delay. Some packets are then early by less than the subtracted time. Call it
 * before injector_start(). It runs the loop on this thread for about 50 ms, and forwards packets meanwhile. Returns the
 * subtracted time, ns.
 */
double injector_calibrate(struct injector *injector);

/*
 * Polls both directions `rounds` times on this thread. If it is time, also adopts a new configuration and answers
 * requests. Use it instead of injector_start(): in programs with a loop of their own, and for measurements without a
 * second CPU.
 */
void injector_poll(struct injector *injector, unsigned int rounds);

/*
 * Ends reception, transmits the held packets when they are due, and stops the lcores. Gives up after `limit`, or when
 * *hurry is not 0: the packets still held are then not transmitted.
 */
void injector_drain(struct injector *injector, struct ns limit, const volatile sig_atomic_t *hurry);
/* Stops the lcores and frees held packets without transmitting them. Safe when not started. */
void injector_stop(struct injector *injector);
void injector_destroy(struct injector *injector); /* stops first; NULL is legal */

/*
 * Sets the delays; when this returns, the loop uses them. Returns 0, or -errno with err set:
 * - -ERANGE: a delay is out of range
 * - -EINVAL: a delay is not a multiple of 0.1 us or needs more slots than the ring has, or a mode sets the delay
 * - -ENOMEM
 */
int injector_set_delay(struct injector *injector, const double delay_us[INJECTOR_DIRECTIONS], struct error *err);
/*
 * Changes the rule with the same conditions as `text`, a rule as in mode.h, in both directions; when this returns, the
 * loop uses its new settings. Packets that are held keep their delay, packets of the rule keep their order, and its
 * counters go on. Returns 0, or -errno with err set, and then nothing is changed: -EINVAL (no rule has these
 * conditions, bad settings, or they need more slots than the ring has), -EBADMSG or -ENOENT (a bad file), -ENOMEM.
 */
int injector_set_rule(struct injector *injector, const char *text, struct error *err);
/*
 * Returns how often a delay or a rule was set, also to the same value. If two calls return different numbers, one was
 * set in between.
 */
uint64_t injector_delay_changes(const struct injector *injector);
unsigned int injector_lcore_count(const struct injector *injector); /* 1 or 2 */
double injector_subtract_ns(const struct injector *injector);
/*
 * Returns true if the CPU does not report the time stamp counter as invariant, but the user declared it to be reliable;
 * see dp/clock.h.
 */
bool injector_trusts_counter(const struct injector *injector);
/*
 * Returns the name of the mode (steps or replay) that sets a direction's delay in place of the configured delay, or
 * NULL.
 */
const char *injector_delay_setter(const struct injector *injector, enum injector_direction direction);
/*
 * Returns the longest delay that the modes of a direction can give a packet, without the time that it waits for a rate
 * limit.
 */
double injector_longest_delay_us(const struct injector *injector, enum injector_direction direction);
/*
 * Returns the mean number of packets that the modes of a direction make of one packet: 1 + P / 100 if they duplicate P
 * percent. The ring needs this many times the slots that it needs without duplicates.
 */
double injector_multiple(const struct injector *injector, enum injector_direction direction);
double injector_delay_us(const struct injector *injector, enum injector_direction direction);

/*
 * Relates the NIC clock of a direction's receive port to the time stamp counter: when the counter was `cycles`, the NIC
 * clock was `nic`, and it advances by `nic_per_cycle` ticks per cycle. If packets have NIC stamps, call this function
 * regularly.
 */
void injector_set_nic_clock(struct injector *injector, enum injector_direction direction, uint64_t nic, uint64_t cycles,
			    double nic_per_cycle);

/*
 * injector_track_nic_clocks() reads the NIC clocks of both ports and calls injector_set_nic_clock(). If packets have
 * NIC stamps, call it once a second; the clocks' rates are known from the second call on. Start with a tracker that is
 * all zero. Returns 0, or -errno with err set.
 */
struct injector_nic_tracker {
	bool started;
	/* readings of the first call: NIC clock of each direction's receive port, time stamp counter */
	uint64_t nic[INJECTOR_DIRECTIONS], cycles[INJECTOR_DIRECTIONS];
};

int injector_track_nic_clocks(struct injector *injector, struct injector_nic_tracker *tracker,
			      struct dp_port *const ports[INJECTOR_DIRECTIONS], struct error *err);

uint32_t injector_slots(const struct injector *injector);

struct injector_direction_statistics {
	uint64_t rx_packets, tx_packets, held;
	uint64_t ring_full;  /* packets dropped because the ring was full */
	uint64_t too_late;   /* packets dropped because they were later than the limit */
	uint64_t tx_full;    /* times that the transmit port refused a packet; the packet is sent later */
	uint64_t no_mbuf;    /* duplicates not made because no buffer was free */
	uint64_t lost;       /* packets dropped by a loss mode */
	uint64_t duplicated; /* extra packets made by a mode */
	uint64_t corrupted;  /* packets of which a mode flipped a bit */
	uint64_t bypassed;   /* packets that the filter does not match: they pass without a delay */
	uint64_t disturbed;  /* transmitted packets that were held during a stall, or arrived or left during a hiccup */
	uint64_t calls;      /* polls of the receive port */
	/* means of the delays that injector_read_delays() returns; NAN if there are none */
	double requested_mean_ns, applied_mean_ns;
};

struct injector_rule_statistics {
	const char *text;       /* valid until the rule is set */
	uint64_t packets, lost; /* packets that match the rule; those of them that a loss mode dropped */
	double requested_mean_ns, applied_mean_ns;
};

struct injector_statistics {
	struct injector_direction_statistics direction[INJECTOR_DIRECTIONS];
	struct injector_rule_statistics rules[INJECTOR_DIRECTIONS][INJECTOR_RULES_MAXIMUM];
	size_t rule_count[INJECTOR_DIRECTIONS];
	/* Stalls and hiccups are sums over the lcores; stall_max_us is the longest stall of any lcore. */
	uint64_t stalls;
	double stall_total_us, stall_max_us;
	bool transmit_timed;      /* stall_transmit_us is valid */
	double stall_transmit_us; /* part of stall_total_us that the lcore spent in transmit calls, including interrupts
				     during them */
	double stall_threshold_us;
	uint64_t hiccups;
	double hiccup_threshold_ns;
};

/*
 * Takes a snapshot of the loop between two rounds, so that the counters add up (see the top of this file). Returns
 * 0, or -ETIMEDOUT with err set if an lcore does not answer for 2 s.
 */
int injector_read(struct injector *injector, struct injector_statistics *statistics, struct error *err);

/*
 * Adds the lateness, ns, of the packets transmitted since the start or the last reset to the histogram `into`. If
 * `disturbed`, adds only disturbed packets, else only the others.
 */
void injector_read_lateness(const struct injector *injector, enum injector_direction direction, bool disturbed,
			    struct histogram *into);

/*
 * Adds the delays, ns, of the packets held since the start or the last reset, without the exempt ones, to the histogram
 * `into`: the delays that the modes requested, or those `applied`, which are longer where order or a rate limit demands
 * it. Both are without the packets' lateness. Adds nothing if there are no modes, NIC stamps or captures: the fixed
 * loop does not count delays.
 */
void injector_read_delays(const struct injector *injector, enum injector_direction direction, bool applied,
			  struct histogram *into);
/* The same, of the packets of one rule. */
void injector_read_rule_delays(const struct injector *injector, enum injector_direction direction, size_t rule,
			       bool applied, struct histogram *into);

/*
 * Zeroes all counters and histograms. The held packets stay and count as received after the reset. Returns 0, or
 * -ETIMEDOUT with err set if an lcore does not answer for 2 s.
 */
int injector_reset(struct injector *injector, struct error *err);

/* Computes the memory that an injector needs, and its thresholds for stalls, from its settings. Pure. */

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
