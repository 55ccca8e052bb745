/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loads of running jobs, indexed by source and by resource. So evaluating a placement of a new job needs only the
 * sources that share a resource with the new job, directly or through other sources; the max-min fair rates of all
 * others do not change. Private.
 */
#ifndef SCHED_DATAFLOW_RUNNING_H
#define SCHED_DATAFLOW_RUNNING_H

#include "loads.h"

struct network;

/* Totals of a set of sources. */
struct running_total {
	double MBps;     /* sum of the sources' rates, each at most local_MBps */
	double s_per_MB; /* sum of weight / rate over the same rates */
};

struct running_loads {
	struct loads loads; /* as collected; weight, offered, broken by source */
	uint32_t source_count;
	double *rate; /* by source: its rate without the new job */
	/* Entries of source s: source_first[s] .. source_first[s + 1] - 1; each resource occurs once. */
	uint32_t *source_first, *resource;
	double *load;
	/* Sources of resource r: resource_first[r] .. resource_first[r + 1] - 1. */
	uint32_t *resource_first, *source;
	uint32_t *seen_source, *seen_resource; /* number of the last spread that visited it */
	uint32_t spread;
	struct running_total total; /* of all sources */
	double local_MBps;
};

/* Collects the loads of all jobs on the network. Returns 0 or -ENOMEM; in either case the caller frees them. */
int running_loads_begin(struct running_loads *running, struct network *network, double local_MBps);
void running_loads_free(struct running_loads *running);

/*
 * Adds (sign 1) or subtracts (-1) a source of `loads` with this rate. A source that has ended does not count in
 * s_per_MB.
 */
void running_total_add(struct running_total *total, const struct loads *loads, uint32_t source, double rate,
		       double local_MBps, double sign);

/*
 * Adds to `loads`, which holds the sources of a new job, the running sources whose rates that job may change.
 * *unchanged: the total of all other running sources. Returns 0 or -ENOMEM.
 */
int running_loads_spread(struct running_loads *running, struct loads *loads, struct running_total *unchanged);

#endif
