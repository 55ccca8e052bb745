/* SPDX-License-Identifier: BSD-3-Clause */
/* The network as data: nodes, links, and look-ups by name and by pair of ends. */
#include <model/topology.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/hash.h>
#include <base/name.h>

struct topology *topology_create(void)
{
	return calloc(1, sizeof(struct topology));
}

void topology_destroy(struct topology *topology)
{
	if (!topology)
		return;
	for (uint32_t n = 0; n < topology->node_count; n++)
		free(topology->nodes[n].name);
	free(topology->nodes);
	free(topology->links);
	hash_table_free(&topology->node_names);
	hash_table_free(&topology->link_ends);
	free(topology);
}

static int out_of_memory(struct error *err)
{
	return error_set(err, ENOMEM, "out of memory");
}

int64_t topology_add_node(struct topology *topology, enum topology_kind kind, const char *name, struct error *err)
{
	struct topology_node *nodes;
	char *copy;

	if (!name_is_valid(name, TOPOLOGY_NAME_BYTES))
		return error_set(err, EINVAL, "bad name '%s'; expected one word of at most %d bytes", name,
				 TOPOLOGY_NAME_BYTES - 1);
	if (topology_find_node(topology, name) >= 0)
		return error_set(err, EEXIST, "duplicate name '%s'", name);
	if (topology->node_count >= TOPOLOGY_NODES_MAXIMUM)
		return error_set(err, E2BIG, "more than %d nodes", TOPOLOGY_NODES_MAXIMUM);
	nodes = array_grow(topology->nodes, topology->node_count, &topology->node_capacity, sizeof *nodes);
	if (!nodes)
		return out_of_memory(err);
	topology->nodes = nodes;
	copy = strdup(name);
	if (!copy || hash_table_insert(&topology->node_names, hash_text(name), topology->node_count) < 0) {
		free(copy);
		return out_of_memory(err);
	}
	nodes[topology->node_count] = (struct topology_node){.name = copy, .kind = kind};
	topology->host_count += kind == TOPOLOGY_HOST;
	return topology->node_count++;
}

static uint64_t pair_key(uint32_t a, uint32_t b)
{
	return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

static bool is_capacity(double MBps)
{
	return MBps > 0 && MBps <= TOPOLOGY_MBPS_MAXIMUM;
}

int64_t topology_add_link(struct topology *topology, uint32_t a, uint32_t b, double MBps, double back_MBps,
			  struct error *err)
{
	const struct topology_node *nodes = topology->nodes;
	struct topology_link *links;

	if (a == b)
		return error_set(err, EINVAL, "'%s' is linked to itself", nodes[a].name);
	if (nodes[a].kind == TOPOLOGY_HOST && nodes[b].kind == TOPOLOGY_HOST)
		return error_set(err, EINVAL, "'%s' and '%s' are both hosts; a host is linked to switches",
				 nodes[a].name, nodes[b].name);
	if (!is_capacity(MBps) || !is_capacity(back_MBps))
		return error_set(err, EINVAL, "bad capacity; expected 0 < MBps <= %g", TOPOLOGY_MBPS_MAXIMUM);
	if (topology_find_link(topology, a, b) >= 0)
		return error_set(err, EEXIST, "duplicate link '%s' - '%s'", nodes[a].name, nodes[b].name);
	links = array_grow(topology->links, topology->link_count, &topology->link_capacity, sizeof *links);
	if (!links)
		return out_of_memory(err);
	topology->links = links;
	if (hash_table_insert(&topology->link_ends, pair_key(a, b), topology->link_count) < 0)
		return out_of_memory(err);
	links[topology->link_count] =
		(struct topology_link){.a = a, .b = b, .MBps = MBps, .back_MBps = back_MBps, .up = true};
	return topology->link_count++;
}

double topology_payload_MBps(double mbit)
{
	static const double frame_bytes = 1514;
	static const double header_bytes = 66; /* Ethernet, IP, TCP with time stamps */

	return mbit / 8 * (frame_bytes - header_bytes) / frame_bytes;
}

int64_t topology_find_node(const struct topology *topology, const char *name)
{
	HASH_TABLE_EACH (&topology->node_names, hash_text(name), at) {
		uint32_t node = hash_table_value(&topology->node_names, at);

		if (strcmp(topology->nodes[node].name, name) == 0)
			return node;
	}
	return -ENOENT;
}

int64_t topology_find_link(const struct topology *topology, uint32_t a, uint32_t b)
{
	uint32_t link = hash_table_find(&topology->link_ends, pair_key(a, b));

	return link == HASH_TABLE_NONE ? -ENOENT : (int64_t)link;
}

struct topology_adjacency *topology_adjacency_create(const struct topology *topology)
{
	size_t nodes = topology->node_count, ends = 2 * (size_t)topology->link_count;
	struct topology_adjacency *adjacency = malloc(sizeof *adjacency);
	uint32_t *memory = calloc(nodes + 1 + 2 * ends, sizeof *memory);

	if (!adjacency || !memory) {
		free(adjacency);
		free(memory);
		return NULL;
	}
	*adjacency = (struct topology_adjacency){
		.first = memory, .link = memory + nodes + 1, .to = memory + nodes + 1 + ends};
	for (uint32_t l = 0; l < topology->link_count; l++) {
		memory[topology->links[l].a + 1]++;
		memory[topology->links[l].b + 1]++;
	}
	for (size_t n = 0; n < nodes; n++)
		memory[n + 1] += memory[n];
	/* Until the memmove() below, first[n] is the position in link[] where the next link of node n is stored. */
	for (uint32_t l = 0; l < topology->link_count; l++) {
		const struct topology_link *link = &topology->links[l];
		uint32_t of_a = adjacency->first[link->a]++, of_b = adjacency->first[link->b]++;

		adjacency->link[of_a] = adjacency->link[of_b] = l;
		adjacency->to[of_a] = link->b;
		adjacency->to[of_b] = link->a;
	}
	memmove(memory + 1, memory, nodes * sizeof *memory);
	memory[0] = 0;
	return adjacency;
}

void topology_adjacency_destroy(struct topology_adjacency *adjacency)
{
	if (adjacency)
		free(adjacency->first);
	free(adjacency);
}

/* Breadth-first search from the first host; counts the hosts reached. */
static uint32_t hosts_reached(const struct topology *topology, const struct topology_adjacency *adjacency,
			      uint32_t *queue, bool *seen)
{
	uint32_t head = 0, tail = 0, hosts = 0, start = 0;

	while (topology->nodes[start].kind != TOPOLOGY_HOST)
		start++;
	seen[start] = true;
	queue[tail++] = start;
	while (head < tail) {
		uint32_t node = queue[head++];

		hosts += topology->nodes[node].kind == TOPOLOGY_HOST;
		for (uint32_t i = adjacency->first[node]; i < adjacency->first[node + 1]; i++) {
			uint32_t to = adjacency->to[i];

			if (!seen[to] && topology->links[adjacency->link[i]].up) {
				seen[to] = true;
				queue[tail++] = to;
			}
		}
	}
	return hosts;
}

int topology_connected(const struct topology *topology)
{
	struct topology_adjacency *adjacency;
	uint32_t *queue;
	bool *seen;
	int connected = -ENOMEM;

	if (topology->host_count == 0)
		return true;
	adjacency = topology_adjacency_create(topology);
	queue = malloc(topology->node_count * sizeof *queue);
	seen = calloc(topology->node_count, sizeof *seen);
	if (adjacency && queue && seen)
		connected = hosts_reached(topology, adjacency, queue, seen) == topology->host_count;
	topology_adjacency_destroy(adjacency);
	free(queue);
	free(seen);
	return connected;
}
