/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The accounting formats of batch systems and the table of jobs; the first byte chooses. A workload that was read can
 * be simulated. The tasks of a job of the table are numbered from 0.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <model/batch_trace.h>

static bool is_exponent(const uint8_t *data, size_t size, size_t at)
{
	return (data[at] == 'e' || data[at] == 'E') && at + 1 < size && strchr("0123456789+-", data[at + 1]);
}

/* A line may have a million tasks, too many for a fuzzer: numbers are cut to four digits without exponent. */
static char *shorten(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	size_t digits = 0;

	for (size_t i = 0; i < size; i++) {
		digits = isdigit(data[i]) ? digits + 1 : 0;
		text[i] = digits > 4 || is_exponent(data, size, i) ? ' ' : (char)data[i];
	}
	return text;
}

static void read_one(enum batch_format format, const char *text, size_t size)
{
	struct file_lines *lines = file_lines_from_memory("fuzz", text, size, NULL);
	struct workload_filter all = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1, .keep_single = true};
	struct workload *workload = workload_create();
	struct batch_report report;
	struct error err = {0};

	if (batch_trace_read(workload, format, lines, size % 2, &report, &err) != 0) {
		if (err.code == 0 || err.text[0] == '\0')
			abort(); /* a refusal says why */
	} else {
		if (workload_finish(workload, &all) != 0 || workload->job_count == 0)
			abort();
		for (size_t t = 0; t < workload->task_count; t++) {
			const struct workload_task *task = &workload->tasks[t];

			if (task->submit_us < 0 || task->run_us < WORKLOAD_TO_THE_END)
				abort();
			if (format == BATCH_CSV && task->index != t - workload->jobs[task->job].first_task)
				abort();
		}
	}
	for (size_t j = 0; j < workload->job_count && workload->jobs; j++) {
		struct job_graph *graph = workload_graph_of(workload, &workload->jobs[j], &err);

		if (graph && graph->task_count != workload->jobs[j].task_count)
			abort();
		job_graph_destroy(graph);
	}
	file_lines_close(lines);
	workload_destroy(workload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = shorten(data, size);

	read_one(size == 0        ? BATCH_SWF
		 : data[0] == 'J' ? BATCH_SACCT
		 : data[0] == 'j' ? BATCH_CSV
				  : BATCH_SWF,
		 text, size);
	free(text);
	return 0;
}
