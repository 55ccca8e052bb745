/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A moment on a named clock. Stamps of different clocks must not be subtracted, and a stamp that was not taken is
 * invalid, never 0. Pure values, safe from any thread.
 */
#ifndef BASE_STAMP_H
#define BASE_STAMP_H

#include <stdbool.h>
#include <stdint.h>

#include <base/ns.h>

enum clock {
	CLOCK_COUNTER, /* this host's time stamp counter in ns: continuous, never stepped; see dp/clock.h */
	CLOCK_WALL,    /* this host's CLOCK_REALTIME: ns since 1970 UTC, may be stepped */
	CLOCK_NIC,     /* the PTP hardware clock of one port */
	CLOCK_PEER,    /* the clock of the other host, of whichever kind */
};

struct stamp {
	int64_t ns;
	enum clock clock;
	bool valid;
};

static inline struct stamp stamp_at(enum clock clock, int64_t ns)
{
	return (struct stamp){ns, clock, true};
}

/* Returns the stamp that is `wait` after `stamp`, on the same clock. */
static inline struct stamp stamp_after(struct stamp stamp, struct ns wait)
{
	stamp.ns += wait.v;
	return stamp;
}

/*
 * Sets *difference to later - earlier. Returns false, with *difference unchanged, if a stamp is invalid or the clocks
 * differ.
 */
static inline bool stamp_difference(struct stamp later, struct stamp earlier, struct ns *difference)
{
	if (!later.valid || !earlier.valid || later.clock != earlier.clock)
		return false;
	difference->v = later.ns - earlier.ns;
	return true;
}

#endif
