/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules in GOAL: of each accepted one, the run time rises with the latency and is convex. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <predict/goal/goal.h>
#include <predict/graph/graph.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct loggps model = {1000, 10, 2, 64};
	struct execution_graph graph;
	struct runtime runtime = {0};
	struct error err = {0};
	double times[3];

	if (goal_read(file_lines_from_memory("fuzz", (const char *)data, size, &err), &model, &graph, &err) < 0) {
		if (err.code == 0 || err.text[0] == '\0')
			abort(); /* a refusal says why */
	} else if (runtime_find(&graph, 0, 2000, &runtime, &err) == 0) {
		for (int i = 0; i < 3; i++)
			times[i] = runtime_at(&runtime, 1000.0 * i);
		if (times[0] > times[1] || times[1] > times[2] ||
		    times[1] - times[0] > times[2] - times[1] + 1e-9 * fabs(times[2]))
			abort();
	}
	runtime_free(&runtime);
	execution_graph_free(&graph);
	return 0;
}
