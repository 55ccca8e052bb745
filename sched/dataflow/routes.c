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

static uint32_t directed(const struct network *network, uint32_t link, uint32_t from)
{
	return 2 * link + (network->topology->links[link].a != from);
}

static uint32_t other_end(const struct topology_link *link, uint32_t end)
{
	return link->a == end ? link->b : link->a;
}

bool network_route_up(const struct network *network, const struct network_route *route)
{
	for (uint32_t r = 0; r < route->count; r++)
		if (!network->topology->links[route->resources[r] / 2].up)
			return false;
	return true;
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
	struct topology_path found[TOPOLOGY_PATHS_K_MAXIMUM];
	uint32_t kept = 0;

	for (uint32_t first = adjacency->first[low]; first < adjacency->first[low + 1]; first++)
		for (uint32_t last = adjacency->first[high]; last < adjacency->first[high + 1]; last++) {
			int count = topology_paths_between(network->paths, adjacency->to[first], adjacency->to[last],
							   found);

			if (count < 0)
				return count;
			for (int i = 0; i < count; i++) {
				struct network_route route;

				make_route(network, low, first, last, &found[i], &route);
				kept = insert_route(routes, kept, network->k, &route);
			}
		}
	return (int)kept;
}

/* Finds route k. Returns 1 if there is one, 0 if not, or -ENOMEM. */
static int live_route(const struct network *network, uint32_t low, uint32_t high, struct network_route *route)
{
	const struct topology_adjacency *adjacency = network->adjacency;
	int found = 0;

	for (uint32_t first = adjacency->first[low]; first < adjacency->first[low + 1]; first++)
		for (uint32_t last = adjacency->first[high]; last < adjacency->first[high + 1]; last++) {
			struct topology_path path;
			int code = is_up(network, first) && is_up(network, last)
					   ? live_path(network, adjacency->to[first], adjacency->to[last], &path)
					   : 0;

			if (code < 0)
				return code;
			if (code == 0 || (found && path.count + 2 >= route->count))
				continue;
			make_route(network, low, first, last, &path, route);
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
