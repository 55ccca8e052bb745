/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arcs of a flow network as plain data. The cost model (sched/cost) fills these structs and the solver (sched/mcf)
 * reads them. So the costs need no copy, and neither module includes the other's headers.
 */
#ifndef BASE_ARC_H
#define BASE_ARC_H

#include <stdint.h>

enum { ARC_ABSENT = -1 }; /* value of `cost` if there is no such arc */

struct arc {
	int32_t target; /* number of the node to which the arc leads */
	int32_t cost;   /* per unit of flow */
};

/* The arcs from one node to a block (a rack) and to columns (machines) of that block. */
struct block_arcs {
	int32_t block;
	int32_t cost; /* of the arc to the block itself, or ARC_ABSENT */
	int32_t column_count;
	const struct arc *columns; /* [column_count] each column of the block at most once; borrowed */
};

#endif
