/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loads of running jobs, indexed by source and by resource. They make the evaluation of a new job's placement
 * faster: it computes only the rates of running sources that share a resource with the new job, or with another such
 * source. The max-min fair rates of all other running sources do not change. Private.
 */
#ifndef SCHED_DATAFLOW_RUNNING_H
#define SCHED_DATAFLOW_RUNNING_H

#include "loads.h"

struct network;

/* Totals of a set of sources. */
struct running_total {
	double MBps;     /* sum of the sources' rates */
	double s_per_MB; /* sum of weight / rate over the sources, with the same rates */
};

struct running_loads {
	struct loads loads; /* the loads, in no particular order; and weight[], offered[] and broken[] of the sources */
	uint32_t source_count;
	double *rate; /* by source: rate without the new job, MB/s */
	/*
	 * The loads of source s: resource[i], load[i] for i = source_first[s] .. source_first[s + 1] - 1. In this
	 * range, each resource occurs at most once.
	 */
	uint32_t *source_first, *resource;
	double *load;
	/* The sources with loads on resource r: source[i] for i = resource_first[r] .. resource_first[r + 1] - 1. */
	uint32_t *resource_first, *source;
	uint32_t *seen_source, *seen_resource; /* by source, by resource: `spread` when a call last reached it */
	uint32_t spread;                       /* number of calls of running_loads_spread() */
	struct running_total total;            /* total of all running sources, without a new job */
};

/*
 * Collects the loads of all jobs on the network. Returns 0 or -ENOMEM; in either case the caller calls
 * running_loads_free().
 */
int running_loads_begin(struct running_loads *running, struct network *network);
void running_loads_free(struct running_loads *running);

/*
 * Adds a source to a total (sign 1), or subtracts it (sign -1). rate: rate of this source, MB/s. A source that has sent
 * all its data does not count in s_per_MB.
 */
void running_total_add(struct running_total *total, const struct loads *loads, uint32_t source, double rate,
		       double sign);

/*
 * loads: has the sources of a new job. Adds the running sources whose rates the new job may change. Sets *unchanged to
 * the total of all other running sources. Returns 0 or -ENOMEM.
 */
int running_loads_spread(struct running_loads *running, struct loads *loads, struct running_total *unchanged);

#endif
