/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network with the dataflow jobs that run on it: free slots, loads of links and CPUs, routes in use.
 *
 * Resources are numbered: link l is 2 l in the direction from its end a, and 2 l + 1 in the other direction; the CPU of
 * host h is 2 * link_count + h. A host uses its first link that is up. Data between two hosts takes one route, the same
 * in both directions and for all jobs; tasks on one host exchange data without using a link. Route number n < k of a
 * pair of hosts follows path n of the k shortest paths between the hosts' switches (sched/topology). Route number k is
 * used while all of these have a link that is down: it follows a shortest path over the links that are up.
 *
 * One thread. The network borrows the topology and the jobs' descriptions.
 */
#ifndef SCHED_DATAFLOW_NETWORK_H
#define SCHED_DATAFLOW_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <model/dataflow.h>
#include <sched/dataflow/graph.h>
#include <sched/topology/paths.h>

enum { NETWORK_ROUTES_MAXIMUM = TOPOLOGY_PATHS_K_MAXIMUM, NETWORK_ROUTE_LINKS = TOPOLOGY_PATHS_LINKS_MAXIMUM + 2 };

struct network;

/* The links of a route from one host to another, as resources (link and direction), in order. */
struct network_route {
	uint32_t count;
	uint32_t resources[NETWORK_ROUTE_LINKS];
};

/* A job that runs on the network. Its routes are those of the pairs of hosts (network_route_of()). */
struct network_job {
	struct dataflow_job *job; /* hosts[] is its placement */
	const struct dataflow_graph *graph;
	const double *offered; /* by source: MB/s that the source offers; NULL: the MBps of its component */
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
 * Writes the candidate routes between two different hosts (over links that are up, fewest links first) to routes[], at
 * most NETWORK_ROUTES_MAXIMUM, and the number of each to numbers[], which may be NULL. Returns the count of routes (0:
 * not connected) or -ENOMEM.
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
 * Starts a job, all of whose tasks have hosts: takes their slots and, for each pair of hosts that exchange data and
 * have no route yet, the route numbered route_of(context, from, to). The job and its graph are borrowed until
 * network_stop(). Returns 0; or, with err set and nothing changed, -ENOSPC (a host has too few slots), -EHOSTUNREACH
 * (no such route) or -ENOMEM.
 */
typedef int64_t (*network_chooser)(void *context, uint32_t from, uint32_t to);
int network_start(struct network *network, struct dataflow_job *job, const struct dataflow_graph *graph,
		  network_chooser route_of, void *context, struct error *err);
/* Stops the job at an index of network_jobs(); the later jobs move down by one. */
void network_stop(struct network *network, uint32_t index);
const struct network_job *network_jobs(const struct network *network, uint32_t *count);

/* Sets the rates that the sources of the job at an index offer; borrowed until network_stop(). */
void network_offer(struct network *network, uint32_t index, const double *offered);

/*
 * Changes the routes of pairs of hosts after links have failed (`repaired` false) or returned (true). After a failure,
 * each pair whose route has a link that is down gets the least used of its shortest candidate routes, if any is up; it
 * is then a rerouted pair. After a return, each rerouted pair gets the route from before the failure back, if that is
 * up. Returns the number of routes that changed, or -ENOMEM.
 */
int network_reroute_pairs(struct network *network, bool repaired);

/*
 * Gives each rerouted pair (see network_reroute_pairs()) the candidate route with which the sum of the rates of the
 * running jobs' sources is greatest, each counted with at most local_MBps. Repeats this until no route changes, or
 * until a limit of evaluations. Returns 1 if a route changed, 0 if none did, or -ENOMEM.
 */
int network_improve_rerouted(struct network *network, double local_MBps);

/*
 * Writes to links[link_count] the links between switches that are on routes of running jobs. Returns their number, or
 * -ENOMEM.
 */
int network_links_in_use(const struct network *network, uint32_t *links);

/* hold true: takes away the free slots of a host that is down; false: gives them back. */
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

#endif
