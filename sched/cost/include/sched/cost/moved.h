/* SPDX-License-Identifier: BSD-3-Clause */
/* Round trips that changed: plain data, passed from a latency view or a simulated one to the rows of costs. */
#ifndef COST_MOVED_H
#define COST_MOVED_H

#include <stddef.h>
#include <stdint.h>

struct cost_moved {
	const uint32_t *machines; /* [count] each once */
	size_t count;
	/* [machine][words] by machine number: a bit per rack, in `words` words of 64 bits. NULL: all racks. */
	const uint64_t *racks;
	uint32_t words;
};

#endif
