/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/flownet/network.h>

#include <errno.h>
#include <stdlib.h>

#include "flownet_priv.h"

/* The arcs that all tasks share, indexed by node. */
struct arc_index {
	int32_t *to_node;   /* [nodes] for a rack, the arc from X to it; for a machine, the arc from its rack to it */
	int32_t *from_node; /* [nodes] the arc from this node to the sink */
	int32_t *node_of_machine;
};

static void free_index(struct arc_index *index)
{
	free(index->to_node);
	free(index->from_node);
	free(index->node_of_machine);
}

/* 0 or -ENOMEM; call free_index() in either case. */
static int index_arcs(const struct flownet_network *network, const struct flownet *net, struct arc_index *index)
{
	size_t nodes = (size_t)network->problem.node_count;

	index->to_node = malloc((nodes + 1) * sizeof *index->to_node);
	index->from_node = malloc((nodes + 1) * sizeof *index->from_node);
	index->node_of_machine = calloc((size_t)net->machine_count + 1, sizeof *index->node_of_machine);
	if (!index->to_node || !index->from_node || !index->node_of_machine)
		return -ENOMEM;
	for (int32_t v = 0; v < network->problem.node_count; v++) {
		index->to_node[v] = index->from_node[v] = -1;
		if (network->nodes[v].kind == FLOWNET_NODE_MACHINE)
			index->node_of_machine[network->nodes[v].number] = v;
	}
	for (int32_t a = 0; a < network->problem.arc_count; a++) {
		int32_t tail = network->tail[a], head = network->head[a];

		if (network->nodes[tail].kind == FLOWNET_NODE_CLUSTER || network->nodes[tail].kind == FLOWNET_NODE_RACK)
			index->to_node[head] = a;
		if (network->nodes[head].kind == FLOWNET_NODE_SINK && index->from_node[tail] < 0)
			index->from_node[tail] = a;
	}
	return 0;
}

/* True if a task's arc to `node` leads to `target`: a machine node, or -1 for waiting. */
static bool leads_to(const struct flownet_network *network, const struct arc_index *index, int32_t node, int32_t target)
{
	switch (network->nodes[node].kind) {
	case FLOWNET_NODE_UNSCHEDULED:
		return target < 0;
	case FLOWNET_NODE_CLUSTER:
		return target >= 0;
	case FLOWNET_NODE_RACK:
		return target >= 0 && index->to_node[target] >= 0 && network->tail[index->to_node[target]] == node;
	default:
		return node == target;
	}
}

/* Sends one unit from `node`, the head of a task's arc, through the machine `target` to the sink. */
static void send(const struct flownet_network *network, const struct arc_index *index, int32_t node, int32_t target,
		 int32_t *flow)
{
	if (network->nodes[node].kind == FLOWNET_NODE_CLUSTER) {
		node = network->tail[index->to_node[target]];
		flow[index->to_node[node]]++;
	}
	if (network->nodes[node].kind == FLOWNET_NODE_RACK) {
		flow[index->to_node[target]]++;
		node = target;
	}
	flow[index->from_node[node]]++;
}

/* Length of an arc's path: 0 if direct (to the machine or to waiting), 1 through the rack, 2 through the cluster. */
static int detour(const struct flownet_network *network, int32_t arc)
{
	enum flownet_node_kind kind = network->nodes[network->head[arc]].kind;

	return kind == FLOWNET_NODE_CLUSTER ? 2 : kind == FLOWNET_NODE_RACK;
}

/*
 * The cheapest of the task's arcs first..end-1 that lead to the target, or -1. Among equally cheap arcs: the most
 * direct one; among these, the first. The arc to the machine where the task runs comes first, so a running task keeps
 * it.
 */
static int32_t best_arc(const struct flownet_network *network, const struct arc_index *index, int32_t first,
			int32_t end, int32_t target)
{
	int32_t best = -1;

	for (int32_t a = first; a < end; a++) {
		if (!leads_to(network, index, network->head[a], target))
			continue;
		if (best < 0 || network->cost[a] < network->cost[best] ||
		    (network->cost[a] == network->cost[best] && detour(network, a) < detour(network, best)))
			best = a;
	}
	return best;
}

/*
 * Sends each job's waiting units through the job's U_J as far as the capacity of U_J -> S allows, and the others over
 * their own arcs to S.
 */
static void send_waiters(const struct flownet_network *network, const struct arc_index *index,
			 struct net_waiter *waiters, size_t count, int32_t *flow)
{
	net_waiters_sort(waiters, count);
	for (size_t i = 0; i < count; i++) {
		int32_t arc = waiters[i].number;
		int32_t onward = index->from_node[network->head[arc]], aside = index->from_node[network->tail[arc]];

		if (flow[onward] == network->capacity[onward] && aside >= 0) {
			flow[aside]++;
		} else {
			flow[arc]++;
			flow[onward]++;
		}
	}
}

/* Routes the units that are on machines, and lists the waiting ones. Returns the number listed. */
static size_t send_placed(const struct flownet_network *network, const struct flownet *net,
			  const struct arc_index *index, struct net_waiter *waiters, int32_t *flow)
{
	int32_t arcs = network->problem.arc_count, end;
	size_t count = 0;

	for (int32_t a = 0; a < arcs; a = end) {
		int32_t tail = network->tail[a], best, machine;
		const struct flownet_node *task = &network->nodes[tail];

		for (end = a + 1; end < arcs && network->tail[end] == tail; end++)
			;
		if (task->kind != FLOWNET_NODE_TASK || network->nodes[network->head[a]].kind == FLOWNET_NODE_SINK)
			continue;
		machine = flownet_task_machine(net, task->number, task->task);
		best = best_arc(network, index, a, end, machine == FLOWNET_NONE ? -1 : index->node_of_machine[machine]);
		if (best >= 0 && machine == FLOWNET_NONE) {
			waiters[count++] =
				(struct net_waiter){.job = task->number, .cost = network->cost[best], .number = best};
		} else if (best >= 0) {
			flow[best]++;
			send(network, index, network->head[best], index->node_of_machine[machine], flow);
		}
	}
	return count;
}

int flownet_network_route(const struct flownet_network *network, const struct flownet *net, int32_t *flow)
{
	struct net_waiter *waiters = malloc(((size_t)network->problem.node_count + 1) * sizeof *waiters);
	struct arc_index index = {0};
	int code = index_arcs(network, net, &index);

	if (!waiters)
		code = -ENOMEM;
	if (code == 0)
		send_waiters(network, &index, waiters, send_placed(network, net, &index, waiters, flow), flow);
	free(waiters);
	free_index(&index);
	return code;
}
