/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines about connections from a machine, in turns of two machines: what is sent never becomes negative or less. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

static void check(const json_t *list, json_t *most)
{
	const json_t *flow;
	size_t at;

	json_array_foreach (list, at, flow) {
		const char *from = json_string_value(json_object_get(flow, "from"));
		const char *to = json_string_value(json_object_get(flow, "to"));
		double MB = json_number_value(json_object_get(flow, "MB"));
		char pair[16];

		if (strcmp(from, to) == 0)
			abort();
		snprintf(pair, sizeof pair, "%s%s", from, to);
		if (MB < json_number_value(json_object_get(most, pair)))
			abort();
		json_object_set_new(most, pair, json_real(MB));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *next = text, *line;
	struct run_flows flows = {0};
	json_t *names = json_pack("{s:[ss], s:[ss], s:[ss]}", "a", "j", "a", "b", "j", "b", "c", "j", "c"),
	       *most = json_object(), *list;
	const char *machine = "m1";

	memcpy(text, data, size);
	text[size] = '\0';
	run_flows_begin(&flows);
	while ((line = strsep(&next, "\n"))) {
		if (line[0] == '-') {
			list = run_flows_end(&flows, names);
			check(list, most);
			json_decref(list);
			run_flows_begin(&flows);
			if (line[1])
				run_flows_keep(&flows, line[1] == '1' ? "m1" : "m2");
		} else if (line[0] == '+') {
			machine = strcmp(machine, "m1") ? "m1" : "m2";
		} else {
			run_flows_add(&flows, machine, line);
		}
	}
	list = run_flows_end(&flows, names);
	check(list, most);
	json_decref(list);
	json_decref(most);
	json_decref(names);
	run_flows_free(&flows);
	free(text);
	return 0;
}
