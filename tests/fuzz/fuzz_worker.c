/* SPDX-License-Identifier: BSD-3-Clause */
/* The readers of a worker's plan and report: accepted input survives writing and reading. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <base/json.h>
#include <model/worker.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct worker_plan *plan = worker_plan_parse("fuzz", (const char *)data, size, &err);
	struct worker_report report;

	if (!plan && !err.text[0])
		abort();
	if (plan) {
		json_t *json = worker_plan_to_json(plan);
		char *text = json_dumps(json, 0);
		struct worker_plan *again = text ? worker_plan_parse("again", text, strlen(text), &err) : NULL;

		if (!again || again->edge_count != plan->edge_count || again->port != plan->port)
			abort();
		worker_plan_destroy(again);
		free(text);
		json_decref(json);
	}
	worker_plan_destroy(plan);
	err = (struct error){0};
	if (worker_report_parse("fuzz", (const char *)data, size, &report, &err) < 0 && !err.text[0])
		abort();
	return 0;
}
