/* SPDX-License-Identifier: BSD-3-Clause */
/* The first line is topology.json, the rest metrics.json. */
#include <string.h>

#include "fuzz_dataflow_jobs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	size_t first = end ? (size_t)(end - data) : size;
	struct dataflow_storm_text topology = {"topology", (const char *)data, first};
	struct dataflow_storm_text metrics = {"metrics", (const char *)data + first, size - first};
	struct error err = {0};
	struct dataflow *dataflow = jobs_create();

	jobs_check(dataflow, dataflow_parse_storm(dataflow, &topology, &metrics, &err), &err);
	return 0;
}
