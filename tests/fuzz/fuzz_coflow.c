/* SPDX-License-Identifier: BSD-3-Clause */
/* The coflow benchmark's format: every scenario of an accepted trace is consistent. */
#include <stdint.h>
#include <stdlib.h>

#include <model/recovery.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct coflow_trace *trace = coflow_read(file_lines_from_memory("fuzz", (const char *)data, size, &err), &err);
	struct recovery_scenario *s;

	if (!trace) {
		if (err.code == 0 || err.text[0] == '\0')
			abort(); /* a refusal says why */
		return 0;
	}
	if (coflow_flow_count(trace) > 10000 || coflow_port_count(trace) > 1000)
		goto out;
	s = coflow_scenario(trace, 1, 125, &err);
	for (uint32_t f = 0; s && f < s->flow_count; f++)
		if (s->flows[f].sent_MB > s->flows[f].MB || s->tasks[s->flows[f].to].server >= s->server_count)
			abort();
	recovery_destroy(s);
out:
	coflow_destroy(trace);
	return 0;
}
