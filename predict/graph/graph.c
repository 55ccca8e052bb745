/* SPDX-License-Identifier: BSD-3-Clause */
#include <predict/graph/graph.h>

#include <errno.h>
#include <stdlib.h>

#include <base/array.h>

int execution_graph_init(struct execution_graph *graph, uint32_t ranks)
{
	*graph = (struct execution_graph){.ranks = ranks};
	graph->nodes = array_reserve(NULL, 1024, &graph->capacity, sizeof *graph->nodes);
	if (!graph->nodes)
		return -ENOMEM;
	graph->nodes[0] = (struct execution_node){0};
	graph->count = 1;
	return 0;
}

void execution_graph_free(struct execution_graph *graph)
{
	free(graph->nodes);
	*graph = (struct execution_graph){0};
}

uint32_t execution_add(struct execution_graph *graph, uint32_t rank, struct execution_edge a, struct execution_edge b)
{
	struct execution_node *nodes = graph->count < UINT32_MAX
					       ? array_grow(graph->nodes, graph->count, &graph->capacity, sizeof *nodes)
					       : NULL;

	if (!nodes)
		return EXECUTION_START;
	graph->nodes = nodes;
	nodes[graph->count] = (struct execution_node){
		.ns = {a.ns, b.ns},
		.from = {a.from, b.from},
		.rank = rank,
		.messages = {a.messages, b.messages},
	};
	return (uint32_t)graph->count++;
}

uint32_t execution_after(struct execution_graph *graph, uint32_t rank, uint32_t from, double ns)
{
	return execution_add(graph, rank, (struct execution_edge){.from = from, .ns = ns}, (struct execution_edge){0});
}

uint32_t execution_later(struct execution_graph *graph, uint32_t rank, uint32_t a, uint32_t b)
{
	struct execution_edge edge_a = {.from = a}, edge_b = {.from = b};

	return execution_add(graph, rank, edge_a, edge_b);
}

int loggps_check(const struct loggps *model, uint32_t ranks, struct error *err)
{
	if (!model->hosts || model->host_count == ranks)
		return 0;
	return error_set(err, EINVAL, "the list of hosts has %u, but the run has %u rank%s", model->host_count, ranks,
			 ranks == 1 ? "" : "s");
}
