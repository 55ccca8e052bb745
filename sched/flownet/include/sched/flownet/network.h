/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network as in the paper, with a node per task, for display, other solvers and proofs. It is built from the
 * current state of a flownet; pinned tasks have only the arc to their machine. If the capacity of U_J -> S may be too
 * small for the job's tasks, each of them also has an arc to S. That arc costs more than any other path, so only tasks
 * without another path use it.
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
 * Computes the flow that puts the tasks on their current machines. The network must have been built before the tasks
 * moved there. Each unit takes the cheapest of its task's arcs that lead to the machine. Among equally cheap arcs, it
 * takes the most direct one; among direct arcs, the arc for staying. U_J gets the waiting tasks whose arcs to it cost
 * least, so the flow is optimal if the placement is. flow[problem.arc_count] must be all 0. 0 or -ENOMEM.
 */
int flownet_network_route(const struct flownet_network *network, const struct flownet *net, int32_t *flow);

/*
 * Functions that return names to print, given the flownet's numbers. Without them, jobs are J0, J1, ... and tasks T0,
 * T1, ...
 */
struct flownet_names {
	const void *context;
	const char *(*job)(const void *context, uint32_t job);
	const char *(*task)(const void *context, uint32_t job, uint32_t task);
};

/*
 * Writes the DIMACS min-cost flow format: `p min`, n and a lines. Nodes are numbered from 1; comments give their names.
 * 0 or -errno.
 */
int flownet_network_write_dimacs(const struct flownet_network *network, const struct flownet *net,
				 const struct flownet_names *names, FILE *out);
/* Writes Graphviz. flow may be NULL; otherwise arcs with flow are drawn bold. 0 or -errno. */
int flownet_network_write_dot(const struct flownet_network *network, const struct flownet *net,
			      const struct flownet_names *names, const int32_t *flow, FILE *out);
/* Writes "nomora.flownet/1": nodes with names and kinds, arcs with capacity, cost and flow. 0 or -errno. */
int flownet_network_write_json(const struct flownet_network *network, const struct flownet *net,
			       const struct flownet_names *names, const int32_t *flow, FILE *out);

#endif
