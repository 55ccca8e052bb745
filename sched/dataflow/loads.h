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
 * The loads of sources on resources. All zero is legal and means empty. loads_clear() removes the loads and keeps the
 * memory; loads_free() also frees the memory.
 */
struct loads {
	struct load {
		uint32_t resource, source;
		double load;
	} * items;
	size_t count, capacity;
	double *weight, *offered; /* by source: weight in the sharing; offered rate, MB/s */
	bool *broken;             /* by source: true: a flow with its data has no route that is up */
	uint32_t source_count;
	size_t source_capacity, offered_capacity, broken_capacity;
	uint32_t *used_as; /* by resource of the network: 1 + its number in the struct max_min_problem that is being
			      solved; 0: it has no loads */
	uint32_t *latest;  /* by resource: 1 + index of the load that was added last, perhaps before loads_clear() */
	uint32_t *mark;    /* by source: 1 + the index of its load that was written last to the problem's arrays */
	void *problem;     /* memory of the problem's arrays and of the work space of max_min_solve() */
	size_t problem_bytes, used_capacity, mark_capacity, latest_capacity;
};

/* Returns the route to use between hosts low < high, or NULL if there is none. */
typedef const struct network_route *(*loads_router)(void *context, uint32_t low, uint32_t high);
struct loads_routes {
	loads_router route;
	void *context;
};

void loads_clear(struct loads *loads);
void loads_free(struct loads *loads);

/*
 * Adds the sources of a job and their loads. All tasks of the job must have hosts. The new sources are numbered after
 * those added before. routes: returns the route of a pair of hosts; NULL: the routes in use on the network. Returns 0
 * or -ENOMEM.
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
 * Writes the rate of each source, MB/s, to rate[], and the resource that limits it, or MAX_MIN_OFFERED, to
 * bottleneck[], which may be NULL. Returns 0 or -ENOMEM.
 */
int loads_solve(struct loads *loads, const struct network *network, double *rate, uint32_t *bottleneck);

#endif
