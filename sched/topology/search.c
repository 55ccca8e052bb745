/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the paths to one destination: counts the walks to it, then draws or enumerates loopless paths of each length
 * (method: see paths.h). Nodes are indexes of switches (paths_priv.h).
 */
#include "paths_priv.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>
#include <base/hash.h>
#include <base/rng.h>

enum {
	/* Maximum number of draws per needed path. If they do not suffice, all paths of the length are enumerated. */
	DRAWS = 4,
	LINKS_MAXIMUM = UINT16_MAX, /* of a path: struct path_map_to stores the number of links in 16 bits */
};
#define NOWHERE UINT32_MAX /* distance[] of a node without a path to the destination */
/* Upper limit of a number of walks: keeps sums finite. Draws among more walks than this are not exactly uniform. */
#define WALKS_MAXIMUM (DBL_MAX / UINT16_MAX)

/*
 * The first steps of all walks of one length from one switch to the destination: search->begins[at] ..
 * search->begins[at + count - 1].
 */
struct first_steps {
	uint32_t at;
	uint16_t count;
	bool even; /* the number of walks is the same for each of these steps */
};

/* A node of the path that enumerate() is building, and the first of its steps that has not been tried. */
struct branch {
	uint32_t node;
	uint16_t next;
};

struct topology_search {
	const struct topology_paths *paths;
	uint32_t rows; /* rows of `walks` and `first` in use */
	uint32_t to;
	uint32_t *distance; /* by node: number of links to the destination */
	uint32_t reached;   /* number of nodes with a path to the destination; queue[] lists them by distance */
	bool bipartite;     /* the network is bipartite: the walks from a node have all even or all odd lengths */
	/* [extra][node]: number of walks to the destination that have distance[node] + extra links */
	double *walks;
	struct first_steps *first; /* [extra][node] */
	struct step *begins;       /* the steps to which the entries of first[] refer */
	size_t walks_capacity, first_capacity, begins_count, begins_capacity;
	uint32_t *queue;
	bool *visited;
	uint64_t *drawn; /* by node: value of `draws` at the last draw that visited it */
	uint64_t draws;
	uint16_t *ports;         /* ports of the path that enumerate() is building */
	struct branch *branches; /* its nodes */
	uint16_t *text;          /* the paths found so far: for each, its number of links and the port of each step */
	size_t text_count, text_capacity;
	uint32_t found_count; /* number of paths at the end of `text` that have the present source and length */
	struct rng rng;
	bool failed; /* out of memory */
};

struct topology_search *topology_search_create(const struct topology_paths *paths)
{
	struct topology_search *search = calloc(1, sizeof *search);
	size_t nodes = paths->switch_count + 1u;

	if (!search)
		return NULL;
	search->paths = paths;
	search->distance = malloc(nodes * sizeof *search->distance);
	search->ports = malloc(nodes * sizeof *search->ports);
	search->branches = malloc(nodes * sizeof *search->branches);
	search->queue = malloc(nodes * sizeof *search->queue);
	search->visited = calloc(nodes, sizeof *search->visited);
	search->drawn = calloc(nodes, sizeof *search->drawn);
	if (!search->distance || !search->ports || !search->branches || !search->queue || !search->visited ||
	    !search->drawn) {
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
	free(search->ports);
	free(search->branches);
	free(search->walks);
	free(search->first);
	free(search->begins);
	free(search->queue);
	free(search->visited);
	free(search->drawn);
	free(search->text);
	free(search);
}

/* Breadth-first search from the destination. */
static void measure_distances(struct topology_search *search)
{
	const struct topology_paths *paths = search->paths;
	uint32_t head = 0, tail = 0;

	for (uint32_t n = 0; n < paths->switch_count; n++)
		search->distance[n] = NOWHERE;
	search->bipartite = true;
	search->distance[search->to] = 0;
	search->queue[tail++] = search->to;
	while (head < tail) {
		uint32_t node = search->queue[head++];
		uint32_t distance = search->distance[node];

		if (distance >= LINKS_MAXIMUM)
			break;
		for (uint32_t i = paths->first_step[node]; i < paths->first_step[node + 1]; i++) {
			uint32_t to = paths->steps[i].to;

			if (search->distance[to] == NOWHERE) {
				search->distance[to] = distance + 1;
				search->queue[tail++] = to;
			} else if (search->distance[to] == distance) {
				search->bipartite = false;
			}
		}
	}
	search->reached = tail;
}

/* Returns the position in walks[] and first[] of the walks of one length from a node. */
static size_t position(const struct topology_search *search, uint32_t length, uint32_t node)
{
	return (size_t)(length - search->distance[node]) * search->paths->switch_count + node;
}

static double walks_from(const struct topology_search *search, uint32_t length, uint32_t node)
{
	return length < search->distance[node] ? 0 : search->walks[position(search, length, node)];
}

static struct first_steps first_from(const struct topology_search *search, uint32_t length, uint32_t node)
{
	return search->first[position(search, length, node)];
}

/* Reserves memory for another row of walks[] and first[], and for its steps. */
static int reserve_row(struct topology_search *search)
{
	const struct topology_paths *paths = search->paths;
	size_t nodes = (search->rows + 1) * (size_t)paths->switch_count;
	size_t steps = search->begins_count + paths->first_step[paths->switch_count] + 1;
	double *walks = array_reserve(search->walks, nodes, &search->walks_capacity, sizeof *walks);
	struct first_steps *first = array_reserve(search->first, nodes, &search->first_capacity, sizeof *first);
	struct step *begins = array_reserve(search->begins, steps, &search->begins_capacity, sizeof *begins);

	search->walks = walks ? walks : search->walks;
	search->first = first ? first : search->first;
	search->begins = begins ? begins : search->begins;
	return walks && first && begins ? 0 : -ENOMEM;
}

/*
 * Counts the walks of one length from a node. Such a walk consists of a step to a neighbour and a walk from there that
 * is one link shorter. Walks do not pass the destination before their end.
 */
static void count_from(struct topology_search *search, uint32_t length, uint32_t node)
{
	const struct topology_paths *paths = search->paths;
	struct first_steps *first = &search->first[position(search, length, node)];
	struct step *begins = search->begins + search->begins_count;
	uint32_t live = 0;
	double sum = 0, most = 0;

	for (uint32_t i = paths->first_step[node]; i < paths->first_step[node + 1]; i++) {
		double more = walks_from(search, length - 1, paths->steps[i].to);

		begins[live] = paths->steps[i];
		live += more > 0;
		sum += more;
		most = more > most ? more : most;
	}
	*first = (struct first_steps){
		.at = (uint32_t)search->begins_count, .count = (uint16_t)live, .even = sum == live * most};
	search->walks[position(search, length, node)] = fmin(sum, WALKS_MAXIMUM);
	search->begins_count += live;
}

/*
 * Adds the next row to walks[] and first[]. The nodes are counted by increasing distance, so that the shorter walks
 * from their neighbours are counted before.
 */
static int count_walks(struct topology_search *search)
{
	uint32_t extra = search->rows;

	if (reserve_row(search) < 0)
		return -ENOMEM;
	search->rows++;
	for (uint32_t i = 0; i < search->reached; i++) {
		uint32_t node = search->queue[i], length = search->distance[node] + extra;

		if (node != search->to && !(search->bipartite && extra % 2)) {
			count_from(search, length, node);
			continue;
		}
		search->first[position(search, length, node)] = (struct first_steps){0};
		search->walks[position(search, length, node)] = length == 0;
	}
	return 0;
}

/*
 * Reserves memory for `count` paths of `length` links in search->text. Returns the position of the first of them, or
 * NULL if out of memory.
 */
static uint16_t *reserve_text(struct topology_search *search, uint32_t length, uint32_t count)
{
	uint16_t *text = array_reserve(search->text, search->text_count + (size_t)count * (length + 1),
				       &search->text_capacity, sizeof *text);

	if (!text) {
		search->failed = true;
		return NULL;
	}
	search->text = text;
	return text + search->text_count;
}

/* Appends the path in search->ports to search->text. */
static void keep(struct topology_search *search, uint32_t length)
{
	bool fits = search->text_capacity - search->text_count > length;
	uint16_t *text = fits ? search->text + search->text_count : reserve_text(search, length, 1);

	if (!text)
		return;
	*text = (uint16_t)length;
	memcpy(text + 1, search->ports, length * sizeof *text);
	search->text_count += length + 1;
	search->found_count++;
}

/*
 * Depth-first search for all loopless paths of `length` links from a switch. Takes only steps that begin a walk of the
 * remaining length to the destination.
 */
static void enumerate(struct topology_search *search, uint32_t from, uint32_t length)
{
	struct branch *branches = search->branches;
	uint32_t depth = 0;

	branches[0] = (struct branch){.node = from};
	search->visited[from] = true;
	for (;;) {
		struct branch *branch = &branches[depth];
		struct first_steps first = first_from(search, length - depth, branch->node);
		struct step step;

		if (branch->next == first.count || search->failed) {
			search->visited[branch->node] = false;
			if (depth-- == 0)
				return;
			continue;
		}
		step = search->begins[first.at + branch->next++];
		if (search->visited[step.to])
			continue;
		search->ports[depth] = step.port;
		if (depth + 1 == length) {
			keep(search, length);
			continue;
		}
		branches[++depth] = (struct branch){.node = step.to};
		search->visited[step.to] = true;
	}
}

/*
 * Draws the first step of a walk of `left` links from a node to the destination, so that all these walks have the same
 * probability.
 */
static struct step draw_step(struct topology_search *search, uint32_t left, uint32_t node)
{
	__extension__ typedef unsigned __int128 wide;
	struct first_steps first = first_from(search, left, node);
	const struct step *begins = search->begins + first.at;
	uint32_t i = 0;
	double at;

	if (first.even)
		return begins[(wide)rng_next(&search->rng) * first.count >> 64];
	at = rng_uniform(&search->rng) * walks_from(search, left, node);
	while (i + 1u < first.count && (at -= walks_from(search, left - 1, begins[i].to)) >= 0)
		i++;
	return begins[i];
}

/*
 * Draws one of the walks of `length` links from a switch to the destination, all with the same probability. Returns
 * false, with ports[] incomplete, if the walk has a loop.
 */
static bool draw(struct topology_search *search, uint32_t from, uint32_t length, uint16_t *ports)
{
	bool may_loop = length > search->distance[from];
	uint32_t node = from;

	search->draws++;
	for (uint32_t left = length; left > 0; left--) {
		struct step step = draw_step(search, left, node);

		*ports++ = step.port;
		if (may_loop) {
			search->drawn[node] = search->draws;
			if (search->drawn[step.to] == search->draws)
				return false;
		}
		node = step.to;
	}
	return true;
}

/*
 * Returns true if two paths have the same ports. A loop is faster than memcmp() here, because most paths differ in the
 * first steps.
 */
static bool is_same(const uint16_t *a, const uint16_t *b, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* Returns true if the path stored after the first `count` paths of `length` links differs from all of these. */
static bool is_new(const uint16_t *paths, uint32_t count, uint32_t length)
{
	const uint16_t *last = paths + (size_t)count * (length + 1);

	for (; paths < last; paths += length + 1)
		if (is_same(paths + 1, last + 1, length))
			return false;
	return true;
}

/*
 * Draws and adds `wanted` different loopless paths. If DRAWS * wanted draws find fewer, adds none and returns false.
 */
static bool draw_paths(struct topology_search *search, uint32_t from, uint32_t length, uint32_t wanted)
{
	uint16_t *paths = reserve_text(search, length, wanted);
	uint32_t count = 0;

	for (uint32_t i = 0; i < DRAWS * wanted && count < wanted && paths; i++) {
		uint16_t *path = paths + (size_t)count * (length + 1);

		*path = (uint16_t)length;
		count += draw(search, from, length, path + 1) && is_new(paths, count, length);
	}
	if (count < wanted)
		return false;
	search->text_count += (size_t)count * (length + 1);
	search->found_count = count;
	return true;
}

/*
 * Adds `wanted` loopless paths of one length, or all if there are fewer. All paths of the length have the same
 * probability of being added.
 */
static void find_of_length(struct topology_search *search, uint32_t from, uint32_t length, uint32_t wanted)
{
	size_t before = search->text_count;

	search->found_count = 0;
	if (walks_from(search, length, from) > DRAWS * wanted && draw_paths(search, from, length, wanted))
		return;
	enumerate(search, from, length);
	if (search->found_count > wanted) {
		rng_shuffle(&search->rng, search->text + before, search->found_count,
			    (length + 1) * sizeof *search->text);
		search->found_count = wanted;
		search->text_count = before + (size_t)wanted * (length + 1);
	}
}

static void find_from(struct topology_search *search, uint32_t from)
{
	uint32_t wanted = search->paths->options.k, shortest = search->distance[from];
	uint32_t longest = shortest + search->paths->options.detour;

	if (longest > LINKS_MAXIMUM)
		longest = LINKS_MAXIMUM;
	if (longest > search->paths->switch_count - 1)
		longest = search->paths->switch_count - 1;
	for (uint32_t length = shortest; length <= longest && wanted > 0 && !search->failed; length++) {
		while (search->rows <= length - shortest)
			if (count_walks(search) < 0) {
				search->failed = true;
				return;
			}
		find_of_length(search, from, length, wanted);
		wanted -= search->found_count;
	}
}

int topology_search_to(struct topology_search *search, uint32_t to, struct path_map_to *stored)
{
	const struct topology *topology = search->paths->topology;
	uint32_t *first = malloc(((size_t)to + 1) * sizeof *first);
	uint16_t *ports;

	if (!first)
		return -ENOMEM;
	search->to = search->paths->index_of[to];
	search->rows = 0;
	search->begins_count = 0;
	search->text_count = 0;
	search->failed = false;
	rng_seed(&search->rng, hash_mix(search->paths->options.seed ^ hash_mix(to)));
	measure_distances(search);
	for (uint32_t from = 0; from < to; from++) {
		uint32_t index = search->paths->index_of[from];

		first[from] = (uint32_t)search->text_count;
		if (topology->nodes[from].kind == TOPOLOGY_SWITCH && search->distance[index] != NOWHERE)
			find_from(search, index);
	}
	first[to] = (uint32_t)search->text_count;
	if (search->text_count > UINT32_MAX)
		search->failed = true;
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
