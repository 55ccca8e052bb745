/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of struct network, and its pairs of hosts. Private. */
#ifndef SCHED_DATAFLOW_NETWORK_PRIV_H
#define SCHED_DATAFLOW_NETWORK_PRIV_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/hash_table.h>
#include <sched/dataflow/network.h>

/* Collects the load of each source on each resource, and computes the rates that all sources sustain together. */

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

/* Two hosts that exchange data (node numbers low < high), and the route between them: its number, and its links. */
struct network_pair {
	uint32_t low, high, number;
	uint32_t users; /* number of flows between the hosts, of all running jobs */
	bool rerouted; /* true: the route was replaced after a link failure; `original`: number of the replaced route */
	uint32_t original;
	struct network_route route;
};

/* A path from one switch to another: its links as resources in the direction of the path. */
struct network_path {
	uint32_t count;
	const uint32_t *resources;
};

/* A path over links that were up, found when no stored path was. */
struct network_live_path {
	struct network_live_path *next;
	struct network_path path; /* path.resources is resources[] */
	uint32_t resources[];
};

/* The paths from one switch to another: the k shortest (sched/topology), and all live paths so far. */
struct network_paths {
	struct network_path *stored;
	uint32_t count;
	struct network_live_path *live;
};

struct network {
	const struct topology *topology;
	struct topology_adjacency *adjacency;
	struct topology_paths *paths;
	struct network_paths *paths_of; /* by pair of switches, in the order of the requests */
	uint32_t paths_count;
	size_t paths_capacity;
	struct hash_table paths_table; /* from << 32 | to: index in paths_of[] */
	uint32_t k;
	uint32_t *free_slots; /* by node */
	uint32_t *held_slots; /* by node: free slots, unavailable while the host is down (network_hold_slots()) */
	double *cpu;          /* by node */
	double local_MBps;    /* limit of each source; INFINITY until engine_place() sets it from its options */
	struct network_pair *pairs;
	uint32_t pair_count;
	size_t pair_capacity;
	struct hash_table pair_table;
	struct network_job *jobs;
	uint32_t job_count;
	size_t job_capacity;
	struct loads loads; /* work space of network_rates() */
};

static inline uint64_t network_pair_key(uint32_t a, uint32_t b)
{
	return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* Returns the index in pairs[] of the pair of two hosts, or HASH_TABLE_NONE. */
static inline uint32_t network_find_pair(const struct network *network, uint32_t a, uint32_t b)
{
	return hash_table_find(&network->pair_table, network_pair_key(a, b));
}

/* Returns the resource of a link in the direction from its end `from`. */
static inline uint32_t network_directed(const struct network *network, uint32_t link, uint32_t from)
{
	return 2 * link + (network->topology->links[link].a != from);
}

/* Returns the paths from a switch to a switch, valid until the next call; NULL if out of memory. */
struct network_paths *network_paths_between(struct network *network, uint32_t from, uint32_t to);
void network_paths_free(struct network *network);

/*
 * Finds a shortest path from a switch to a switch over links that are up. Returns 1 if there is one, 0 if not, or
 * -ENOMEM.
 */
int network_live_path(struct network *network, uint32_t from, uint32_t to, struct network_path *path);

/* Returns true if all links of the route are up. */
bool network_route_up(const struct network *network, const struct network_route *route);

/* Returns the rate of a source task without bottlenecks, MB/s. */
static inline double network_source_MBps(const struct network *network, const struct dataflow_job *job, uint32_t task)
{
	return fmin(job->components[dataflow_component_of(job, task)].MBps, network->local_MBps);
}

/*
 * The loads of running jobs, indexed by source and by resource. They make the evaluation of a new job's placement
 * faster: it computes only the rates of running sources that share a resource with the new job, or with another such
 * source. The max-min fair rates of all other running sources do not change.
 */

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
