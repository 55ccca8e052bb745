/* SPDX-License-Identifier: BSD-3-Clause */
/* dataflow_parse_swim(): accepted input is consistent; refused input gets a reason. */
#include <stdint.h>
#include <stdlib.h>

#include <model/dataflow.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct dataflow_trace_options options = {.tasks = 4, .split_MB = 128};
	struct error err = {0};
	struct dataflow *dataflow = dataflow_create(topology_fat_tree(2, 0, 100, NULL), 2);
	int code = dataflow_parse_swim(dataflow, "fuzz", (const char *)data, size, &options, &err);

	if (code < 0 && (err.code == 0 || err.text[0] == '\0'))
		abort();
	for (uint32_t j = 0; j < dataflow->job_count && code == 0; j++) {
		const struct dataflow_job *job = &dataflow->jobs[j];

		for (uint32_t e = 0; e < job->edge_count; e++)
			if (job->edges[e].from >= job->component_count || job->edges[e].to >= job->component_count)
				abort();
		for (uint32_t t = 0; t < job->task_count; t++)
			if (dataflow_component_of(job, t) >= job->component_count)
				abort();
	}
	dataflow_destroy(dataflow);
	return 0;
}
