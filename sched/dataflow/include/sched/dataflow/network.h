/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network with the dataflow jobs that run on it: free slots, loads of links and CPUs, routes in use.
 *
 * Numbers of resources:
 * - 2 l: link l in the direction from its end a
 * - 2 l + 1: link l in the other direction
 * - 2 * link_count + h: the CPU of host h
 *
 * Data between two hosts takes one route, the same in both directions and for all jobs. A host with links to several
 * switches may use another link for each other host. Tasks on one host exchange data without using a link.
 *
 * Numbers of the routes of a pair of hosts:
 * - n < k: number n of the k shortest routes over the k shortest paths between the hosts' switches (sched/topology)
 * - k: follows a shortest path over the links that are up; exists only while each of the k paths is down
 *
 * Use from one thread. The network borrows the topology and the jobs' descriptions.
 */
#ifndef SCHED_DATAFLOW_NETWORK_H
#define SCHED_DATAFLOW_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <model/dataflow.h>
#include <sched/dataflow/graph.h>
#include <sched/topology/paths.h>

enum { NETWORK_ROUTES_MAXIMUM = TOPOLOGY_PATHS_K_MAXIMUM };

struct network;

/*
 * The links of a route as numbers of resources, in order and in the direction from the host with the lower node number
 * to the host with the higher one: the first host's link, the path between switches, the other host's link. The routes
 * between the same two switches share the path, which the network keeps until network_destroy().
 */
struct network_route {
	uint32_t count; /* of links: 2 + those of the path */
	uint32_t first, last;
	const uint32_t *path;
};

/* Returns link `at` of a route, at < route->count. */
static inline uint32_t network_route_link(const struct network_route *route, uint32_t at)
{
	return at == 0 ? route->first : at + 1 == route->count ? route->last : route->path[at - 1];
}

/* A job that runs on the network. Routes belong to pairs of hosts, not to jobs (network_route_of()). */
struct network_job {
	struct dataflow_job *job; /* hosts[] is its placement */
	const struct dataflow_graph *graph;
	const double *offered; /* by source: rate without bottlenecks, MB/s; NULL: the MBps of its component */
};

/*
 * slots[] and cpu[] (by node, as in struct dataflow) are copied. Returns NULL with err set if the options are bad or
 * memory is short. A host that no other host can reach is accepted.
 */
struct network *network_create(const struct topology *topology, const uint32_t *slots, const double *cpu,
			       const struct topology_paths_options *options, struct error *err);
void network_destroy(struct network *network); /* NULL is legal */

const struct topology *network_topology(const struct network *network);
uint32_t network_resource_count(const struct network *network);
double network_capacity(const struct network *network, uint32_t resource); /* 0: the link is down */
uint32_t network_free_slots(const struct network *network, uint32_t host);

/* Writes the name of a resource, such as "h3 -> edge0.1" or "cpu of h3", to text[2 * TOPOLOGY_NAME_BYTES + 16]. */
void network_resource_name(const struct network *network, uint32_t resource, char *text);

/*
 * Lists the routes between two different hosts whose links are all up, fewest links first: the routes in routes[], at
 * most NETWORK_ROUTES_MAXIMUM, and their numbers in numbers[], which may be NULL. Returns the count of routes (0: the
 * hosts are not connected) or -ENOMEM.
 */
int network_routes(struct network *network, uint32_t from, uint32_t to, struct network_route *routes,
		   uint32_t *numbers);

/*
 * Copies route `number` between two hosts to *route. Returns 0, -ENOENT (no such route, or a link of it is down) or
 * -ENOMEM.
 */
int network_route(struct network *network, uint32_t from, uint32_t to, uint32_t number, struct network_route *route);

/* Returns the number of the route in use between two hosts, or -ENOENT. */
int64_t network_route_of(const struct network *network, uint32_t from, uint32_t to);

/*
 * Writes to distance[node_count], for every node, the number of links of a shortest route from a host over links that
 * are up: 0 for the host itself, UINT32_MAX for a node that it cannot reach. Returns 0 or -ENOMEM.
 */
int network_distances(const struct network *network, uint32_t from, uint32_t *distance);

/*
 * Starts a job, all of whose tasks must have hosts. Takes slots on these hosts. If a pair of hosts that exchange data
 * has no route yet, gives it the route number that route_of(context, from, to) returns (-errno: no route). The job and
 * its graph are borrowed until network_stop().
 *
 * Returns 0; or, with err set and nothing changed:
 * - -ENOSPC: a host has too few slots
 * - -EHOSTUNREACH: route_of() failed, or this route does not exist or is down
 * - -ENOMEM
 */
typedef int64_t (*network_chooser)(void *context, uint32_t from, uint32_t to);
int network_start(struct network *network, struct dataflow_job *job, const struct dataflow_graph *graph,
		  network_chooser route_of, void *context, struct error *err);
/* Stops the job at an index of network_jobs(); the later jobs move down by one. */
void network_stop(struct network *network, uint32_t index);
const struct network_job *network_jobs(const struct network *network, uint32_t *count);

/* Sets network_job.offered of the job at an index of network_jobs(); borrowed until network_stop(). */
void network_offer(struct network *network, uint32_t index, const double *offered);

/*
 * Changes the routes of pairs of hosts after links failed or returned. Returns the number of changed routes, or
 * -ENOMEM.
 *
 * - repaired false, after a failure: if a pair's route has a link that is down, the pair gets the least used of the
 *   routes with the fewest links. It is then a rerouted pair. If no route is up, it keeps the old one.
 * - repaired true, after a return: each rerouted pair gets its route from before the failure back, if this route is up.
 */
int network_reroute_pairs(struct network *network, bool repaired);

/*
 * Gives each rerouted pair (network_reroute_pairs()) the route that maximises the sum of the rates of the running jobs'
 * sources. Repeats this until no route changes, or until a limit of evaluations
 * is reached. Returns 1 if a route changed, 0 if none did, or -ENOMEM.
 */
int network_improve_rerouted(struct network *network);

/*
 * Writes the links between switches that are part of a route in use to links[link_count]. Returns the number of these
 * links, or -ENOMEM.
 */
int network_links_in_use(const struct network *network, uint32_t *links);

/* hold true: makes the free slots of a failed host unavailable; false: makes them available again. */
void network_hold_slots(struct network *network, uint32_t host, bool hold);

/*
 * Computes the rates that all sources of the running jobs sustain together (max-min fair, sched/flows). rate[]: MB/s;
 * bottleneck[], which may be NULL: the resource that limits the source, or MAX_MIN_OFFERED. Both are ordered by job,
 * then by source. A source with a flow over a route that is down gets 0. Returns the number of sources or -ENOMEM.
 */
int network_rates(struct network *network, double *rate, uint32_t *bottleneck);
uint32_t network_source_count(const struct network *network);

/*
 * Writes the load of each resource at the rates of network_rates() to MBps[network_resource_count()]: MB/s for a link,
 * CPU seconds per second for a CPU. Returns 0 or -ENOMEM.
 */
int network_usage(struct network *network, double *MBps);

/*
 * An upper bound on the sum of the rates of all running jobs' sources for the current placement. It is the optimum of a
 * linear programme (GLPK's simplex), which has more freedom than the network:
 * - the data from one host to another may be split over all candidate routes of the pair
 * - the two directions of a pair may use different routes
 * - the rates need not be fair
 */

/*
 * Computes the bound. Returns 0; or, with err set:
 * - -EHOSTUNREACH: two hosts that exchange data are not connected
 * - -EIO: GLPK failed
 * - -ENOMEM
 */
int dataflow_bound(struct network *network, double *sum_MBps, struct error *err);

#endif
