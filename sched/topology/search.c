/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts walks to one destination, then draws or enumerates loopless paths of each length. See paths.h. */
#include "paths_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/hash.h>
#include <base/rng.h>

enum {
	/* Draws per wanted path before all paths of the length are enumerated. */
	DRAWS = 4,
	NOWHERE = UINT8_MAX, /* distance of a switch that is not connected to the destination */
};

/* A path under construction: the indices of its switches in the adjacency, as they are stored. */
struct walk {
	uint16_t ports[TOPOLOGY_PATHS_LINKS_MAXIMUM];
};

struct topology_search {
	const struct topology_paths *paths;
	uint32_t nodes, lengths; /* lengths: rows of `walks` in use */
	uint32_t to;
	uint8_t *distance; /* to the destination, by node */
	double *walks;     /* [length][node]: number of walks of that length to the destination */
	/*
	 * [length][adjacency]: for each node, the indices of the next switches of these walks, in order;
	 * [length][node]: their number
	 */
	uint16_t *next, *next_count;
	bool *even; /* [length][node]: all these next switches have the same number of walks */
	size_t walks_capacity, next_capacity, next_count_capacity, even_capacity;
	uint32_t *queue;
	bool *visited;
	uint64_t *drawn; /* by node: number of the last draw that visited it */
	uint64_t draws;
	struct walk *found; /* of one length */
	size_t found_count, found_capacity;
	uint16_t *text; /* the result so far */
	size_t text_count, text_capacity;
	struct rng rng;
	bool failed; /* out of memory */
};

struct topology_search *topology_search_create(const struct topology_paths *paths)
{
	struct topology_search *search = calloc(1, sizeof *search);
	uint32_t nodes = paths->topology->node_count;

	if (!search)
		return NULL;
	search->paths = paths;
	search->nodes = nodes;
	search->distance = malloc(nodes);
	search->queue = malloc(nodes * sizeof *search->queue);
	search->visited = calloc(nodes, sizeof *search->visited);
	search->drawn = calloc(nodes, sizeof *search->drawn);
	if (!search->distance || !search->queue || !search->visited || !search->drawn) {
		topology_search_destroy(search);
		return NULL;
	}
	return search;
}

void topology_search_destroy(struct topology_search *search)
{
	if (!search)
		return;
	free(search->distance);
	free(search->walks);
	free(search->next);
	free(search->next_count);
	free(search->even);
	free(search->queue);
	free(search->visited);
	free(search->drawn);
	free(search->found);
	free(search->text);
	free(search);
}

static bool is_switch(const struct topology_search *search, uint32_t node)
{
	return search->paths->topology->nodes[node].kind == TOPOLOGY_SWITCH;
}

/* Breadth-first search from the destination. Returns the greatest distance. */
static uint32_t measure_distances(struct topology_search *search)
{
	const struct topology_adjacency *adjacency = search->paths->adjacency;
	uint32_t head = 0, tail = 0, greatest = 0;

	memset(search->distance, NOWHERE, search->nodes);
	search->distance[search->to] = 0;
	search->queue[tail++] = search->to;
	while (head < tail) {
		uint32_t node = search->queue[head++];

		greatest = search->distance[node];
		if (greatest + 1 >= TOPOLOGY_PATHS_LINKS_MAXIMUM)
			break;
		for (uint32_t i = adjacency->first[node]; i < adjacency->first[node + 1]; i++) {
			uint32_t to = adjacency->to[i];

			if (search->distance[to] == NOWHERE && is_switch(search, to)) {
				search->distance[to] = (uint8_t)(greatest + 1);
				search->queue[tail++] = to;
			}
		}
	}
	return greatest;
}

static double walks_from(const struct topology_search *search, uint32_t length, uint32_t node)
{
	return search->walks[(size_t)length * search->nodes + node];
}

static size_t edges(const struct topology_search *search)
{
	return search->paths->adjacency->first[search->nodes];
}

/* Makes space for the rows of `length`. */
static int reserve_rows(struct topology_search *search, uint32_t length)
{
	double *walks = array_reserve(search->walks, (size_t)(length + 1) * search->nodes, &search->walks_capacity,
				      sizeof *walks);
	uint16_t *next, *count;
	bool *even;

	search->walks = walks ? walks : search->walks;
	next = array_reserve(search->next, (length + 1) * edges(search) + 1, &search->next_capacity, sizeof *next);
	search->next = next ? next : search->next;
	count = array_reserve(search->next_count, (size_t)(length + 1) * search->nodes, &search->next_count_capacity,
			      sizeof *count);
	search->next_count = count ? count : search->next_count;
	even = array_reserve(search->even, (size_t)(length + 1) * search->nodes, &search->even_capacity, sizeof *even);
	search->even = even ? even : search->even;
	return walks && next && count && even ? 0 : -ENOMEM;
}

/* Adds the rows of the next length. Walks reach the destination only at their end. */
static int count_walks(struct topology_search *search)
{
	const struct topology_adjacency *adjacency = search->paths->adjacency;
	uint32_t length = search->lengths;
	const double *shorter;
	double *walks;
	uint16_t *count;

	if (reserve_rows(search, length) < 0)
		return -ENOMEM;
	walks = search->walks + (size_t)length * search->nodes;
	count = search->next_count + (size_t)length * search->nodes;
	memset(walks, 0, search->nodes * sizeof *walks);
	memset(count, 0, search->nodes * sizeof *count);
	search->lengths++;
	if (length == 0) {
		walks[search->to] = 1;
		return 0;
	}
	shorter = walks - search->nodes;
	for (uint32_t n = 0; n < search->nodes; n++) {
		uint32_t first = adjacency->first[n], degree = adjacency->first[n + 1] - first, live = 0;
		uint16_t *next = search->next + length * edges(search) + first;
		double sum = 0, most = 0;

		if (n == search->to || search->distance[n] > length)
			continue;
		for (uint32_t i = 0; i < degree; i++) {
			double more = shorter[adjacency->to[first + i]];

			next[live] = (uint16_t)i;
			live += more > 0;
			sum += more;
			most = more > most ? more : most;
		}
		walks[n] = sum;
		count[n] = (uint16_t)live;
		search->even[(size_t)length * search->nodes + n] = sum == live * most;
	}
	return 0;
}

static void keep(struct topology_search *search, const struct walk *walk)
{
	struct walk *found = array_grow(search->found, search->found_count, &search->found_capacity, sizeof *found);

	if (!found) {
		search->failed = true;
		return;
	}
	search->found = found;
	found[search->found_count++] = *walk;
}

/* The next switches of the walks of one length from a node. */
struct steps {
	const uint32_t *to; /* of the node's adjacency */
	const uint16_t *next;
	uint32_t count;
	bool even;
};

static struct steps steps_from(const struct topology_search *search, uint32_t length, uint32_t node)
{
	const struct topology_adjacency *adjacency = search->paths->adjacency;
	uint32_t first = adjacency->first[node];

	return (struct steps){.to = adjacency->to + first,
			      .next = search->next + length * edges(search) + first,
			      .count = search->next_count[(size_t)length * search->nodes + node],
			      .even = search->even[(size_t)length * search->nodes + node]};
}

/* Depth-first search over all loopless paths of exactly `length` links, guided by the counts. */
static void enumerate(struct topology_search *search, uint32_t node, uint32_t length, uint32_t depth, struct walk *walk)
{
	struct steps steps;

	if (length == 0) {
		keep(search, walk);
		return;
	}
	steps = steps_from(search, length, node);
	search->visited[node] = true;
	for (uint32_t i = 0; i < steps.count && !search->failed; i++) {
		uint32_t to = steps.to[steps.next[i]];

		if (search->visited[to])
			continue;
		walk->ports[depth] = steps.next[i];
		enumerate(search, to, length - 1, depth + 1, walk);
	}
	search->visited[node] = false;
}

/* The step whose walks contain the share `at` of all, from 0 to 1, walks in the order of the steps; `all`: their
 * number.
 */
static uint32_t step_at(const struct steps *steps, const double *walks, double all, double at)
{
	uint32_t i = 0;

	if (steps->even) {
		i = (uint32_t)(at * steps->count);
		return i < steps->count ? i : steps->count - 1;
	}
	at *= all;
	while (i + 1 < steps->count && (at -= walks[steps->to[steps->next[i]]]) >= 0)
		i++;
	return i;
}

/* Draws one walk of `length` links, each with the same probability. False if it has a loop. */
static bool draw(struct topology_search *search, uint32_t from, uint32_t length, struct walk *walk)
{
	uint32_t node = from;

	search->draws++;

	for (uint32_t depth = 0; depth < length; depth++) {
		double all = walks_from(search, length - depth, node);
		const double *walks = search->walks + (size_t)(length - depth - 1) * search->nodes;
		struct steps steps = steps_from(search, length - depth, node);
		uint32_t i = step_at(&steps, walks, all, rng_uniform(&search->rng));

		search->drawn[node] = search->draws;
		walk->ports[depth] = steps.next[i];
		node = steps.to[steps.next[i]];
		if (search->drawn[node] == search->draws)
			return false;
	}
	return true;
}

/* Inline, as most paths differ in the first steps. */
static bool is_same(const struct walk *a, const struct walk *b, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		if (a->ports[i] != b->ports[i])
			return false;
	return true;
}

static bool is_new(const struct topology_search *search, const struct walk *walk, uint32_t length)
{
	for (size_t i = 0; i < search->found_count; i++)
		if (is_same(&search->found[i], walk, length))
			return false;
	return true;
}

/* Draws up to `wanted` loopless paths of one length, uniformly from all, into search->found. */
static void find_of_length(struct topology_search *search, uint32_t from, uint32_t length, uint32_t wanted)
{
	struct walk walk;

	search->found_count = 0;
	if (walks_from(search, length, from) > DRAWS * wanted)
		for (uint32_t i = 0; i < DRAWS * wanted && search->found_count < wanted && !search->failed; i++)
			if (draw(search, from, length, &walk) && is_new(search, &walk, length))
				keep(search, &walk);
	if (search->found_count == wanted)
		return;
	search->found_count = 0;
	enumerate(search, from, length, 0, &walk);
	if (search->found_count > wanted) {
		rng_shuffle(&search->rng, search->found, search->found_count, sizeof *search->found);
		search->found_count = wanted;
	}
}

static void write_paths(struct topology_search *search, uint32_t length)
{
	uint16_t *text = array_reserve(search->text, search->text_count + search->found_count * (length + 1),
				       &search->text_capacity, sizeof *text);

	if (!text) {
		search->failed = true;
		return;
	}
	search->text = text;
	for (size_t i = 0; i < search->found_count; i++) {
		text[search->text_count++] = (uint16_t)length;
		memcpy(text + search->text_count, search->found[i].ports, length * sizeof *text);
		search->text_count += length;
	}
}

static void find_from(struct topology_search *search, uint32_t from)
{
	uint32_t wanted = search->paths->options.k, shortest = search->distance[from];
	uint32_t longest = shortest + search->paths->options.detour;

	if (longest > TOPOLOGY_PATHS_LINKS_MAXIMUM)
		longest = TOPOLOGY_PATHS_LINKS_MAXIMUM;
	if (longest > search->nodes - 1)
		longest = search->nodes - 1;
	for (uint32_t length = shortest; length <= longest && wanted > 0 && !search->failed; length++) {
		while (search->lengths <= length)
			if (count_walks(search) < 0) {
				search->failed = true;
				return;
			}
		find_of_length(search, from, length, wanted);
		write_paths(search, length);
		wanted -= (uint32_t)search->found_count;
	}
}

int topology_search_to(struct topology_search *search, uint32_t to, struct path_map_to *stored)
{
	uint32_t *first = malloc(((size_t)to + 1) * sizeof *first);
	uint16_t *ports;

	if (!first)
		return -ENOMEM;
	search->to = to;
	search->lengths = 0;
	search->text_count = 0;
	search->failed = false;
	rng_seed(&search->rng, hash_mix(search->paths->options.seed ^ hash_mix(to)));
	measure_distances(search);
	for (uint32_t from = 0; from < to; from++) {
		first[from] = (uint32_t)search->text_count;
		if (search->distance[from] != NOWHERE)
			find_from(search, from);
	}
	first[to] = (uint32_t)search->text_count;
	ports = search->failed ? NULL : malloc(search->text_count * sizeof *ports + 1);
	if (!ports) {
		free(first);
		return -ENOMEM;
	}
	if (search->text_count > 0)
		memcpy(ports, search->text, search->text_count * sizeof *ports);
	*stored = (struct path_map_to){.first = first, .ports = ports};
	return 0;
}
