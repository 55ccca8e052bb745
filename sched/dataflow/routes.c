/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A route between two hosts consists of the first host's link to its switch, a path between the two switches, and the
 * second host's link. Routes 0 to k - 1 use the stored paths (sched/topology). Route k is used when all of these routes
 * have failed. It follows a shortest path over links that are up.
 */
#include <errno.h>
#include <stdlib.h>

#include "network_priv.h"

/* Returns the host's first link that is up, as an index in adjacency->link[], or UINT32_MAX if there is none. */
static uint32_t attachment(const struct network *network, uint32_t host)
{
	for (uint32_t i = network->adjacency->first[host]; i < network->adjacency->first[host + 1]; i++)
		if (network->topology->links[network->adjacency->link[i]].up)
			return i;
	return UINT32_MAX;
}

static uint32_t directed(const struct network *network, uint32_t link, uint32_t from)
{
	return 2 * link + (network->topology->links[link].a != from);
}

static uint32_t other_end(const struct topology_link *link, uint32_t end)
{
	return link->a == end ? link->b : link->a;
}

static void make_route(const struct network *network, uint32_t from, uint32_t first, uint32_t last,
		       const struct topology_path *path, struct network_route *route)
{
	uint32_t node = network->adjacency->to[first];

	route->count = 0;
	route->resources[route->count++] = directed(network, network->adjacency->link[first], from);
	for (uint32_t i = 0; i < path->count; i++) {
		route->resources[route->count++] = directed(network, path->links[i], node);
		node = other_end(&network->topology->links[path->links[i]], node);
	}
	route->resources[route->count++] = directed(network, network->adjacency->link[last], node);
}

/*
 * Finds a shortest path from switch `from` to switch `to` over links that are up, by a breadth-first search that begins
 * at `to`. Returns 1 if there is one, 0 if there is none of at most TOPOLOGY_PATHS_LINKS_MAXIMUM links, or -ENOMEM.
 */
static int live_path(const struct network *network, uint32_t from, uint32_t to, struct topology_path *path)
{
	const struct topology *topology = network->topology;
	const struct topology_adjacency *adjacency = network->adjacency;
	uint32_t *by = malloc(2 * (size_t)topology->node_count * sizeof *by), *queue, head = 0, tail = 0;

	if (!by)
		return -ENOMEM;
	queue = by + topology->node_count;
	for (uint32_t n = 0; n < topology->node_count; n++)
		by[n] = UINT32_MAX; /* by[n]: the first link of the path from n to `to` */
	queue[tail++] = to;
	while (head < tail && by[from] == UINT32_MAX) {
		uint32_t node = queue[head++];

		for (uint32_t i = adjacency->first[node]; i < adjacency->first[node + 1]; i++) {
			uint32_t next = adjacency->to[i], link = adjacency->link[i];

			if (next == to || by[next] != UINT32_MAX || !topology->links[link].up ||
			    topology->nodes[next].kind != TOPOLOGY_SWITCH)
				continue;
			by[next] = link;
			queue[tail++] = next;
		}
	}
	path->count = 0;
	while (from != to && by[from] != UINT32_MAX && path->count < TOPOLOGY_PATHS_LINKS_MAXIMUM) {
		path->links[path->count++] = by[from];
		from = other_end(&topology->links[by[from]], from);
	}
	free(by);
	return from == to;
}

int network_routes(struct network *network, uint32_t from, uint32_t to, struct network_route *routes, uint32_t *numbers)
{
	uint32_t low = from < to ? from : to, high = from < to ? to : from;
	uint32_t first = attachment(network, low), last = attachment(network, high);
	struct topology_path found[TOPOLOGY_PATHS_K_MAXIMUM];
	int count, kept = 0;

	if (first == UINT32_MAX || last == UINT32_MAX)
		return 0;
	count = topology_paths_between(network->paths, network->adjacency->to[first], network->adjacency->to[last],
				       found);
	for (int i = 0; i < count; i++) {
		if (!topology_path_up(network->topology, &found[i]))
			continue;
		if (numbers)
			numbers[kept] = (uint32_t)i;
		make_route(network, low, first, last, &found[i], &routes[kept++]);
	}
	if (count < 0 || kept > 0)
		return count < 0 ? count : kept;
	count = live_path(network, network->adjacency->to[first], network->adjacency->to[last], &found[0]);
	if (count <= 0)
		return count;
	if (numbers)
		numbers[0] = network->k;
	make_route(network, low, first, last, &found[0], &routes[0]);
	return 1;
}

int network_route(struct network *network, uint32_t from, uint32_t to, uint32_t number, struct network_route *route)
{
	struct network_route routes[NETWORK_ROUTES_MAXIMUM];
	uint32_t numbers[NETWORK_ROUTES_MAXIMUM];
	int count = network_routes(network, from, to, routes, numbers);

	for (int i = 0; i < count; i++)
		if (numbers[i] == number) {
			*route = routes[i];
			return 0;
		}
	return count < 0 ? count : -ENOENT;
}

int network_distances(const struct network *network, uint32_t from, uint32_t *distance)
{
	const struct topology *topology = network->topology;
	const struct topology_adjacency *adjacency = network->adjacency;
	uint32_t *queue = malloc(topology->node_count * sizeof *queue + 1), head = 0, tail = 0;
	uint32_t first = attachment(network, from);

	if (!queue)
		return -ENOMEM;
	for (uint32_t n = 0; n < topology->node_count; n++)
		distance[n] = UINT32_MAX;
	if (first != UINT32_MAX) {
		queue[tail++] = adjacency->to[first];
		distance[adjacency->to[first]] = 1;
	}
	while (head < tail) {
		uint32_t node = queue[head++];

		for (uint32_t i = adjacency->first[node]; i < adjacency->first[node + 1]; i++) {
			uint32_t next = adjacency->to[i];

			if (distance[next] != UINT32_MAX || !topology->links[adjacency->link[i]].up)
				continue;
			if (topology->nodes[next].kind == TOPOLOGY_SWITCH)
				queue[tail++] = next;
			else if (adjacency->link[attachment(network, next)] != adjacency->link[i])
				continue; /* skips this link of the host: a host uses only its first link that is up */
			distance[next] = distance[node] + 1;
		}
	}
	distance[from] = 0;
	free(queue);
	return 0;
}
