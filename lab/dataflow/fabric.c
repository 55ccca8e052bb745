/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

static int match_nodes(struct fabric *fabric, struct error *err)
{
	const struct topology *topology = network_topology(fabric->network);
	const struct lab *lab = fabric->lab;

	for (uint32_t n = 0; n < topology->node_count; n++) {
		bool is_host = topology->nodes[n].kind == TOPOLOGY_HOST;

		fabric->node_of[n] = -1;
		for (int i = 0; i < lab->host_count + lab->switch_count; i++)
			if (strcmp(lab_node_name(lab, i), topology->nodes[n].name) == 0)
				fabric->node_of[n] = i;
		if (fabric->node_of[n] < 0 || (fabric->node_of[n] < lab->host_count) != is_host)
			return error_set(err, EINVAL, "lab '%s' lacks a %s of the scenario's network: '%s'", lab->name,
					 is_host ? "host" : "switch", topology->nodes[n].name);
	}
	return 0;
}

int fabric_init(struct fabric *fabric, const struct lab *lab, const struct network *network, struct error *err)
{
	const struct topology *topology = network_topology(network);
	size_t pairs = (size_t)lab->host_count * (size_t)lab->host_count;

	*fabric = (struct fabric){.lab = lab, .network = network};
	fabric->node_of = malloc(topology->node_count * sizeof *fabric->node_of + 1);
	fabric->routes = calloc(pairs + 1, sizeof *fabric->routes);
	if (!fabric->node_of || !fabric->routes)
		return error_set(err, ENOMEM, "out of memory");
	return match_nodes(fabric, err);
}

void fabric_clear(struct fabric *fabric)
{
	free(fabric->node_of);
	free(fabric->routes);
	free(fabric->route_nodes);
}

/*
 * Lists in nodes[] the switches on the current route between two hosts, in the order from `from` to `to`. `from` and
 * `to` are nodes of the topology; nodes[] are nodes of the lab. Returns the number of switches, 0 if there is no route,
 * or -ENOMEM.
 */
static int trace_route(const struct fabric *fabric, struct network *network, uint32_t from, uint32_t to, int *nodes)
{
	const struct topology *topology = network_topology(network);
	int64_t number = network_route_of(network, from, to);
	uint32_t low = from < to ? from : to, at = low, count = 0;
	struct network_route route;
	int code = number < 0 ? -ENOENT : network_route(network, from, to, (uint32_t)number, &route);

	if (code < 0)
		return code == -ENOENT ? 0 : code;
	for (uint32_t r = 0; r + 1 < route.count; r++) {
		const struct topology_link *link = &topology->links[network_route_link(&route, r) / 2];

		at = link->a == at ? link->b : link->a;
		nodes[from == low ? count : route.count - 2 - count] = fabric->node_of[at];
		count++;
	}
	return (int)count;
}

int fabric_list_routes(struct fabric *fabric, struct network *network, struct error *err)
{
	const struct topology *topology = network_topology(network);
	size_t used = 0;

	fabric->route_count = 0;
	for (uint32_t from = 0; from < topology->node_count; from++)
		for (uint32_t to = 0; to < topology->node_count; to++) {
			int *nodes = array_reserve(fabric->route_nodes, used + topology->node_count,
						   &fabric->route_nodes_capacity, sizeof *nodes);
			bool hosts = from != to && topology->nodes[from].kind == TOPOLOGY_HOST &&
				     topology->nodes[to].kind == TOPOLOGY_HOST;
			int length = !nodes  ? -ENOMEM
				     : hosts ? trace_route(fabric, network, from, to, nodes + used)
					     : 0;

			fabric->route_nodes = nodes ? nodes : fabric->route_nodes;
			if (length < 0)
				return error_set(err, ENOMEM, "out of memory");
			if (length > 0)
				fabric->routes[fabric->route_count++] =
					(struct lab_route){.from = fabric->node_of[from],
							   .to = fabric->node_of[to],
							   .node_count = (size_t)length};
			used += (size_t)length;
		}
	used = 0;
	for (size_t r = 0; r < fabric->route_count; used += fabric->routes[r++].node_count)
		fabric->routes[r].nodes = fabric->route_nodes + used;
	return 0;
}
