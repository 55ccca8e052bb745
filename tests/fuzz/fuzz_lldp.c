/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Networks from LLDP: accepted input is consistent; refused input gets a reason. The input is the files of the devices
 * a, b, ..., separated by bytes 0.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <model/topology.h>

#include "fuzz_text.h"

enum { FILES = 4 };

static void check(const struct topology *topology)
{
	for (uint32_t l = 0; l < topology->link_count; l++) {
		const struct topology_link *link = &topology->links[l];

		if (link->a == link->b || link->a >= topology->node_count || link->b >= topology->node_count ||
		    !(link->MBps > 0) || topology_find_link(topology, link->b, link->a) != (int64_t)l)
			abort();
	}
	if (topology->host_count == 0 || topology_connected(topology) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[FILES] = {"n/a.json", "n/b.json", "n/c.json", "n/d.json"};
	struct topology_lldp_file files[FILES];
	struct error err = {0};
	struct topology *topology;
	char *text = fuzz_text(data, size), *at = text;
	size_t count = 0;

	for (; count < FILES && at <= text + size; at += strlen(at) + 1) {
		files[count] = (struct topology_lldp_file){paths[count], at, strlen(at)};
		count++;
	}
	topology = topology_parse_lldp(files, count, "n", 100, &err);
	if (topology)
		check(topology);
	else if (err.code == 0 || err.text[0] == '\0')
		abort();
	topology_destroy(topology);
	free(text);
	return 0;
}
