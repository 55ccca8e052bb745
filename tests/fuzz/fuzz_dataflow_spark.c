/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz_dataflow_jobs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct dataflow_trace_options options = {0};
	struct error err = {0};
	struct dataflow *dataflow = jobs_create();

	jobs_check(dataflow, dataflow_parse_spark(dataflow, "fuzz", (const char *)data, size, &options, &err), &err);
	return 0;
}
