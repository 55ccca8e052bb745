/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

#include <stdio.h>

static const char *text_or(const json_t *object, const char *key, const char *fallback)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : fallback;
}

void client_print_decisions(const json_t *decisions)
{
	const json_t *decision;
	size_t at;

	if (json_array_size(decisions) > 0)
		printf("%-7s %-32s %-16s %-16s %12s %12s\n", "KIND", "TASK", "FROM", "TO", "RTT TO ROOT",
		       "PERFORMANCE");
	json_array_foreach (decisions, at, decision) {
		char task[80];

		snprintf(task, sizeof task, "%s/%s", text_or(decision, "job", ""), text_or(decision, "task", ""));
		printf("%-7s %-32s %-16s %-16s", text_or(decision, "kind", ""), task, text_or(decision, "from", "-"),
		       text_or(decision, "to", "-"));
		if (json_is_true(json_object_get(decision, "root")))
			puts("         root");
		else
			printf(" %9.1f us %12.3f\n", json_number_value(json_object_get(decision, "rtt_us")),
			       json_number_value(json_object_get(decision, "performance")));
	}
}
