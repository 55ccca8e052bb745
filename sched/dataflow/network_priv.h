/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of struct network, and its pairs of hosts. Private. */
#ifndef SCHED_DATAFLOW_NETWORK_PRIV_H
#define SCHED_DATAFLOW_NETWORK_PRIV_H

#include <math.h>

#include <base/hash_table.h>
#include <sched/dataflow/network.h>

#include "loads.h"

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

#endif
