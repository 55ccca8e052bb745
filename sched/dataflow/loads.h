/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collects the load of each source on each resource, and computes the rates that all sources sustain together. Private.
 */
#ifndef SCHED_DATAFLOW_LOADS_H
#define SCHED_DATAFLOW_LOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct network;
struct network_job;
struct network_route;

/*
 * The loads of sources on resources; empty if all zero. loads_clear() removes the loads and keeps the memory;
 * loads_free() frees the memory.
 */
struct loads {
	struct load {
		uint32_t resource, source;
		double load;
	} * items;
	size_t count, capacity;
	double *weight, *offered; /* by source */
	bool *broken;             /* by source: one of its flows has no route that is up */
	uint32_t source_count;
	size_t source_capacity, offered_capacity, broken_capacity;
	uint32_t *used_as; /* by resource of the network: 1 + its number in the struct max_min_problem being solved, or
			      0 */
	uint32_t *mark;    /* by source: 1 + the index of its last entry in the arrays of that problem */
	void *problem;     /* memory of that problem's arrays and of the work space of max_min_solve() */
	size_t problem_bytes, used_capacity, mark_capacity;
};

/* Returns the route from host low to host high (low < high), or NULL if no route between them is up. */
typedef const struct network_route *(*loads_router)(void *context, uint32_t low, uint32_t high);
struct loads_routes {
	loads_router route;
	void *context;
};

void loads_clear(struct loads *loads);
void loads_free(struct loads *loads);

/*
 * Adds the sources of a job all of whose tasks have hosts, and their loads. Their numbers follow those of the sources
 * added before. routes: where to look up routes; NULL: in the network. Returns 0 or -ENOMEM.
 */
int loads_add_job(struct loads *loads, const struct network *network, const struct network_job *job,
		  const struct loads_routes *routes);

/*
 * loads_add_source() adds one source. loads_add() adds a load of a source on a resource, per MB/s of the source's rate:
 * MB/s for a link, CPU seconds per second for a CPU. Both return 0 or -ENOMEM.
 */
int loads_add_source(struct loads *loads, double weight, double offered, bool broken);
int loads_add(struct loads *loads, uint32_t resource, uint32_t source, double load);

/*
 * Computes the rates of all sources, MB/s, and the resources that limit them (or MAX_MIN_OFFERED) unless `bottleneck`
 * is NULL. Returns 0 or -ENOMEM.
 */
int loads_solve(struct loads *loads, const struct network *network, double *rate, uint32_t *bottleneck);

#endif
