/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network with the dataflow jobs that run on it: free slots, loads of links and CPUs, routes in use.
 *
 * Resources are numbered: link l in the direction from its end a is 2 l, in the other 2 l + 1; the CPU of host h is
 * 2 * link_count + h. A host uses its first link that is up. Data between two hosts takes one route, the same in both
 * directions and for all jobs; tasks on one host exchange data without using a link. A route is one of the k shortest
 * paths of the hosts' switches (sched/topology), numbered from 0.
 *
 * One thread. The network borrows the topology and the jobs' descriptions it is given.
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

/* A job on the network: where its tasks run. Its routes are those of the network (network_route_of()). */
struct network_job {
	struct dataflow_job *job; /* hosts[] is its placement */
	const struct dataflow_graph *graph;
	const double *offered; /* by source: MB/s; NULL: what the components offer */
};

/*
 * slots[] and cpu[] are by node, as in struct dataflow, and are copied. NULL with err set: bad options, out of memory.
 * A host that no other host can reach is accepted.
 */
struct network *network_create(const struct topology *topology, const uint32_t *slots, const double *cpu,
			       const struct topology_paths_options *options, struct error *err);
void network_destroy(struct network *network); /* NULL is legal */

const struct topology *network_topology(const struct network *network);
uint32_t network_resource_count(const struct network *network);
double network_capacity(const struct network *network, uint32_t resource); /* 0: the link is down */
uint32_t network_free_slots(const struct network *network, uint32_t host);

/* "h3 -> edge0.1" or "cpu of h3"; text[2 * TOPOLOGY_NAME_BYTES + 16]. */
void network_resource_name(const struct network *network, uint32_t resource, char *text);

/*
 * Candidate routes between two different hosts over links that are up, fewest links first, into routes[]; at most
 * NETWORK_ROUTES_MAXIMUM. `numbers` (may be NULL) gets the number of each. Returns how many (0: not connected) or
 * -ENOMEM.
 */
int network_routes(struct network *network, uint32_t from, uint32_t to, struct network_route *routes,
		   uint32_t *numbers);

/* Route `number` between two hosts into *route: 0, -ENOENT (no such route, or a link on it is down), -ENOMEM. */
int network_route(struct network *network, uint32_t from, uint32_t to, uint32_t number, struct network_route *route);

/* Number of the route in use between two hosts, or -ENOENT. */
int64_t network_route_of(const struct network *network, uint32_t from, uint32_t to);

/*
 * Links of a shortest route over links that are up from a host to every node, into distance[node_count]: 0 for itself,
 * UINT32_MAX for a node that it cannot reach. 0 or -ENOMEM.
 */
int network_distances(const struct network *network, uint32_t from, uint32_t *distance);

/*
 * Starts a job on the network: takes the slots of job->hosts (all placed), and for each pair of hosts that exchange
 * data and has no route yet, the route numbered route_of(context, from, to). The job and its graph are borrowed until
 * network_stop(). 0; -ENOSPC (a host has too few slots), -EHOSTUNREACH (no such route), -ENOMEM, with nothing changed
 * and err set.
 */
typedef int64_t (*network_chooser)(void *context, uint32_t from, uint32_t to);
int network_start(struct network *network, struct dataflow_job *job, const struct dataflow_graph *graph,
		  network_chooser route_of, void *context, struct error *err);
/* Stops the job at an index of network_jobs(); later ones move down. */
void network_stop(struct network *network, uint32_t index);
const struct network_job *network_jobs(const struct network *network, uint32_t *count);

/* Sets the rates that the sources of the job at an index offer; borrowed until network_stop(). */
void network_offer(struct network *network, uint32_t index, const double *offered);

/*
 * After links have failed: gives each pair whose route has failed the route with the fewest links and, among these, the
 * least use, if any is up. After links have returned (`repaired`): gives these pairs the route from before the failure,
 * if it is up. Returns the number of routes that changed or -ENOMEM.
 */
int network_reroute_pairs(struct network *network, bool repaired);

/*
 * Gives the pairs whose route has failed, one after the other until nothing changes, the candidate route with the
 * greatest sum of rates that the running jobs' sources sustain, each at most local_MBps. Ends early where this takes
 * long. 1 if a route changed, 0, -ENOMEM.
 */
int network_improve_rerouted(struct network *network, double local_MBps);

/* Links between switches that routes of running jobs pass, into links[link_count]: their number, or -ENOMEM. */
int network_links_in_use(const struct network *network, uint32_t *links);

/* Takes away the free slots of a host that is down, or gives them back. */
void network_hold_slots(struct network *network, uint32_t host, bool hold);

/*
 * Rates that the running jobs' sources sustain, all at once (max-min fair, sched/flows): rate[] and bottleneck[] (may
 * be NULL; a resource or MAX_MIN_OFFERED), job by job, source by source. A source with a flow over a pair without a
 * live route gets 0. Returns the number of sources or -ENOMEM.
 */
int network_rates(struct network *network, double *rate, uint32_t *bottleneck);
uint32_t network_source_count(const struct network *network);

/*
 * The load of each resource at these rates, MB/s (for a CPU: seconds per second), written to MBps[resources]. 0 or
 * -ENOMEM.
 */
int network_usage(struct network *network, double *MBps);

#endif
