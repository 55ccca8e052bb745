/* SPDX-License-Identifier: BSD-3-Clause */
/* A Topology-Map: accepted paths lead along links; refused input gets a reason. The input comes without checksum. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <model/path_map.h>

enum { K = 3 };

/* Walks all paths of one pair as sched/topology does. */
static void walk(const struct topology_adjacency *adjacency, const struct path_map_to *to, uint32_t s, uint32_t t)
{
	const uint16_t *at = to->ports + to->first[s], *end = to->ports + to->first[s + 1];
	uint32_t paths = 0;

	for (; at < end; paths++) {
		uint32_t node = s, links = *at++;

		if (links > end - at)
			abort();
		for (uint32_t i = 0; i < links; i++)
			node = adjacency->to[adjacency->first[node] + *at++];
		if (node != t)
			abort();
	}
	if (paths > K)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct topology *topology = topology_from_argument("leafspine:2,2,4", 100, 0, NULL);
	struct topology_adjacency *adjacency = topology_adjacency_create(topology);
	struct path_map map;
	char *bytes = malloc(size + sizeof(uint64_t));
	uint64_t checksum = path_map_checksum((const char *)data, size);

	if (size > 0)
		memcpy(bytes, data, size);
	memcpy(bytes + size, &checksum, sizeof checksum);
	path_map_init(&map, topology, K, 4, 1);
	if (path_map_parse(&map, topology, adjacency, "fuzz", bytes, size + sizeof checksum, &err) == 0) {
		for (uint32_t t = 0; t < map.node_count; t++)
			for (uint32_t s = 0; map.to[t].first && s < t; s++)
				walk(adjacency, &map.to[t], s, t);
	} else if (err.code == 0 || err.text[0] == '\0') {
		abort();
	}
	path_map_clear(&map);
	free(bytes);
	topology_adjacency_destroy(adjacency);
	topology_destroy(topology);
	return 0;
}
