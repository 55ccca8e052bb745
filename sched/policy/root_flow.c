/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes the machines of roots from the answer of the cost-scaling solver, instead of choosing them. The network is that
 * of the waiting roots: each has an arc to X at cost 0 and one to the sink at its cost of waiting (gamma); X -> rack ->
 * machine -> sink cost 0, with the free slots as capacity. All free slots are optimal, so the machines are those that
 * the solver happens to fill.
 */
#include <errno.h>
#include <stdlib.h>

#include <sched/mcf/algorithms.h>

#include "policy_priv.h"

struct root_flow {
	uint32_t *machines; /* [count] of the units of flow; the first `next` were used */
	size_t count, next;
	uint64_t round; /* flownet_rounds() of the answer */
};

/* The arrays of a problem; each array has room for all nodes or arcs. */
struct network {
	struct mcf_problem problem;
	int32_t *tail, *head, *capacity;
	int64_t *cost, *supply;
	int32_t first_machine_arc; /* arcs machine -> sink: from here on, in the order of `machines` */
	uint32_t *machines;
};

static void free_network(struct network *network)
{
	free(network->tail);
	free(network->head);
	free(network->capacity);
	free(network->cost);
	free(network->supply);
	free(network->machines);
}

static void add_arc(struct network *network, int32_t tail, int32_t head, int32_t capacity, int64_t cost)
{
	int32_t arc = network->problem.arc_count++;

	network->tail[arc] = tail;
	network->head[arc] = head;
	network->capacity[arc] = capacity;
	network->cost[arc] = cost;
}

static size_t count_roots(const struct flownet *net)
{
	size_t count, roots = 0;
	const uint32_t *jobs = flownet_waiting_jobs(net, &count);

	for (size_t i = 0; i < count; i++)
		roots += flownet_root_machine(net, jobs[i]) == FLOWNET_NONE;
	return roots;
}

static int build(struct network *network, const struct placer *placer, const struct flownet *net)
{
	const struct cost_layout *layout = placer->layout;
	size_t roots = count_roots(net), racks = layout->rack_count, machines = layout->machine_count;
	size_t nodes = roots + 1 + racks + machines + 1, arcs = 2 * roots + racks + 2 * machines;
	int32_t cluster = (int32_t)roots, rack = cluster + 1, machine = rack + (int32_t)racks, sink, found = 0;

	*network = (struct network){.tail = calloc(arcs, sizeof(int32_t)),
				    .head = calloc(arcs, sizeof(int32_t)),
				    .capacity = calloc(arcs, sizeof(int32_t)),
				    .cost = calloc(arcs, sizeof(int64_t)),
				    .supply = calloc(nodes, sizeof(int64_t)),
				    .machines = calloc(machines + 1, sizeof(uint32_t))};
	if (!network->tail || !network->head || !network->capacity || !network->cost || !network->supply ||
	    !network->machines)
		return -ENOMEM;
	sink = machine + (int32_t)machines;
	for (int32_t root = 0; root < cluster; root++) {
		network->supply[root] = 1;
		add_arc(network, root, cluster, 1, 0);
		add_arc(network, root, sink, 1, placer->settings.flow.gamma);
	}
	network->supply[sink] = -(int64_t)roots;
	for (uint32_t r = 0; r < racks; r++)
		add_arc(network, cluster, rack + (int32_t)r, (int32_t)flownet_free_in_rack(net, r), 0);
	for (uint32_t c = 0; c < layout->column_count; c++) {
		uint32_t m = layout->machine_of_column[c];

		if (m == COST_NO_MACHINE || flownet_free(net, m) == 0)
			continue;
		add_arc(network, rack + (int32_t)layout->cluster->machines[m].rack, machine + found,
			flownet_free(net, m), 0);
		network->machines[found++] = m;
	}
	network->first_machine_arc = network->problem.arc_count;
	for (int32_t i = 0; i < found; i++)
		add_arc(network, machine + i, sink, flownet_free(net, network->machines[i]), 0);
	network->problem.node_count = (int32_t)nodes;
	network->problem.tail = network->tail;
	network->problem.head = network->head;
	network->problem.capacity = network->capacity;
	network->problem.cost = network->cost;
	network->problem.supply = network->supply;
	return 0;
}

/* Solves, and lists the machine of each unit of flow. */
static int solve(struct root_flow *flow, const struct placer *placer, const struct flownet *net)
{
	struct mcf_solution solution = {0};
	struct network network;
	int code = build(&network, placer, net);
	uint32_t *larger = reallocarray(flow->machines, count_roots(net) + 1, sizeof *larger);

	if (larger)
		flow->machines = larger;
	else
		code = -ENOMEM;
	flow->count = flow->next = 0;
	flow->round = flownet_rounds(net);
	if (code == 0 && mcf_solve(mcf_algorithm_find("scaling"), &network.problem, &solution) != MCF_OPTIMAL)
		code = -ENOMEM;
	for (int32_t a = network.first_machine_arc; code == 0 && a < network.problem.arc_count; a++)
		for (int32_t unit = 0; unit < solution.flow[a]; unit++)
			flow->machines[flow->count++] = network.machines[a - network.first_machine_arc];
	mcf_solution_free(&solution);
	free_network(&network);
	return code;
}

uint32_t policy_flow_root(struct placer *placer, const struct flownet *net)
{
	struct root_flow *flow = placer->root_flow;

	if (!flow) {
		flow = placer->root_flow = calloc(1, sizeof *flow);
		if (!flow)
			return policy_draw_slot(placer, net, FLOWNET_NONE);
		flow->round = UINT64_MAX;
	}
	while (flow->round == flownet_rounds(net) && flow->next < flow->count) {
		uint32_t machine = flow->machines[flow->next++];

		if (flownet_free(net, machine) > 0)
			return machine;
	}
	if (solve(flow, placer, net) != 0 || flow->count == 0)
		return policy_draw_slot(placer, net, FLOWNET_NONE);
	return flow->machines[flow->next++];
}

void policy_root_flow_free(struct root_flow *flow)
{
	if (flow)
		free(flow->machines);
	free(flow);
}
