/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds the whole network. Order of the nodes: cluster, sink, racks, machines, then for each job its "unscheduled"
 * node and its tasks.
 */
#include <sched/flownet/network.h>

#include <errno.h>
#include <stdlib.h>

#include "flownet_priv.h"

enum { NODE_CLUSTER = 0, NODE_SINK = 1, NODE_FIXED = 2 };

struct builder {
	const struct flownet *net;
	struct flownet_network *network;
	size_t nodes, arcs;
	size_t node_room[2], arc_room[4];
	int64_t highest_cost;
	int code;
};

static int32_t rack_node(uint32_t rack)
{
	return (int32_t)(NODE_FIXED + rack);
}

static int32_t machine_node(const struct flownet *net, uint32_t machine)
{
	return (int32_t)(NODE_FIXED + net->rack_count + machine);
}

static int32_t add_node(struct builder *builder, struct flownet_node node, int64_t supply)
{
	struct flownet_network *network = builder->network;

	if (builder->code != 0)
		return 0;
	if (builder->nodes >= INT32_MAX - 1)
		builder->code = -ERANGE;
	else if (net_reserve((void **)&network->nodes, &builder->node_room[0], builder->nodes + 1,
			     sizeof *network->nodes) != 0 ||
		 net_reserve((void **)&network->supply, &builder->node_room[1], builder->nodes + 1,
			     sizeof *network->supply) != 0)
		builder->code = -ENOMEM;
	if (builder->code != 0)
		return 0;
	network->nodes[builder->nodes] = node;
	network->supply[builder->nodes] = supply;
	return (int32_t)builder->nodes++;
}

static void add_arc(struct builder *builder, int32_t tail, int32_t head, int32_t capacity, int64_t cost)
{
	struct flownet_network *network = builder->network;
	size_t at = builder->arcs;

	if (builder->code != 0)
		return;
	if (at >= INT32_MAX - 1)
		builder->code = -ERANGE;
	else if (net_reserve((void **)&network->tail, &builder->arc_room[0], at + 1, sizeof *network->tail) != 0 ||
		 net_reserve((void **)&network->head, &builder->arc_room[1], at + 1, sizeof *network->head) != 0 ||
		 net_reserve((void **)&network->capacity, &builder->arc_room[2], at + 1, sizeof *network->capacity) !=
			 0 ||
		 net_reserve((void **)&network->cost, &builder->arc_room[3], at + 1, sizeof *network->cost) != 0)
		builder->code = -ENOMEM;
	if (builder->code != 0)
		return;
	network->tail[at] = tail;
	network->head[at] = head;
	network->capacity[at] = capacity;
	network->cost[at] = cost;
	if (cost > builder->highest_cost)
		builder->highest_cost = cost;
	builder->arcs++;
}

/*
 * The machine's capacity in the network. It includes the slots of pinned tasks, but not of tasks whose unit goes
 * elsewhere: those that should leave or are moving away.
 */
static int32_t machine_width(const struct net_machine *machine)
{
	int32_t pinned = net_machine_is_shut(machine) ? machine->running : machine->pinned;

	return net_machine_capacity(machine) + pinned - machine->unseen;
}

static void add_machines(struct builder *builder)
{
	const struct flownet *net = builder->net;
	int32_t *rack_width = calloc((size_t)net->rack_count + 1, sizeof *rack_width);

	if (!rack_width) {
		builder->code = -ENOMEM;
		return;
	}
	add_node(builder, (struct flownet_node){.kind = FLOWNET_NODE_CLUSTER}, 0);
	add_node(builder, (struct flownet_node){.kind = FLOWNET_NODE_SINK}, 0);
	for (uint32_t r = 0; r < net->rack_count; r++)
		add_node(builder, (struct flownet_node){.kind = FLOWNET_NODE_RACK, .number = r}, 0);
	for (uint32_t m = 0; m < net->machine_count; m++) {
		int32_t width = machine_width(&net->machines[m]);

		rack_width[net->machines[m].rack] += width;
		add_node(builder, (struct flownet_node){.kind = FLOWNET_NODE_MACHINE, .number = m}, 0);
	}
	for (uint32_t r = 0; r < net->rack_count; r++)
		add_arc(builder, NODE_CLUSTER, rack_node(r), rack_width[r], 0);
	for (uint32_t m = 0; m < net->machine_count; m++) {
		int32_t width = machine_width(&net->machines[m]);

		if (!net->machines[m].present)
			continue;
		add_arc(builder, rack_node(net->machines[m].rack), machine_node(net, m), width, 0);
		add_arc(builder, machine_node(net, m), NODE_SINK, width, 0);
	}
	free(rack_width);
}

/* Adds the arcs in the row of a task that may move; the arc to the task's own machine is added separately. */
static void add_row(struct builder *builder, int32_t node, const struct cost_row *row, int32_t weight)
{
	if (row->cluster_cost != COST_ABSENT)
		add_arc(builder, node, NODE_CLUSTER, 1, row->cluster_cost * weight);
	for (uint32_t i = 0; i < row->rack_count; i++)
		add_arc(builder, node, rack_node((uint32_t)row->racks[i].target), 1, row->racks[i].cost * weight);
	for (uint32_t i = 0; i < row->machine_count; i++)
		add_arc(builder, node, machine_node(builder->net, (uint32_t)row->machines[i].target), 1,
			row->machines[i].cost * weight);
}

static void add_task(struct builder *builder, uint32_t job, uint32_t task, int32_t unscheduled_node)
{
	const struct flownet *net = builder->net;
	const struct net_job *entry = &net->jobs[job];
	const struct net_task *state = &entry->tasks[task];
	bool root = net->policy.root_first && task == entry->root;
	bool pinned = net_is_pinned(net, entry, task);
	const struct cost_row *row;
	int32_t node, weight = net->ages[job].weight;

	if (state->machine == TASK_ABSENT || !net_takes_part(net, entry, task))
		return;
	node = add_node(builder, (struct flownet_node){.kind = FLOWNET_NODE_TASK, .number = job, .task = task}, 1);
	if (builder->code == 0)
		builder->network->supply[NODE_SINK]--;
	if (net_task_runs(state) && state->origin != ORIGIN_LEAVES) {
		bool discounted;
		int32_t cost = net_running_cost(net, job, task, &discounted);

		add_arc(builder, node, machine_node(net, (uint32_t)state->machine), 1, cost * weight);
		if (pinned)
			return;
	}
	add_arc(builder, node, unscheduled_node, 1, net_unscheduled_cost(net, entry, task) * weight);
	if (root) {
		add_arc(builder, node, NODE_CLUSTER, 1, 0);
		return;
	}
	if (net->others_held)
		return;
	row = net->policy.row(net->policy.context, job, net_root_machine(entry));
	if (row)
		add_row(builder, node, row, weight);
	else
		builder->code = -ENOMEM;
}

static void add_job(struct builder *builder, uint32_t job)
{
	const struct net_job *entry = net_job_at(builder->net, job);
	struct flownet_node unscheduled = {.kind = FLOWNET_NODE_UNSCHEDULED, .number = job};
	int32_t node;

	if (!entry || entry->waiting + entry->running == 0)
		return;
	node = add_node(builder, unscheduled, 0);
	add_arc(builder, node, NODE_SINK, net_unscheduled_width(builder->net, entry), 0);
	for (uint32_t t = 0; t < entry->task_limit; t++)
		add_task(builder, job, t, node);
}

/* Adds, for each task that may wait, an arc to S that is used only if there is no other path. */
static void add_overflow(struct builder *builder)
{
	struct flownet_network *network = builder->network;
	size_t arcs = builder->arcs;

	if (builder->net->settings.unscheduled_capacity == 0)
		return;
	network->overflow_cost = (builder->highest_cost + 1) * (int64_t)(builder->nodes + 1);
	for (size_t a = 0; a < arcs && builder->code == 0; a++) {
		if (network->nodes[network->head[a]].kind == FLOWNET_NODE_UNSCHEDULED)
			add_arc(builder, network->tail[a], NODE_SINK, 1, network->overflow_cost);
	}
}

int flownet_network_build(const struct flownet *net, struct flownet_network *network, struct error *err)
{
	struct builder builder = {.net = net, .network = network};

	*network = (struct flownet_network){0};
	add_machines(&builder);
	for (size_t i = 0; i < net->live.count && builder.code == 0; i++)
		add_job(&builder, net->live.jobs[i]);
	add_overflow(&builder);
	network->pinned_cost = flownet_pinned_cost(net);
	network->problem = (struct mcf_problem){
		.node_count = (int32_t)builder.nodes,
		.arc_count = (int32_t)builder.arcs,
		.tail = network->tail,
		.head = network->head,
		.capacity = network->capacity,
		.cost = network->cost,
		.supply = network->supply,
	};
	if (builder.code == -ERANGE)
		return error_set(err, ERANGE, "the network has more nodes or arcs than 31 bits can number");
	return builder.code == 0 ? 0 : error_set(err, ENOMEM, "out of memory");
}

void flownet_network_free(struct flownet_network *network)
{
	free(network->nodes);
	free(network->tail);
	free(network->head);
	free(network->capacity);
	free(network->cost);
	free(network->supply);
	*network = (struct flownet_network){0};
}
