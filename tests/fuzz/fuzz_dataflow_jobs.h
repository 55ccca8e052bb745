/* SPDX-License-Identifier: BSD-3-Clause */
/* For the readers of other systems' jobs: a network, and what holds for every answer. */
#ifndef FUZZ_DATAFLOW_JOBS_H
#define FUZZ_DATAFLOW_JOBS_H

#include <stdint.h>
#include <stdlib.h>

#include <model/dataflow.h>

static inline struct dataflow *jobs_create(void)
{
	return dataflow_create(topology_fat_tree(2, 0, 100, NULL), 2);
}

/* Accepted input is consistent; refused input gets a reason. Destroys the dataflow. */
static inline void jobs_check(struct dataflow *dataflow, int code, const struct error *err)
{
	if (code < 0 && (err->code == 0 || err->text[0] == '\0'))
		abort();
	for (uint32_t j = 0; code == 0 && j < dataflow->job_count; j++) {
		const struct dataflow_job *job = &dataflow->jobs[j];

		for (uint32_t e = 0; e < job->edge_count; e++)
			if (job->edges[e].from >= job->component_count || job->edges[e].to >= job->component_count ||
			    job->edges[e].from == job->edges[e].to || !(job->edges[e].selectivity > 0))
				abort();
		for (uint32_t t = 0; t < job->task_count; t++)
			if (dataflow_component_of(job, t) >= job->component_count || job->hosts[t] != DATAFLOW_NOWHERE)
				abort();
	}
	dataflow_destroy(dataflow);
}

#endif
