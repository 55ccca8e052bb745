/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include <probe/rtt/capture.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count_pair(void *context, const struct capture_sample *sample)
{
	uint64_t *pairs = context;

	(void)sample;
	++*pairs;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct capture_counters counters = {0};
	struct error err = {0};
	uint64_t pairs = 0;

	if (size == 0)
		return 0; /* fmemopen() rejects an empty buffer */
	capture_read(packets_open_memory("fuzz", data, size, &err), 862, (1U << CAPTURE_PROTOCOLS) - 1, count_pair,
		     &pairs, &counters, &err);
	if (pairs != counters.pairs || counters.pairs > counters.requests || counters.pairs > counters.answers)
		abort();
	return 0;
}
