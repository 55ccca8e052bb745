/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The round trips that changed since the last report. A latency view, or a simulator's model of one, passes them to the
 * rows of costs.
 */
#ifndef COST_MOVED_H
#define COST_MOVED_H

#include <stddef.h>
#include <stdint.h>

struct cost_moved {
	const uint32_t *machines; /* [count] machines with changed round trips, each once */
	size_t count;
	/*
	 * For each machine number, `words` words of 64 bits, with a bit for each rack: the racks to which the machine's
	 * round trips changed. NULL: they changed to all racks.
	 */
	const uint64_t *racks;
	uint32_t words;
};

#endif
