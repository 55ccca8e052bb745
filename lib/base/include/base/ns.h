/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time as a count of nanoseconds. Functions that modules call in each other take a `struct ns` rather than an integer,
 * so that nobody passes microseconds or cycles by mistake. Pure values, safe from any thread.
 */
#ifndef BASE_NS_H
#define BASE_NS_H

#include <stdint.h>

struct ns {
	int64_t v; /* nanoseconds; signed, as differences may be negative */
};

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#undef NS_PER_S /* DPDK's rte_cycles.h has an int of this name */
#define NS_PER_S INT64_C(1000000000)

static inline struct ns ns_add(struct ns a, struct ns b)
{
	return (struct ns){a.v + b.v};
}

static inline struct ns ns_sub(struct ns a, struct ns b)
{
	return (struct ns){a.v - b.v};
}

/* Rounds to the nearest nanosecond, halves away from zero. |us| must stay under 9.2e15. */
static inline struct ns ns_from_us(double us)
{
	return (struct ns){(int64_t)(us * 1e3 + (us < 0 ? -0.5 : 0.5))};
}

static inline double ns_to_us(struct ns t)
{
	return (double)t.v / 1e3;
}

static inline double ns_to_s(struct ns t)
{
	return (double)t.v / 1e9;
}

/* CLOCK_MONOTONIC: for durations and deadlines. */
struct ns ns_now_monotonic(void);

/* CPU time of the calling thread: to measure work while other threads use the same processor. */
struct ns ns_now_cpu(void);

/* CLOCK_REALTIME since the epoch: for stamps that people and files see. */
struct ns ns_now_wall(void);

#endif
