/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network as the paper draws it, one node a task, for people, for other solvers and for proofs. Built from the
 * present state of a flownet; pinned tasks have their one arc. Where U_J -> S may be too narrow for the job's tasks,
 * an arc from each of them to S, dearer than any detour, takes what cannot be routed.
 */
#ifndef FLOWNET_NETWORK_H
#define FLOWNET_NETWORK_H

#include <stdint.h>
#include <stdio.h>

#include <base/error.h>
#include <sched/mcf/mcf.h>

#include <sched/flownet/flownet.h>

enum flownet_node_kind {
	FLOWNET_NODE_TASK,
	FLOWNET_NODE_UNSCHEDULED,
	FLOWNET_NODE_CLUSTER,
	FLOWNET_NODE_RACK,
	FLOWNET_NODE_MACHINE,
	FLOWNET_NODE_SINK,
};

struct flownet_node {
	enum flownet_node_kind kind;
	uint32_t number; /* of the job, rack or machine */
	uint32_t task;
};

struct flownet_network {
	struct mcf_problem problem; /* points into the arrays below */
	struct flownet_node *nodes; /* [problem.node_count] */
	int32_t *tail, *head, *capacity;
	int64_t *cost, *supply;
	int64_t overflow_cost; /* of the arcs T -> S; 0 = there are none */
	int64_t pinned_cost;   /* flownet_pinned_cost() */
};

/* 0 or -ENOMEM, -ERANGE with err set. Release with flownet_network_free(), also after an error. */
int flownet_network_build(const struct flownet *net, struct flownet_network *network, struct error *err);
void flownet_network_free(struct flownet_network *network);

/*
 * The flow that the tasks' present machines mean on a network that was built before they moved there: each unit takes
 * the cheapest of its task's arcs that leads to its machine, the most direct of equal ones, to stay before all. Of
 * those that wait U_J holds the cheapest, so that the flow is optimal if the places are. flow[problem.arc_count] starts
 * at 0. 0 or -ENOMEM.
 */
int flownet_network_route(const struct flownet_network *network, const struct flownet *net, int32_t *flow);

/* Names for people; NULL members make J0, J0.T1, M0, R0. Called with the numbers that the flownet uses. */
struct flownet_names {
	const void *context;
	const char *(*job)(const void *context, uint32_t job);
	const char *(*task)(const void *context, uint32_t job, uint32_t task);
};

/* DIMACS min-cost flow: `p min`, n and a lines, nodes from 1, their names in comments. 0 or -errno. */
int flownet_network_write_dimacs(const struct flownet_network *network, const struct flownet *net,
				 const struct flownet_names *names, FILE *out);
/* Graphviz; flow may be NULL, else arcs that carry some are drawn heavy. */
int flownet_network_write_dot(const struct flownet_network *network, const struct flownet *net,
			      const struct flownet_names *names, const int32_t *flow, FILE *out);
/* "nomora.flownet/1": nodes with names and kinds, arcs with capacity, cost and flow. */
int flownet_network_write_json(const struct flownet_network *network, const struct flownet *net,
			       const struct flownet_names *names, const int32_t *flow, FILE *out);

#endif
