/* SPDX-License-Identifier: BSD-3-Clause */
/* A network of dataflow jobs on a routed lab: maps the topology's nodes, and the routes in use, to those of the lab. */
#ifndef LAB_DATAFLOW_FABRIC_H
#define LAB_DATAFLOW_FABRIC_H

#include <lab/routes/routes.h>
#include <sched/dataflow/network.h>

struct fabric {
	const struct lab *lab;
	const struct network *network;
	int *node_of; /* by node of the topology: the node of the lab */
	struct lab_route *routes;
	size_t route_count;
	int *route_nodes;
};

/*
 * Matches nodes by their names. Returns 0; or -EINVAL or -ENOMEM with err set. The caller calls fabric_clear() in
 * either case.
 */
int fabric_init(struct fabric *fabric, const struct lab *lab, const struct network *network, struct error *err);
void fabric_clear(struct fabric *fabric);

/* Sets routes[] to the routes in use between hosts, in both directions. Returns 0, or -ENOMEM with err set. */
int fabric_list_routes(struct fabric *fabric, struct network *network, struct error *err);

#endif
