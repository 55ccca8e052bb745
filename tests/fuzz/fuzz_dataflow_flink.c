/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz_dataflow_jobs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct dataflow *dataflow = jobs_create();

	jobs_check(dataflow, dataflow_parse_flink(dataflow, "fuzz", (const char *)data, size, &err), &err);
	return 0;
}
