/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds contracted nodes and groups, in nearly linear time. A node is compared with the group of the node before it,
 * then with at most CHAIN_LONGEST groups of the same signature. The signature is a min-hash of the node's arcs: nodes
 * that share all but a few arcs mostly have the same one, whatever their order in the file.
 */
#include <stdlib.h>
#include <string.h>

#include "reduce_priv.h"

enum { CHAIN_LONGEST = 16, DIFFERENCES_MOST = 2 };

/* For one node: the arc that leads to it from the representative of the current group. */
struct slot {
	int64_t cost;
	int32_t group; /* the last group whose representative has an arc to the node */
	int32_t stamp; /* the node that was last found to have an arc to this one: detects parallel arcs */
};

struct finder {
	struct aggregation *aggregation;
	struct slot *slots;      /* [nodes] */
	int32_t *representative; /* [groups] */
	int32_t *fixed_arcs;     /* [groups] number of the representative's arcs to heads that are not last hops */
	int64_t *supply;         /* [groups] */
	int32_t *chain;          /* [groups] next older group with the same signature, or -1 */
	uint64_t *signature;     /* [groups] */
	/*
	 * [nodes] true if all outgoing arcs of the node lead to sinks; members of a group may differ in arcs to such a
	 * node
	 */
	uint8_t *last_hop;
	int32_t *table; /* by hash of signature: newest group, or -1 */
	int32_t table_mask;
	int32_t current; /* the group whose representative fills the slots */
	int32_t hub;     /* heads with more incoming arcs than this are left out of signatures */
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/*
 * True for NoMora's unscheduled aggregators. A machine must remain a node even if its outgoing arc is wide enough. So
 * find_contracted() counts each incoming arc from a node without supply (such as a rack) as wider than any capacity.
 */
static bool is_contractible(const struct aggregation *aggregation, int32_t node, const int64_t *width_in)
{
	const struct mcf_problem *large = aggregation->large;
	int32_t arc = aggregation->out[aggregation->first[node]];

	return large->supply[node] == 0 && aggregation->first[node + 1] - aggregation->first[node] == 1 &&
	       large->head[arc] != node && width_in[node] <= large->capacity[arc];
}

/* One level only: the head of a contracted node's arc is never contracted itself. */
static bool find_contracted(struct aggregation *aggregation)
{
	const struct mcf_problem *large = aggregation->large;
	int64_t *width_in = calloc((size_t)large->node_count + 1, sizeof *width_in);

	if (!width_in)
		return false;
	for (int32_t a = 0; a < large->arc_count; a++)
		width_in[large->head[a]] += large->supply[large->tail[a]] > 0 ? large->capacity[a] : INT64_C(1) << 32;
	for (int32_t v = 0; v < large->node_count; v++) {
		int32_t arc = aggregation->out[aggregation->first[v]];

		if (!is_contractible(aggregation, v, width_in) || aggregation->through[large->head[arc]] >= 0 ||
		    is_contractible(aggregation, large->head[arc], width_in))
			continue;
		aggregation->through[v] = arc;
		aggregation->kind[v] = NODE_CONTRACTED;
	}
	free(width_in);
	return true;
}

static bool is_candidate(const struct finder *finder, int32_t node)
{
	const struct aggregation *aggregation = finder->aggregation;
	const struct mcf_problem *large = aggregation->large;

	bool wide = false;

	if (large->supply[node] <= 0 || large->supply[node] > INT32_MAX || aggregation->arcs_in[node] > 0)
		return false;
	for (int32_t i = aggregation->first[node]; i < aggregation->first[node + 1]; i++) {
		int32_t arc = aggregation->out[i];
		struct slot *slot = &finder->slots[aggregation_head(aggregation, arc)];

		if (large->capacity[arc] < large->supply[node] || slot->stamp == node)
			return false;
		slot->stamp = node;
		wide = wide || large->capacity[arc] > large->supply[node];
	}
	finder->aggregation->loose = finder->aggregation->loose || wide;
	return true;
}

static void find_last_hops(struct finder *finder)
{
	const struct aggregation *aggregation = finder->aggregation;

	for (int32_t v = 0; v < aggregation->large->node_count; v++) {
		finder->last_hop[v] =
			aggregation->large->supply[v] >= 0 && aggregation->first[v] < aggregation->first[v + 1];
		for (int32_t i = aggregation->first[v]; i < aggregation->first[v + 1]; i++) {
			if (aggregation->large->supply[aggregation_head(aggregation, aggregation->out[i])] >= 0)
				finder->last_hop[v] = 0;
		}
	}
}

static void make_current(struct finder *finder, int32_t group)
{
	const struct aggregation *aggregation = finder->aggregation;
	int32_t node = finder->representative[group];

	for (int32_t i = aggregation->first[node]; i < aggregation->first[node + 1]; i++) {
		struct slot *slot = &finder->slots[aggregation_head(aggregation, aggregation->out[i])];

		slot->group = group;
		slot->cost = aggregation_cost(aggregation, aggregation->out[i]);
	}
	finder->current = group;
}

/*
 * True if `node` and the representative have all but a few arcs in common, and all arcs to heads that are not last
 * hops.
 */
static bool resembles_current(const struct finder *finder, int32_t node)
{
	const struct aggregation *aggregation = finder->aggregation;
	int32_t group = finder->current, representative = finder->representative[group];
	int32_t theirs = aggregation->first[representative + 1] - aggregation->first[representative];
	int32_t ours = aggregation->first[node + 1] - aggregation->first[node];
	int32_t same = 0, dearer = 0, missing = 0, fixed = 0;

	if (abs(ours - theirs) > DIFFERENCES_MOST ||
	    finder->supply[group] + aggregation->large->supply[node] > INT32_MAX)
		return false;
	for (int32_t i = aggregation->first[node]; i < aggregation->first[node + 1]; i++) {
		int32_t arc = aggregation->out[i], head = aggregation_head(aggregation, arc);
		const struct slot *slot = &finder->slots[head];
		bool known = slot->group == group, equal = known && slot->cost == aggregation_cost(aggregation, arc);

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
	const struct aggregation *aggregation = finder->aggregation;
	uint64_t least = UINT64_MAX, least_of_all = UINT64_MAX;

	for (int32_t i = aggregation->first[node]; i < aggregation->first[node + 1]; i++) {
		int32_t head = aggregation_head(aggregation, aggregation->out[i]);
		uint64_t hash = mix(((uint64_t)(uint32_t)head << 32) ^
				    (uint64_t)aggregation_cost(aggregation, aggregation->out[i]));

		least_of_all = hash < least_of_all ? hash : least_of_all;
		if (aggregation->arcs_in[head] <= finder->hub)
			least = hash < least ? hash : least;
	}
	return least != UINT64_MAX ? least : least_of_all;
}

static void add_group(struct finder *finder, int32_t node, uint64_t signature)
{
	struct aggregation *aggregation = finder->aggregation;
	int32_t group = aggregation->group_count++, *bucket = &finder->table[signature & (uint64_t)finder->table_mask];

	finder->representative[group] = node;
	finder->supply[group] = 0;
	finder->signature[group] = signature;
	finder->chain[group] = *bucket;
	finder->fixed_arcs[group] = 0;
	*bucket = group;
	for (int32_t i = aggregation->first[node]; i < aggregation->first[node + 1]; i++)
		finder->fixed_arcs[group] += !finder->last_hop[aggregation_head(aggregation, aggregation->out[i])];
	make_current(finder, group);
}

static void assign_node(struct finder *finder, int32_t node)
{
	struct aggregation *aggregation = finder->aggregation;
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
	aggregation->group[node] = finder->current;
	finder->supply[finder->current] += aggregation->large->supply[node];
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

/* Lists the members by group, in node order. A group with one member is dropped, and its node is kept. */
static bool list_members(struct aggregation *aggregation)
{
	int32_t nodes = aggregation->large->node_count, groups = 0, count = 0;
	int32_t *number = calloc((size_t)aggregation->group_count + 1, sizeof *number);

	if (!number)
		return false;
	for (int32_t v = 0; v < nodes; v++) {
		if (aggregation->group[v] >= 0)
			number[aggregation->group[v]]++;
	}
	aggregation->group_first = malloc(((size_t)aggregation->group_count + 2) * sizeof *aggregation->group_first);
	aggregation->members = malloc(((size_t)nodes + 1) * sizeof *aggregation->members);
	if (!aggregation->group_first || !aggregation->members) {
		free(number);
		return false;
	}
	for (int32_t g = 0; g < aggregation->group_count; g++) {
		int32_t size = number[g];

		number[g] = size > 1 ? groups : -1;
		if (size <= 1)
			continue;
		aggregation->group_first[groups++] = count;
		count += size;
	}
	aggregation->group_first[groups] = count;
	for (int32_t v = nodes - 1; v >= 0; v--) {
		if (aggregation->group[v] < 0)
			continue;
		aggregation->group[v] = number[aggregation->group[v]];
		if (aggregation->group[v] < 0)
			continue;
		aggregation->kind[v] = NODE_GROUPED;
	}
	aggregation->group_count = groups;
	memcpy(number, aggregation->group_first, (size_t)groups * sizeof *number);
	for (int32_t v = 0; v < nodes; v++) {
		if (aggregation->group[v] >= 0)
			aggregation->members[number[aggregation->group[v]]++] = v;
	}
	free(number);
	return true;
}

bool aggregation_find_groups(struct aggregation *aggregation)
{
	const struct mcf_problem *large = aggregation->large;
	struct finder finder = {.aggregation = aggregation};
	int32_t candidates = 0;
	bool complete = find_contracted(aggregation);

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
	return complete && list_members(aggregation);
}
