/* SPDX-License-Identifier: BSD-3-Clause */
/* A capture: its turns, their graph, and its run time, which is convex and starts at the recorded one. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <predict/graph/graph.h>
#include <predict/turns/turns.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_graph(const struct execution_graph *graph)
{
	for (size_t i = 1; i < graph->count; i++)
		for (int edge = 0; edge < 2; edge++)
			if (graph->nodes[i].from[edge] >= i || isnan(graph->nodes[i].ns[edge]))
				abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct turns turns;
	struct execution_graph graph;
	struct runtime runtime;
	double low_ns;

	if (size == 0)
		return 0; /* fmemopen() rejects an empty buffer */
	if (turns_read(packets_open_memory("fuzz", data, size, &err), "fuzz", 0, &turns, &err) == 0 &&
	    turns_build(&turns, &graph, &err) == 0) {
		check_graph(&graph);
		low_ns = turns_rtt_ns(&turns) / 2;
		if (runtime_find(&graph, low_ns, low_ns + 1e6, &runtime, &err) == 0 &&
		    runtime_at(&runtime, low_ns + 1e6) < runtime_at(&runtime, low_ns))
			abort();
		runtime_free(&runtime);
		execution_graph_free(&graph);
	}
	turns_free(&turns);
	return 0;
}
