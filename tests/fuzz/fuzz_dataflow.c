/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora.dataflow/1: accepted input is consistent; refused input gets a reason. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <model/dataflow.h>

/* Generating large networks takes time, and only the parser is tested here. */
static int names_a_large_network(const uint8_t *data, size_t size)
{
	size_t digits = 0;

	for (size_t i = 0; i < size; i++) {
		digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
		if (digits > 2)
			return 1;
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct dataflow *dataflow;

	if (names_a_large_network(data, size))
		return 0;
	dataflow = dataflow_parse("fuzz", (const char *)data, size, &err);
	if (!dataflow) {
		if (err.code == 0 || err.text[0] == '\0')
			abort();
		return 0;
	}
	for (uint32_t j = 0; j < dataflow->job_count; j++) {
		const struct dataflow_job *job = &dataflow->jobs[j];
		uint32_t tasks = 0;

		for (uint32_t c = 0; c < job->component_count; c++) {
			if (job->components[c].first_task != tasks)
				abort();
			tasks += job->components[c].task_count;
		}
		if (tasks != job->task_count)
			abort();
		for (uint32_t t = 0; t < tasks; t++)
			if (job->hosts[t] != DATAFLOW_NOWHERE && dataflow->slots[job->hosts[t]] == 0)
				abort();
	}
	dataflow_destroy(dataflow);
	return 0;
}
