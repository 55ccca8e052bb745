/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.jsonl: an accepted file is consistent. */
#include <stdint.h>
#include <stdlib.h>

#include <model/jobs.h>

/* Each edge is in the lists of both of its tasks, with one weight. */
static void check_graph(const struct job_graph *graph, uint32_t tasks)
{
	double sum = 0;

	if (graph->task_count != tasks || graph->first[0] != 0 || graph->first[tasks] != 2 * graph->edge_count)
		abort();
	for (uint32_t t = 0; t < tasks; t++)
		for (size_t n = graph->first[t]; n < graph->first[t + 1]; n++) {
			const struct job_neighbour *neighbour = &graph->neighbours[n];

			if (neighbour->task >= tasks || neighbour->task == t || !(neighbour->weight > 0) ||
			    !(neighbour->MB >= 0))
				abort();
			sum += neighbour->task > t ? neighbour->weight : -neighbour->weight;
		}
	if (sum > 1e-3 || sum < -1e-3)
		abort();
}

static void check(const struct job *job)
{
	if (job->graph)
		check_graph(job->graph, job->task_count);
	if (!job->id[0] || !job->curve[0] || job->task_count == 0 || job->root >= job->task_count)
		abort();
	for (uint32_t t = 0; t < job->task_count; t++) {
		if (!job->tasks[t].name[0] || !(job->tasks[t].running_s >= 0))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_lines *lines = file_lines_from_memory("fuzz", (const char *)data, size, NULL);
	struct error err = {0};
	struct jobs *jobs;

	if (!lines)
		return 0;
	jobs = jobs_parse(lines, &err);
	if (!jobs && (err.code == 0 || err.text[0] == '\0'))
		abort(); /* a refusal says why */
	for (size_t j = 0; jobs && j < jobs->count; j++)
		check(&jobs->items[j]);
	jobs_destroy(jobs);
	file_lines_close(lines);
	return 0;
}
