/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The paths from one switch to another as numbers of resources. Each path is stored once, however many hosts use it,
 * and stays at its place until network_destroy().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

#include "network_priv.h"

static uint32_t other_end(const struct network *network, uint32_t link, uint32_t end)
{
	return network->topology->links[link].a == end ? network->topology->links[link].b
						       : network->topology->links[link].a;
}

/* Converts the links of a path from switch `from` to resources. */
static void direct(const struct network *network, uint32_t from, const struct topology_path *path, uint32_t *resources)
{
	for (uint32_t i = 0; i < path->count; i++) {
		resources[i] = network_directed(network, path->links[i], from);
		from = other_end(network, path->links[i], from);
	}
}

/* Stores the k shortest paths, in one block of memory. Returns 0 or -ENOMEM. */
static int store_paths(struct network *network, uint32_t from, uint32_t to, struct network_paths *paths)
{
	struct topology_path found[TOPOLOGY_PATHS_K_MAXIMUM];
	int count = topology_paths_between(network->paths, from, to, found);
	size_t links = 0;
	uint32_t *resources;

	for (int i = 0; i < count; i++)
		links += found[i].count;
	*paths = (struct network_paths){0};
	if (count >= 0)
		paths->stored = malloc((size_t)count * sizeof *paths->stored + links * sizeof *resources + 1);
	if (!paths->stored)
		return -ENOMEM;
	resources = (uint32_t *)(void *)(paths->stored + count);
	for (int i = 0; i < count; i++) {
		paths->stored[i] = (struct network_path){.count = found[i].count, .resources = resources};
		direct(network, from, &found[i], resources);
		resources += found[i].count;
	}
	paths->count = (uint32_t)count;
	return 0;
}

struct network_paths *network_paths_between(struct network *network, uint32_t from, uint32_t to)
{
	uint64_t key = (uint64_t)from << 32 | to;
	uint32_t at = hash_table_find(&network->paths_table, key);
	struct network_paths *of;

	if (at != HASH_TABLE_NONE)
		return &network->paths_of[at];
	of = array_grow(network->paths_of, network->paths_count, &network->paths_capacity, sizeof *of);
	if (!of)
		return NULL;
	network->paths_of = of;
	of += network->paths_count;
	if (store_paths(network, from, to, of) < 0)
		return NULL;
	if (hash_table_insert(&network->paths_table, key, network->paths_count) < 0) {
		free(of->stored);
		return NULL;
	}
	network->paths_count++;
	return of;
}

void network_paths_free(struct network *network)
{
	for (uint32_t p = 0; p < network->paths_count; p++) {
		free(network->paths_of[p].stored);
		for (struct network_live_path *live = network->paths_of[p].live, *next; live; live = next) {
			next = live->next;
			free(live);
		}
	}
	free(network->paths_of);
	hash_table_free(&network->paths_table);
}

/*
 * Breadth-first search over links that are up, from switch `to` until it reaches switch `from`. Sets by[n] to the first
 * link of a shortest path from node n to `to`, or UINT32_MAX. queue[]: work space for all nodes.
 */
static void search_live(const struct network *network, uint32_t from, uint32_t to, uint32_t *by, uint32_t *queue)
{
	const struct topology *topology = network->topology;
	const struct topology_adjacency *adjacency = network->adjacency;
	uint32_t head = 0, tail = 0;

	for (uint32_t n = 0; n < topology->node_count; n++)
		by[n] = UINT32_MAX;
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
}

/* Returns the stored live path with these links; adds it if there is none. NULL if out of memory. */
static const struct network_live_path *keep_live(struct network *network, uint32_t from, uint32_t to,
						 const struct topology_path *path)
{
	struct network_paths *paths = network_paths_between(network, from, to);
	size_t bytes = path->count * sizeof *path->links;
	struct network_live_path *live = paths ? malloc(sizeof *live + bytes) : NULL;

	if (!live)
		return NULL;
	live->path = (struct network_path){.count = path->count, .resources = live->resources};
	direct(network, from, path, live->resources);
	for (struct network_live_path *known = paths->live; known; known = known->next)
		if (known->path.count == path->count && memcmp(known->resources, live->resources, bytes) == 0) {
			free(live);
			return known;
		}
	live->next = paths->live;
	paths->live = live;
	return live;
}

int network_live_path(struct network *network, uint32_t from, uint32_t to, struct network_path *path)
{
	size_t nodes = network->topology->node_count;
	uint32_t *by = malloc(3 * nodes * sizeof *by), *queue, *links, count = 0;
	const struct network_live_path *live = NULL;
	bool reached;

	if (!by)
		return -ENOMEM;
	queue = by + nodes;
	links = queue + nodes;
	search_live(network, from, to, by, queue);
	for (uint32_t node = from; node != to && by[node] != UINT32_MAX; node = other_end(network, by[node], node))
		links[count++] = by[node];
	reached = from == to || count > 0;
	if (reached)
		live = keep_live(network, from, to, &(struct topology_path){.count = count, .links = links});
	free(by);
	if (live)
		*path = live->path;
	return live ? 1 : reached ? -ENOMEM : 0;
}
