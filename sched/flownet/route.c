/* SPDX-License-Identifier: BSD-3-Clause */
#include <flownet/network.h>

#include <errno.h>
#include <stdlib.h>

/* Arcs by the place where they are looked for: towards a rack (from X), towards a machine (from its rack), to S. */
struct arc_index {
	int32_t *to_node;   /* [nodes] the arc from X to this rack, or from its rack to this machine */
	int32_t *from_node; /* [nodes] the arc from this node to the sink */
};

static void index_arcs(const struct flownet_network *network, struct arc_index *index)
{
	for (int32_t v = 0; v < network->problem.node_count; v++)
		index->to_node[v] = index->from_node[v] = -1;
	for (int32_t a = 0; a < network->problem.arc_count; a++) {
		int32_t tail = network->tail[a], head = network->head[a];

		if (network->nodes[tail].kind == FLOWNET_NODE_CLUSTER || network->nodes[tail].kind == FLOWNET_NODE_RACK)
			index->to_node[head] = a;
		if (network->nodes[head].kind == FLOWNET_NODE_SINK && index->from_node[tail] < 0)
			index->from_node[tail] = a;
	}
}

/* Does an arc to `node` lead to the machine node (-1: to waiting)? */
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

/* One unit from the head of a task's arc on to the sink. */
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

static bool is_full(const struct flownet_network *network, const struct arc_index *index, int32_t node,
		    const int32_t *flow)
{
	return flow[index->from_node[node]] == network->capacity[index->from_node[node]];
}

int flownet_network_route(const struct flownet_network *network, const struct flownet *net, int32_t *flow)
{
	size_t nodes = (size_t)network->problem.node_count;
	struct arc_index index = {
		.to_node = malloc((nodes + 1) * sizeof *index.to_node),
		.from_node = malloc((nodes + 1) * sizeof *index.from_node),
	};
	int32_t *machine_node = calloc((size_t)flownet_cluster(net)->machine_count + 1, sizeof *machine_node);
	int32_t arcs = network->problem.arc_count;

	if (!index.to_node || !index.from_node || !machine_node) {
		free(index.to_node);
		free(index.from_node);
		free(machine_node);
		return -ENOMEM;
	}
	index_arcs(network, &index);
	for (int32_t v = 0; v < (int32_t)nodes; v++) {
		if (network->nodes[v].kind == FLOWNET_NODE_MACHINE)
			machine_node[network->nodes[v].number] = v;
	}
	for (int32_t a = 0; a < arcs;) {
		int32_t task = network->tail[a], best = -1, machine, target;

		if (network->nodes[task].kind != FLOWNET_NODE_TASK ||
		    network->nodes[network->head[a]].kind == FLOWNET_NODE_SINK) {
			a++;
			continue;
		}
		machine = flownet_task_machine(net, network->nodes[task].number, network->nodes[task].task);
		target = machine == FLOWNET_NONE ? -1 : machine_node[machine];
		for (; a < arcs && network->tail[a] == task; a++) {
			if (leads_to(network, &index, network->head[a], target) &&
			    (best < 0 || network->cost[a] <= network->cost[best]))
				best = a;
		}
		if (target < 0 && index.from_node[task] >= 0 && is_full(network, &index, network->head[best], flow)) {
			flow[index.from_node[task]]++;
		} else if (best >= 0) {
			flow[best]++;
			send(network, &index, network->head[best], target, flow);
		}
	}
	free(index.to_node);
	free(index.from_node);
	free(machine_node);
	return 0;
}
