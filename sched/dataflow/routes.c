/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A route between two hosts consists of a link of the first host to a switch, a path to a switch of the second host,
 * and the link to this host. Routes 0 to k - 1 are the shortest that the stored paths (sched/topology) give, whether
 * they are up or down. Route k is used when all of these routes have failed. It follows a shortest path over links that
 * are up.
 */
#include <errno.h>
#include <stdlib.h>

#include "network_priv.h"

bool network_route_up(const struct network *network, const struct network_route *route)
{
	for (uint32_t r = 0; r < route->count; r++)
		if (!network->topology->links[network_route_link(route, r) / 2].up)
			return false;
	return true;
}

/* first, last: positions in the adjacency of the links of the first and of the last host. */
static struct network_route make_route(const struct network *network, uint32_t low, uint32_t first, uint32_t last,
				       const struct network_path *path)
{
	const struct topology_adjacency *adjacency = network->adjacency;

	return (struct network_route){.count = 2 + path->count,
				      .first = network_directed(network, adjacency->link[first], low),
				      .last = network_directed(network, adjacency->link[last], adjacency->to[last]),
				      .path = path->resources};
}

static bool is_up(const struct network *network, uint32_t end)
{
	return network->topology->links[network->adjacency->link[end]].up;
}

/* Inserts a route behind those with at most as many links. Keeps at most k routes; returns their number. */
static uint32_t insert_route(struct network_route *routes, uint32_t count, uint32_t k,
			     const struct network_route *route)
{
	uint32_t at = count < k ? count : k;

	while (at > 0 && routes[at - 1].count > route->count) {
		if (at < k)
			routes[at] = routes[at - 1];
		at--;
	}
	if (at < k)
		routes[at] = *route;
	return count < k ? count + 1 : k;
}

/* Lists routes 0 to k - 1 over all links of both hosts, up or down. Returns their number or -ENOMEM. */
static int list_routes(struct network *network, uint32_t low, uint32_t high, struct network_route *routes)
{
	const struct topology_adjacency *adjacency = network->adjacency;
	uint32_t kept = 0;

	for (uint32_t first = adjacency->first[low]; first < adjacency->first[low + 1]; first++)
		for (uint32_t last = adjacency->first[high]; last < adjacency->first[high + 1]; last++) {
			const struct network_paths *paths =
				network_paths_between(network, adjacency->to[first], adjacency->to[last]);

			if (!paths)
				return -ENOMEM;
			for (uint32_t i = 0; i < paths->count; i++) {
				struct network_route route = make_route(network, low, first, last, &paths->stored[i]);

				kept = insert_route(routes, kept, network->k, &route);
			}
		}
	return (int)kept;
}

/* Finds route k. Returns 1 if there is one, 0 if not, or -ENOMEM. */
static int live_route(struct network *network, uint32_t low, uint32_t high, struct network_route *route)
{
	const struct topology_adjacency *adjacency = network->adjacency;
	int found = 0;

	for (uint32_t first = adjacency->first[low]; first < adjacency->first[low + 1]; first++)
		for (uint32_t last = adjacency->first[high]; last < adjacency->first[high + 1]; last++) {
			struct network_path path;
			int code =
				is_up(network, first) && is_up(network, last)
					? network_live_path(network, adjacency->to[first], adjacency->to[last], &path)
					: 0;

			if (code < 0)
				return code;
			if (code == 0 || (found && path.count + 2 >= route->count))
				continue;
			*route = make_route(network, low, first, last, &path);
			found = 1;
		}
	return found;
}

int network_routes(struct network *network, uint32_t from, uint32_t to, struct network_route *routes, uint32_t *numbers)
{
	uint32_t low = from < to ? from : to, high = from < to ? to : from;
	int count = list_routes(network, low, high, routes), kept = 0;

	for (int i = 0; i < count; i++) {
		if (!network_route_up(network, &routes[i]))
			continue;
		if (numbers)
			numbers[kept] = (uint32_t)i;
		routes[kept++] = routes[i];
	}
	if (count < 0 || kept > 0)
		return count < 0 ? count : kept;
	if (numbers)
		numbers[0] = network->k;
	return live_route(network, low, high, &routes[0]);
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

	if (!queue)
		return -ENOMEM;
	for (uint32_t n = 0; n < topology->node_count; n++)
		distance[n] = UINT32_MAX;
	distance[from] = 0;
	queue[tail++] = from;
	while (head < tail) {
		uint32_t node = queue[head++];

		for (uint32_t i = adjacency->first[node]; i < adjacency->first[node + 1]; i++) {
			uint32_t next = adjacency->to[i];

			if (distance[next] != UINT32_MAX || !topology->links[adjacency->link[i]].up)
				continue;
			if (topology->nodes[next].kind == TOPOLOGY_SWITCH)
				queue[tail++] = next;
			distance[next] = distance[node] + 1;
		}
	}
	free(queue);
	return 0;
}
