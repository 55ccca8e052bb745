/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Relates the time stamp counter to the kernel's clocks. rte_get_tsc_hz() is rounded to 10 MHz on hosts that do not
 * report their frequency, which is up to 0.3 % wrong. Here the rate is measured against CLOCK_MONOTONIC, and
 * dp_clock_update(), called about once a second, lengthens the baseline and moves the anchor, so that conversions do
 * not drift over days.
 *
 * The injector's hot loop stamps with dp_cycles() and leaves conversion to the thread that owns the clock. Everyone
 * else takes stamps in nanoseconds, dp_clock_stamp(). One thread per object; hand copies to others.
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
	int64_t counter_ns; /* on CLOCK_COUNTER: continuous over all updates */
	int64_t monotonic_ns, wall_ns;
	uint64_t width_cycles; /* width of the bracket around the reading; half of it bounds the error */
};

struct dp_clock {
	struct dp_clock_anchor origin; /* start of the baseline */
	struct dp_clock_anchor latest; /* conversions start from it */
	double ns_per_cycle;
	bool trusted; /* the user vouched for a counter that the CPU does not report as invariant */
};

/*
 * Measures the rate over `baseline` (50 ms gives about 1 ppm). Returns 0, or -ENOTSUP with err set if the CPU does not
 * report its counter as invariant.
 */
int dp_clock_calibrate(struct dp_clock *clock, struct ns baseline, struct error *err);

/*
 * The same, but also accepts a counter that the CPU does not report as invariant, because the user vouches for it (most
 * hypervisors hide the flag). The caller should then warn the user; see `trusted`.
 */
void dp_clock_calibrate_trusting(struct dp_clock *clock, struct ns baseline);

/*
 * Sets a new anchor, and measures the rate over the whole baseline, which begins again after 100 s. Cheap (a few us).
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

/* Converts a counter reading to one of the kernel's clocks; exact near `latest`, so convert stamps while fresh. */
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
 * Convert between CLOCK_COUNTER and CLOCK_WALL by the latest anchor, which should be fresh. An invalid stamp stays
 * invalid.
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
