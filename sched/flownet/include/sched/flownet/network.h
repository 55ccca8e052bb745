/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network as in the paper, with a node per task, for display, other solvers and proofs. Built from the current
 * state of a flownet; pinned tasks have only the arc to their machine. If the capacity of U_J -> S may be too small for
 * the job's tasks, each of them has an arc to S that costs more than any detour, for tasks that cannot be routed
 * otherwise.
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
 * The flow that corresponds to the tasks' current machines, on a network that was built before they moved there: each
 * unit takes the cheapest of its task's arcs that lead to its machine; among equal ones the most direct, preferably the
 * arc for staying. Of the waiting tasks, U_J holds those that are cheapest there, so that the flow is optimal if the
 * placement is. flow[problem.arc_count] must be 0 at the beginning. 0 or -ENOMEM.
 */
int flownet_network_route(const struct flownet_network *network, const struct flownet *net, int32_t *flow);

/* Names to print; NULL members give J0, J0.T1, M0, R0. Called with the flownet's numbers. */
struct flownet_names {
	const void *context;
	const char *(*job)(const void *context, uint32_t job);
	const char *(*task)(const void *context, uint32_t job, uint32_t task);
};

/* DIMACS min-cost flow: `p min`, n and a lines, nodes from 1, their names in comments. 0 or -errno. */
int flownet_network_write_dimacs(const struct flownet_network *network, const struct flownet *net,
				 const struct flownet_names *names, FILE *out);
/* Graphviz; flow may be NULL, otherwise arcs with flow are drawn bold. */
int flownet_network_write_dot(const struct flownet_network *network, const struct flownet *net,
			      const struct flownet_names *names, const int32_t *flow, FILE *out);
/* "nomora.flownet/1": nodes with names and kinds, arcs with capacity, cost and flow. */
int flownet_network_write_json(const struct flownet_network *network, const struct flownet *net,
			       const struct flownet_names *names, const int32_t *flow, FILE *out);

#endif
