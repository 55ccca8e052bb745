/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers, capacities and names of resources: links by direction, CPUs of hosts. */
#include <stdio.h>

#include "network_priv.h"

uint32_t network_resource_count(const struct network *network)
{
	return 2 * network->topology->link_count + network->topology->node_count;
}

double network_capacity(const struct network *network, uint32_t resource)
{
	const struct topology_link *link;

	if (resource >= 2 * network->topology->link_count)
		return network->cpu[resource - 2 * network->topology->link_count];
	link = &network->topology->links[resource / 2];
	if (!link->up)
		return 0;
	return resource % 2 ? link->back_MBps : link->MBps;
}

void network_resource_name(const struct network *network, uint32_t resource, char *text)
{
	const struct topology *topology = network->topology;
	enum { BYTES = 2 * TOPOLOGY_NAME_BYTES + 16 };

	if (resource >= 2 * topology->link_count) {
		snprintf(text, BYTES, "cpu of %s", topology->nodes[resource - 2 * topology->link_count].name);
	} else {
		const struct topology_link *link = &topology->links[resource / 2];
		const char *a = topology->nodes[link->a].name, *b = topology->nodes[link->b].name;

		snprintf(text, BYTES, "%s -> %s", resource % 2 ? b : a, resource % 2 ? a : b);
	}
}
