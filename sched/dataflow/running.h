/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loads of running jobs, indexed by source and by resource. With these, an evaluation of a placement of a new job
 * computes only the rates of those running sources that share a resource with the new job, directly or through other
 * sources; the max-min fair rates of all others do not change. Private.
 */
#ifndef SCHED_DATAFLOW_RUNNING_H
#define SCHED_DATAFLOW_RUNNING_H

#include "loads.h"

struct network;

/* Totals of a set of sources. */
struct running_total {
	double MBps;     /* sum of the sources' rates, each at most local_MBps */
	double s_per_MB; /* sum of weight / rate over the sources, with the same rates */
};

struct running_loads {
	struct loads loads; /* loads in the order in which they were added; weight, offered and broken of each source */
	uint32_t source_count;
	double *rate; /* by source: rate without the new job, MB/s */
	/*
	 * The loads of source s: resource[i], load[i] for i = source_first[s] .. source_first[s + 1] - 1; each resource
	 * occurs once.
	 */
	uint32_t *source_first, *resource;
	double *load;
	/* The sources with loads on resource r: source[i] for i = resource_first[r] .. resource_first[r + 1] - 1. */
	uint32_t *resource_first, *source;
	uint32_t *seen_source, *seen_resource; /* value of `spread` when running_loads_spread() last reached it */
	uint32_t spread;
	struct running_total total; /* total of all running sources, without a new job */
	double local_MBps;
};

/*
 * Collects the loads of all jobs on the network. Returns 0 or -ENOMEM; in either case the caller calls
 * running_loads_free().
 */
int running_loads_begin(struct running_loads *running, struct network *network, double local_MBps);
void running_loads_free(struct running_loads *running);

/*
 * Adds (sign 1) a source of `loads` with this rate to a total, or subtracts it (-1). A source that has sent all its
 * data counts in MBps only.
 */
void running_total_add(struct running_total *total, const struct loads *loads, uint32_t source, double rate,
		       double local_MBps, double sign);

/*
 * Adds to `loads`, which holds the sources of a new job, the running sources whose rates that job may change.
 * *unchanged: the total of all other running sources. Returns 0 or -ENOMEM.
 */
int running_loads_spread(struct running_loads *running, struct loads *loads, struct running_total *unchanged);

#endif
