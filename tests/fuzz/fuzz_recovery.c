/* SPDX-License-Identifier: BSD-3-Clause */
/* recovery.json: an accepted scenario is consistent and survives writing and reading. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <model/recovery.h>

#include "fuzz_text.h"

static void check(const struct recovery_scenario *s)
{
	for (uint32_t t = 0; t < s->task_count; t++) {
		if (s->tasks[t].server >= s->server_count || s->tasks[t].application >= s->application_count)
			abort();
		for (uint32_t b = 0; b < s->tasks[t].backup_count; b++)
			if (s->tasks[t].backups[b] >= s->server_count)
				abort();
	}
	for (uint32_t f = 0; f < s->flow_count; f++) {
		const struct recovery_flow *flow = &s->flows[f];

		if (flow->from >= s->task_count || flow->to >= s->task_count || flow->from == flow->to ||
		    s->tasks[flow->from].application != s->tasks[flow->to].application ||
		    !(recovery_flow_left_MB(s, flow) >= 0))
			abort();
	}
}

static void check_scenario(const char *input, size_t size)
{
	struct error err = {0};
	struct recovery_scenario *s = recovery_parse("fuzz", input, size, &err), *again;
	json_t *json;
	char *text;

	if (!s) {
		if (err.code == 0 || err.text[0] == '\0')
			abort(); /* a refusal says why */
		return;
	}
	check(s);
	json = recovery_to_json(s);
	text = json_to_text(json);
	again = recovery_parse("again", text, strlen(text), &err);
	if (!again || again->flow_count != s->flow_count || again->task_count != s->task_count)
		abort();
	recovery_destroy(again);
	recovery_destroy(s);
	json_decref(json);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	char *text = fuzz_text(data, size);
	struct recovery_scenario *network = recovery_network_parse("fuzz", text, size, 125, &err);

	if (!network && (err.code == 0 || err.text[0] == '\0'))
		abort();
	for (uint32_t n = 0; network && n < network->server_count; n++)
		if (!(network->servers[n].egress_MBps >= 0) || !(network->servers[n].ingress_MBps >= 0))
			abort();
	recovery_destroy(network);
	check_scenario(text, size);
	free(text);
	return 0;
}
