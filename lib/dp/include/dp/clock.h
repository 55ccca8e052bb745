/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Relates the time stamp counter to the kernel's clocks. On hosts that do not report the counter's frequency,
 * rte_get_tsc_hz() is rounded to 10 MHz, and so up to 0.3 % wrong. Here the rate is measured against CLOCK_MONOTONIC
 * over a baseline, the time between two readings of counter and clocks (anchors). dp_clock_update(), called about once
 * a second, lengthens the baseline and moves the anchor from which conversions start, so that they do not drift over
 * days.
 *
 * The injector's hot loop takes its stamps with dp_cycles() and leaves conversion to the thread that owns the clock.
 * All other code takes stamps in nanoseconds, dp_clock_stamp(), on CLOCK_COUNTER (base/stamp.h). Only one thread may
 * use an object; give other threads a copy.
 */
#ifndef DP_CLOCK_H
#define DP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <base/ns.h>
#include <base/stamp.h>

struct dp_clock_anchor {
	uint64_t cycles;
	int64_t counter_ns; /* time on CLOCK_COUNTER, which does not jump when the rate is updated */
	int64_t monotonic_ns, wall_ns;
	uint64_t width_cycles; /* cycles between the counter readings before and after the reading of the clocks; the
				  error is at most half of it */
};

struct dp_clock {
	struct dp_clock_anchor origin; /* start of the baseline */
	struct dp_clock_anchor latest; /* the anchor from which conversions start */
	double ns_per_cycle;
	bool trusted; /* the CPU does not report its counter as invariant, and the user declared it to be reliable */
};

/*
 * Measures the rate over `baseline` (50 ms gives about 1 ppm). Returns 0, or -ENOTSUP with err set if the CPU does not
 * report its counter as invariant.
 */
int dp_clock_calibrate(struct dp_clock *clock, struct ns baseline, struct error *err);

/*
 * Like dp_clock_calibrate(), but also accepts a counter that the CPU does not report as invariant, because the user
 * declares it to be reliable (most hypervisors hide the flag). Sets clock->trusted if the counter is of this kind; the
 * caller should then warn the user.
 */
void dp_clock_calibrate_trusting(struct dp_clock *clock, struct ns baseline);

/*
 * Moves the anchor `latest` to the current time, and measures the rate over the baseline from `origin` to it. After 100
 * s, a new baseline begins. Takes a few us.
 */
void dp_clock_update(struct dp_clock *clock);

/* Converts a difference of two readings, of any sign, to a duration. */
static inline struct ns dp_clock_duration(const struct dp_clock *clock, int64_t cycles)
{
	double ns = (double)cycles * clock->ns_per_cycle;

	return (struct ns){(int64_t)(ns + (ns < 0 ? -0.5 : 0.5))};
}

static inline int64_t dp_clock_cycles(const struct dp_clock *clock, struct ns duration)
{
	double cycles = (double)duration.v / clock->ns_per_cycle;

	return (int64_t)(cycles + (cycles < 0 ? -0.5 : 0.5));
}

/*
 * Convert a counter reading to CLOCK_MONOTONIC or to the wall clock. The error grows with the time between the reading
 * and `latest`, so convert stamps soon after they were taken.
 */
static inline struct ns dp_clock_monotonic(const struct dp_clock *clock, uint64_t tsc)
{
	return (struct ns){clock->latest.monotonic_ns +
			   dp_clock_duration(clock, (int64_t)(tsc - clock->latest.cycles)).v};
}

static inline struct ns dp_clock_wall(const struct dp_clock *clock, uint64_t tsc)
{
	return (struct ns){clock->latest.wall_ns + dp_clock_duration(clock, (int64_t)(tsc - clock->latest.cycles)).v};
}

/*
 * Converts a counter reading to CLOCK_COUNTER, the clock for measuring durations, which follows rate updates without a
 * jump.
 */
static inline struct stamp dp_clock_stamp(const struct dp_clock *clock, uint64_t tsc)
{
	return stamp_at(CLOCK_COUNTER,
			clock->latest.counter_ns + dp_clock_duration(clock, (int64_t)(tsc - clock->latest.cycles)).v);
}

/*
 * Convert stamps between CLOCK_COUNTER and CLOCK_WALL by the anchor `latest`, so call dp_clock_update() regularly. An
 * invalid stamp stays invalid.
 */
static inline struct stamp dp_clock_to_wall(const struct dp_clock *clock, struct stamp counter)
{
	return (struct stamp){counter.ns - clock->latest.counter_ns + clock->latest.wall_ns, CLOCK_WALL, counter.valid};
}

static inline struct stamp dp_clock_from_wall(const struct dp_clock *clock, struct stamp wall)
{
	return (struct stamp){wall.ns - clock->latest.wall_ns + clock->latest.counter_ns, CLOCK_COUNTER, wall.valid};
}

#endif
