/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz_dataflow_jobs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct dataflow *dataflow = jobs_create();
	double MBps = -1;

	jobs_check(dataflow, dataflow_parse_flink(dataflow, "fuzz", (const char *)data, size, &err), &err);
	err = (struct error){0};
	if (dataflow_parse_flink_rate("fuzz", (const char *)data, size, &MBps, &err) == 0 ? !(MBps >= 0)
											  : err.text[0] == '\0')
		abort();
	return 0;
}
