/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora.topology/1 and GraphML: accepted input is consistent; refused input gets a reason. */
#include <stdint.h>
#include <stdlib.h>

#include <model/topology.h>

#include "fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	char *text = fuzz_text(data, size);
	struct topology *topology = topology_parse_file("fuzz", text, size, 100, &err);

	free(text);
	if (!topology) {
		if (err.code == 0 || err.text[0] == '\0')
			abort();
		return 0;
	}
	for (uint32_t n = 0; n < topology->node_count; n++)
		if (topology_find_node(topology, topology->nodes[n].name) != (int64_t)n)
			abort();
	for (uint32_t l = 0; l < topology->link_count; l++) {
		const struct topology_link *link = &topology->links[l];

		if (link->a == link->b || link->a >= topology->node_count || link->b >= topology->node_count ||
		    !(link->MBps > 0) || !(link->back_MBps > 0) ||
		    topology_find_link(topology, link->b, link->a) != (int64_t)l)
			abort();
	}
	if (topology_connected(topology) < 0)
		abort();
	topology_destroy(topology);
	return 0;
}
