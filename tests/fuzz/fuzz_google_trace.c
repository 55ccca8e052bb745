/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of Google's trace; a line "#" separates machine events from task events. A workload that was read can be
 * simulated.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <model/google_trace.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *middle = memmem(text, size, "#\n", 2);
	size_t first = middle ? (size_t)(middle - text) : 0, skip = middle ? first + 2 : 0;
	struct workload_filter filter = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1, .keep_single = size % 2};
	struct workload *workload = workload_create();
	struct google_trace_report report;
	struct google_trace_reader *reader = google_trace_reader_create(workload, false, &report);
	struct error err = {0};
	uint64_t last = 0;

	if (google_trace_read_machines(reader, file_lines_from_memory("m", text, first, &err), &err) != 0 ||
	    google_trace_read_tasks(reader, file_lines_from_memory("t", text + skip, size - skip, &err), &err) != 0)
		abort(); /* bad rows are only counted; nothing else can fail */
	google_trace_reader_finish(reader, &err);
	if (workload_finish(workload, &filter) != 0)
		abort();
	for (size_t j = 0; j < workload->job_count; j++) {
		const struct workload_job *job = &workload->jobs[j];

		if (job->first_task != last || job->task_count == 0)
			abort();
		for (uint32_t t = 0; t < job->task_count; t++) {
			const struct workload_task *task = &workload->tasks[job->first_task + t];

			if (task->submit_us < 0 || task->run_us < WORKLOAD_TO_THE_END || task->job != j)
				abort();
		}
		last += job->task_count;
	}
	if (last != workload->task_count)
		abort();
	google_trace_reader_destroy(reader);
	workload_destroy(workload);
	return 0;
}
