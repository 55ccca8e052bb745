/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps the nodes of a dataflow network's topology, and the routes in use in the network, to the nodes of a routed lab.
 */
#ifndef LAB_DATAFLOW_FABRIC_H
#define LAB_DATAFLOW_FABRIC_H

#include <lab/routes/routes.h>
#include <sched/dataflow/network.h>

struct fabric {
	const struct lab *lab;
	const struct network *network;
	int *node_of; /* by node of the topology: number of the node in the lab */
	struct lab_route *routes;
	size_t route_count;
	int *route_nodes; /* the nodes of all routes; routes[].nodes point to them */
	size_t route_nodes_capacity;
};

/*
 * Matches the nodes of topology and lab by name. Returns 0; or -EINVAL or -ENOMEM with err set. The caller calls
 * fabric_clear() in either case.
 */
int fabric_init(struct fabric *fabric, const struct lab *lab, const struct network *network, struct error *err);
void fabric_clear(struct fabric *fabric);

/*
 * Sets fabric->routes[] to the routes in use between hosts, one for each direction. Returns 0, or -ENOMEM with err set.
 */
int fabric_list_routes(struct fabric *fabric, struct network *network, struct error *err);

#endif
