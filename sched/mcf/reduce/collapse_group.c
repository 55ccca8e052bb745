/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds contracted nodes and groups, in near linear time: a node is compared with the group of the node before it,
 * then with at most CHAIN_LONGEST groups of the same signature (min-hash of its arcs: nodes that share all but few
 * arcs mostly share it, in whatever order the file lists them).
 */
#include <stdlib.h>
#include <string.h>

#include "collapse_priv.h"

enum { CHAIN_LONGEST = 16, DIFFERENCES_MOST = 2 };

/* What is known of a head while a group is the current one. */
struct slot {
	int64_t cost;
	int32_t group; /* whose representative has an arc here */
	int32_t stamp; /* last node seen with an arc here: finds parallel arcs */
};

struct finder {
	struct collapse *collapse;
	struct slot *slots;      /* [nodes] */
	int32_t *representative; /* [groups] */
	int32_t *fixed_arcs;     /* [groups] of the representative, to heads that are no last hops */
	int64_t *supply;         /* [groups] */
	int32_t *chain;          /* [groups] older group with the same signature, or -1 */
	uint64_t *signature;     /* [groups] */
	uint8_t *last_hop;       /* [nodes] all arcs out lead to sinks: members may differ here */
	int32_t *table;          /* by hash of signature: newest group, or -1 */
	int32_t table_mask;
	int32_t current; /* the group whose representative fills the slots */
	int32_t hub;     /* heads with more arcs in than this say nothing */
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* NoMora's unscheduled aggregators pass; a machine that happens to be wide enough does not, so that it stays one. */
static bool is_contractible(const struct collapse *collapse, int32_t node, const int64_t *width_in)
{
	const struct mcf_problem *large = collapse->large;
	int32_t arc = collapse->out[collapse->first[node]];

	return large->supply[node] == 0 && collapse->first[node + 1] - collapse->first[node] == 1 &&
	       large->head[arc] != node && width_in[node] <= large->capacity[arc];
}

/* One level only: where a contracted node leads is never contracted itself. */
static bool find_contracted(struct collapse *collapse)
{
	const struct mcf_problem *large = collapse->large;
	int64_t *width_in = calloc((size_t)large->node_count + 1, sizeof *width_in);

	if (!width_in)
		return false;
	for (int32_t a = 0; a < large->arc_count; a++)
		width_in[large->head[a]] += large->supply[large->tail[a]] > 0 ? large->capacity[a] : INT64_C(1) << 32;
	for (int32_t v = 0; v < large->node_count; v++) {
		int32_t arc = collapse->out[collapse->first[v]];

		if (!is_contractible(collapse, v, width_in) || collapse->through[large->head[arc]] >= 0 ||
		    is_contractible(collapse, large->head[arc], width_in))
			continue;
		collapse->through[v] = arc;
		collapse->kind[v] = NODE_CONTRACTED;
	}
	free(width_in);
	return true;
}

static bool is_candidate(const struct finder *finder, int32_t node)
{
	const struct collapse *collapse = finder->collapse;
	const struct mcf_problem *large = collapse->large;

	bool wide = false;

	if (large->supply[node] <= 0 || large->supply[node] > INT32_MAX || collapse->arcs_in[node] > 0)
		return false;
	for (int32_t i = collapse->first[node]; i < collapse->first[node + 1]; i++) {
		int32_t arc = collapse->out[i];
		struct slot *slot = &finder->slots[collapse_head(collapse, arc)];

		if (large->capacity[arc] < large->supply[node] || slot->stamp == node)
			return false;
		slot->stamp = node;
		wide = wide || large->capacity[arc] > large->supply[node];
	}
	finder->collapse->loose = finder->collapse->loose || wide;
	return true;
}

static void find_last_hops(struct finder *finder)
{
	const struct collapse *collapse = finder->collapse;

	for (int32_t v = 0; v < collapse->large->node_count; v++) {
		finder->last_hop[v] = collapse->large->supply[v] >= 0 && collapse->first[v] < collapse->first[v + 1];
		for (int32_t i = collapse->first[v]; i < collapse->first[v + 1]; i++) {
			if (collapse->large->supply[collapse_head(collapse, collapse->out[i])] >= 0)
				finder->last_hop[v] = 0;
		}
	}
}

static void make_current(struct finder *finder, int32_t group)
{
	const struct collapse *collapse = finder->collapse;
	int32_t node = finder->representative[group];

	for (int32_t i = collapse->first[node]; i < collapse->first[node + 1]; i++) {
		struct slot *slot = &finder->slots[collapse_head(collapse, collapse->out[i])];

		slot->group = group;
		slot->cost = collapse_cost(collapse, collapse->out[i]);
	}
	finder->current = group;
}

/* Does `node` share all but a few arcs with the representative, and those that are not to last hops exactly? */
static bool resembles_current(const struct finder *finder, int32_t node)
{
	const struct collapse *collapse = finder->collapse;
	int32_t group = finder->current, representative = finder->representative[group];
	int32_t theirs = collapse->first[representative + 1] - collapse->first[representative];
	int32_t ours = collapse->first[node + 1] - collapse->first[node];
	int32_t same = 0, dearer = 0, missing = 0, fixed = 0;

	if (abs(ours - theirs) > DIFFERENCES_MOST || finder->supply[group] + collapse->large->supply[node] > INT32_MAX)
		return false;
	for (int32_t i = collapse->first[node]; i < collapse->first[node + 1]; i++) {
		int32_t arc = collapse->out[i], head = collapse_head(collapse, arc);
		const struct slot *slot = &finder->slots[head];
		bool known = slot->group == group, equal = known && slot->cost == collapse_cost(collapse, arc);

		same += equal;
		dearer += known && !equal;
		missing += !known;
		if (!equal && !finder->last_hop[head])
			return false;
		fixed += !finder->last_hop[head];
		if (dearer + missing > DIFFERENCES_MOST)
			return false;
	}
	return fixed == finder->fixed_arcs[group] && same >= (ours + 1) / 2 &&
	       theirs - same - dearer + missing + dearer <= DIFFERENCES_MOST;
}

static uint64_t signature_of(const struct finder *finder, int32_t node)
{
	const struct collapse *collapse = finder->collapse;
	uint64_t least = UINT64_MAX, least_of_all = UINT64_MAX;

	for (int32_t i = collapse->first[node]; i < collapse->first[node + 1]; i++) {
		int32_t head = collapse_head(collapse, collapse->out[i]);
		uint64_t hash =
			mix(((uint64_t)(uint32_t)head << 32) ^ (uint64_t)collapse_cost(collapse, collapse->out[i]));

		least_of_all = hash < least_of_all ? hash : least_of_all;
		if (collapse->arcs_in[head] <= finder->hub)
			least = hash < least ? hash : least;
	}
	return least != UINT64_MAX ? least : least_of_all;
}

static void add_group(struct finder *finder, int32_t node, uint64_t signature)
{
	struct collapse *collapse = finder->collapse;
	int32_t group = collapse->group_count++, *bucket = &finder->table[signature & (uint64_t)finder->table_mask];

	finder->representative[group] = node;
	finder->supply[group] = 0;
	finder->signature[group] = signature;
	finder->chain[group] = *bucket;
	finder->fixed_arcs[group] = 0;
	*bucket = group;
	for (int32_t i = collapse->first[node]; i < collapse->first[node + 1]; i++)
		finder->fixed_arcs[group] += !finder->last_hop[collapse_head(collapse, collapse->out[i])];
	make_current(finder, group);
}

static void assign_node(struct finder *finder, int32_t node)
{
	struct collapse *collapse = finder->collapse;
	int32_t before = finder->current, tries = 0;
	uint64_t signature;

	if (before < 0 || !resembles_current(finder, node)) {
		int32_t group;

		signature = signature_of(finder, node);
		group = finder->table[signature & (uint64_t)finder->table_mask];
		for (; group >= 0 && tries < CHAIN_LONGEST; group = finder->chain[group], tries++) {
			if (group == before || finder->signature[group] != signature)
				continue;
			make_current(finder, group);
			if (resembles_current(finder, node))
				break;
		}
		if (group < 0 || tries == CHAIN_LONGEST)
			add_group(finder, node, signature);
	}
	collapse->group[node] = finder->current;
	finder->supply[finder->current] += collapse->large->supply[node];
}

static bool open_finder(struct finder *finder, int32_t nodes, int32_t candidates)
{
	size_t count = (size_t)candidates + 1;
	int32_t table = 1024;

	while (table < candidates && table < 1 << 28)
		table *= 2;
	finder->slots = malloc(((size_t)nodes + 1) * sizeof *finder->slots);
	finder->representative = malloc(count * sizeof *finder->representative);
	finder->fixed_arcs = malloc(count * sizeof *finder->fixed_arcs);
	finder->supply = malloc(count * sizeof *finder->supply);
	finder->chain = malloc(count * sizeof *finder->chain);
	finder->signature = malloc(count * sizeof *finder->signature);
	finder->last_hop = malloc((size_t)nodes + 1);
	finder->table = malloc((size_t)table * sizeof *finder->table);
	if (!finder->slots || !finder->representative || !finder->fixed_arcs || !finder->supply || !finder->chain ||
	    !finder->signature || !finder->last_hop || !finder->table)
		return false;
	for (int32_t v = 0; v < nodes; v++)
		finder->slots[v] = (struct slot){0, -1, -1};
	memset(finder->table, 0xff, (size_t)table * sizeof *finder->table);
	finder->table_mask = table - 1;
	finder->current = -1;
	finder->hub = candidates / 16;
	return true;
}

static void close_finder(struct finder *finder)
{
	free(finder->slots);
	free(finder->representative);
	free(finder->fixed_arcs);
	free(finder->supply);
	free(finder->chain);
	free(finder->signature);
	free(finder->last_hop);
	free(finder->table);
}

/* Members by group, in node order. A group of one is no group: the node is kept. */
static bool list_members(struct collapse *collapse)
{
	int32_t nodes = collapse->large->node_count, groups = 0, count = 0;
	int32_t *number = calloc((size_t)collapse->group_count + 1, sizeof *number);

	if (!number)
		return false;
	for (int32_t v = 0; v < nodes; v++) {
		if (collapse->group[v] >= 0)
			number[collapse->group[v]]++;
	}
	collapse->group_first = malloc(((size_t)collapse->group_count + 2) * sizeof *collapse->group_first);
	collapse->members = malloc(((size_t)nodes + 1) * sizeof *collapse->members);
	if (!collapse->group_first || !collapse->members) {
		free(number);
		return false;
	}
	for (int32_t g = 0; g < collapse->group_count; g++) {
		int32_t size = number[g];

		number[g] = size > 1 ? groups : -1;
		if (size <= 1)
			continue;
		collapse->group_first[groups++] = count;
		count += size;
	}
	collapse->group_first[groups] = count;
	for (int32_t v = nodes - 1; v >= 0; v--) {
		if (collapse->group[v] < 0)
			continue;
		collapse->group[v] = number[collapse->group[v]];
		if (collapse->group[v] < 0)
			continue;
		collapse->kind[v] = NODE_GROUPED;
	}
	collapse->group_count = groups;
	memcpy(number, collapse->group_first, (size_t)groups * sizeof *number);
	for (int32_t v = 0; v < nodes; v++) {
		if (collapse->group[v] >= 0)
			collapse->members[number[collapse->group[v]]++] = v;
	}
	free(number);
	return true;
}

bool collapse_find_groups(struct collapse *collapse)
{
	const struct mcf_problem *large = collapse->large;
	struct finder finder = {.collapse = collapse};
	int32_t candidates = 0;
	bool complete = find_contracted(collapse);

	for (int32_t v = 0; v < large->node_count; v++)
		candidates += large->supply[v] > 0;
	complete = complete && open_finder(&finder, large->node_count, candidates);
	if (complete)
		find_last_hops(&finder);
	for (int32_t v = 0; v < large->node_count && complete; v++) {
		if (is_candidate(&finder, v))
			assign_node(&finder, v);
	}
	close_finder(&finder);
	return complete && list_members(collapse);
}
