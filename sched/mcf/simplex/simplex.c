/* SPDX-License-Identifier: BSD-3-Clause */
/* The network simplex's network and its changes between solves. */
#include <sched/mcf/simplex.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simplex_priv.h"

enum { STRIDE_LEAST = 3 };
/*
 * An arc's tail has so many times as many arcs as the average tail: most arcs are those of few nodes. Measured on
 * scheduling networks: at 1.6 times it makes no difference how they are mixed, at 1.7 and more it does.
 */
static const double skewed = 5.0 / 3;

static bool resize(void **array, int32_t count, size_t bytes)
{
	void *grown = realloc(*array, ((size_t)count + 1) * bytes);

	if (grown)
		*array = grown;
	return grown != NULL;
}

static bool reserve_nodes(struct mcf_simplex *simplex, int32_t count)
{
	int32_t room = simplex->node_room + simplex->node_room / 2 + 16;

	if (simplex->tree && count <= simplex->node_room)
		return true;
	room = room > count ? room : count;
	/* One more than the nodes: the root. */
	if (!resize((void **)&simplex->supply, room, sizeof *simplex->supply) ||
	    !resize((void **)&simplex->tree, room, sizeof *simplex->tree) ||
	    !resize((void **)&simplex->potential, room, sizeof *simplex->potential) ||
	    !resize((void **)&simplex->balance, room, sizeof *simplex->balance) ||
	    !resize((void **)&simplex->link, room, sizeof *simplex->link) ||
	    !resize((void **)&simplex->narrow_potential, room, sizeof *simplex->narrow_potential) ||
	    !resize((void **)&simplex->child, room, sizeof *simplex->child) ||
	    !resize((void **)&simplex->sibling, room, sizeof *simplex->sibling))
		return false;
	simplex->node_room = room;
	return true;
}

static bool reserve_arcs(struct mcf_simplex *simplex, int32_t count)
{
	int32_t room = simplex->arc_room + simplex->arc_room / 2 + 16;

	if (simplex->state && count <= simplex->arc_room)
		return true;
	room = room > count ? room : count;
	if (!resize((void **)&simplex->tail, room, sizeof *simplex->tail) ||
	    !resize((void **)&simplex->head, room, sizeof *simplex->head) ||
	    !resize((void **)&simplex->capacity, room, sizeof *simplex->capacity) ||
	    !resize((void **)&simplex->cost, room, sizeof *simplex->cost) ||
	    !resize((void **)&simplex->priced.tail, room, sizeof *simplex->priced.tail) ||
	    !resize((void **)&simplex->priced.head, room, sizeof *simplex->priced.head) ||
	    !resize((void **)&simplex->priced.cost, room, sizeof *simplex->priced.cost) ||
	    !resize((void **)&simplex->priced.narrow_cost, room, sizeof *simplex->priced.narrow_cost) ||
	    !resize((void **)&simplex->state, room, sizeof *simplex->state) ||
	    !resize((void **)&simplex->position, room, sizeof *simplex->position))
		return false;
	simplex->arc_room = room;
	return true;
}

void simplex_note_cost(struct mcf_simplex *simplex, int64_t cost)
{
	/* Clamped, so that the negative of it exists; MCF_COST_LIMIT itself is out of range already. */
	int64_t size = cost <= -MCF_COST_LIMIT || cost >= MCF_COST_LIMIT ? MCF_COST_LIMIT : cost < 0 ? -cost : cost;

	simplex->largest_cost = size > simplex->largest_cost ? size : simplex->largest_cost;
}

/* Readies arc (a position) for pricing, at its lower bound. */
static void store_arc(struct mcf_simplex *simplex, int32_t arc)
{
	bool parked = simplex->capacity[arc] == 0 || simplex->tail[arc] == simplex->head[arc];

	simplex->state[arc] = parked ? ARC_PARKED : 0;
	simplex->priced.tail[arc] = parked ? TREE_ROOT : simplex->tail[arc] + 1;
	simplex->priced.head[arc] = parked ? TREE_ROOT : simplex->head[arc] + 1;
	simplex->priced.cost[arc] = parked ? 0 : simplex->cost[arc];
}

struct given_arc {
	int32_t tail, head, capacity;
	int64_t cost;
};

static void place_arc(struct mcf_simplex *simplex, int32_t arc, int32_t position, struct given_arc given)
{
	simplex->position[arc] = position;
	simplex->tail[position] = given.tail;
	simplex->head[position] = given.head;
	simplex->capacity[position] = given.capacity;
	simplex->cost[position] = given.cost;
	simplex_note_cost(simplex, given.cost);
	simplex->loop_count += given.tail == given.head;
	store_arc(simplex, position);
}

/*
 * Arcs of a node mostly come side by side; priced in that order a block sees few nodes. So they are dealt out with a
 * stride of as many as a node has (the same trick as in LEMON, whose stride is the arcs a node, with arcs or without).
 * Measured, against a stride of the square root of their number: up to three times fewer pivots on grids, where a block
 * of neighbours is better than one of nodes from all over. Where most arcs are those of few nodes, perhaps by cost,
 * that stride says nothing of them, and the square root is better: on scheduling networks by job a quarter fewer
 * pivots, with four sources for 20,000 sinks two thirds fewer.
 */
static int32_t arc_stride(struct mcf_simplex *simplex, const struct mcf_problem *problem)
{
	int32_t *arcs_of = simplex->child, tails = 0, root = 1; /* scratch */
	int64_t squares = 0;

	memset(arcs_of, 0, (size_t)problem->node_count * sizeof *arcs_of);
	for (int32_t a = 0; a < problem->arc_count; a++) {
		tails += arcs_of[problem->tail[a]] == 0;
		squares += 2 * (int64_t)arcs_of[problem->tail[a]]++ + 1;
	}
	while ((int64_t)root * root < problem->arc_count)
		root++;
	/* An arc's tail has squares / arc_count arcs on average, a tail arc_count / tails. */
	if ((double)squares * tails > skewed * (double)problem->arc_count * problem->arc_count)
		return root;
	return tails > 0 && problem->arc_count / tails > STRIDE_LEAST ? problem->arc_count / tails : STRIDE_LEAST;
}

static void load_arcs(struct mcf_simplex *simplex, const struct mcf_problem *problem, int32_t count)
{
	int32_t stride = arc_stride(simplex, problem), position = 0, start = 0;

	simplex->arc_count = count;
	for (int32_t a = 0; a < count; a++) {
		place_arc(
			simplex, a, position,
			(struct given_arc){problem->tail[a], problem->head[a], problem->capacity[a], problem->cost[a]});
		/* An arc of negative cost mostly ends up full: it begins so, and need not be entered for that. */
		if (problem->cost[a] < 0 && !(simplex->state[position] & ARC_PARKED))
			simplex_flip(simplex, position);
		position += stride;
		if (position >= count)
			position = ++start;
	}
}

struct mcf_simplex *mcf_simplex_create(const struct mcf_problem *problem, int32_t node_limit, int32_t arc_limit)
{
	struct mcf_simplex *simplex = calloc(1, sizeof *simplex);
	int32_t nodes = problem ? problem->node_count : 0, arcs = problem ? problem->arc_count : 0;

	if (!simplex)
		return NULL;
	simplex->patience = INT64_MAX;
	simplex->fresh = problem != NULL;
	if (!reserve_nodes(simplex, nodes > node_limit ? nodes : node_limit) ||
	    !reserve_arcs(simplex, arcs > arc_limit ? arcs : arc_limit)) {
		mcf_simplex_destroy(simplex);
		errno = ENOMEM;
		return NULL;
	}
	simplex->tree[TREE_ROOT] = (struct tree_node){.parent = NO_NODE, .arc = ARTIFICIAL_UP};
	simplex->balance[TREE_ROOT] = 0;
	for (int32_t v = 0; v < nodes; v++) {
		mcf_simplex_add_node(simplex);
		mcf_simplex_set_supply(simplex, v, problem->supply[v]);
	}
	if (problem)
		load_arcs(simplex, problem, arcs);
	return simplex;
}

void mcf_simplex_destroy(struct mcf_simplex *simplex)
{
	if (!simplex)
		return;
	free(simplex->tail);
	free(simplex->head);
	free(simplex->capacity);
	free(simplex->cost);
	free(simplex->supply);
	free(simplex->priced.tail);
	free(simplex->priced.head);
	free(simplex->priced.cost);
	free(simplex->priced.narrow_cost);
	free(simplex->state);
	free(simplex->position);
	free(simplex->tree);
	free(simplex->potential);
	free(simplex->balance);
	free(simplex->link);
	free(simplex->narrow_potential);
	free(simplex->child);
	free(simplex->sibling);
	free(simplex);
}

int32_t mcf_simplex_add_node(struct mcf_simplex *simplex)
{
	int32_t node = simplex->node_count + 1;

	if (simplex->node_count >= INT32_MAX - 1 || !reserve_nodes(simplex, node))
		return -ENOMEM;
	simplex->node_count++;
	simplex->supply[node - 1] = 0;
	simplex->balance[node] = 0;
	tree_hang(simplex, node, 0);
	return node - 1;
}

int32_t mcf_simplex_add_arc(struct mcf_simplex *simplex, int32_t tail, int32_t head, int32_t capacity, int64_t cost)
{
	int32_t arc = simplex->arc_count;

	if (arc == INT32_MAX - 1 || !reserve_arcs(simplex, arc + 1))
		return -ENOMEM;
	simplex->arc_count++;
	place_arc(simplex, arc, arc, (struct given_arc){tail, head, capacity, cost});
	return arc;
}

void mcf_simplex_set_cost(struct mcf_simplex *simplex, int32_t given, int64_t cost)
{
	int32_t arc = simplex->position[given];
	bool flipped = simplex->state[arc] & ARC_FLIPPED;

	simplex_note_cost(simplex, cost);
	if (flipped)
		simplex->baseline_cost += ((mcf_wide)cost - simplex->cost[arc]) * simplex->capacity[arc];
	simplex->cost[arc] = cost;
	if (!(simplex->state[arc] & ARC_PARKED))
		simplex->priced.cost[arc] = flipped ? -cost : cost;
}

/* Out of the basis; the subtree hangs from the root until the next solve sets the flows. */
static void expel(struct mcf_simplex *simplex, int32_t arc)
{
	int32_t node;

	if (!(simplex->state[arc] & ARC_BASIC))
		return;
	node = simplex_basic_node(simplex, arc);
	tree_hang(simplex, node, 0);
	simplex->state[arc] &= (uint8_t)~ARC_BASIC;
}

void mcf_simplex_set_capacity(struct mcf_simplex *simplex, int32_t given, int32_t capacity)
{
	int32_t arc = simplex->position[given];
	bool flipped = simplex->state[arc] & ARC_FLIPPED, loop = simplex->tail[arc] == simplex->head[arc];

	if (simplex->capacity[arc] == capacity)
		return;
	if (simplex->capacity[arc] == 0 || capacity == 0 || loop) {
		expel(simplex, arc);
		if (flipped)
			simplex_flip(simplex, arc);
		simplex->capacity[arc] = capacity;
		store_arc(simplex, arc);
		return;
	}
	/* A flipped arc sends its whole capacity as a baseline, be it basic or not. */
	if (flipped)
		simplex_flip(simplex, arc);
	simplex->capacity[arc] = capacity;
	if (flipped)
		simplex_flip(simplex, arc);
}

void mcf_simplex_set_supply(struct mcf_simplex *simplex, int32_t node, int64_t supply)
{
	simplex->balance[node + 1] += supply - simplex->supply[node];
	simplex->supply[node] = supply;
}

void mcf_simplex_set_ends(struct mcf_simplex *simplex, int32_t given, int32_t tail, int32_t head)
{
	int32_t arc = simplex->position[given];

	expel(simplex, arc);
	if (simplex->state[arc] & ARC_FLIPPED)
		simplex_flip(simplex, arc);
	simplex->loop_count += (tail == head) - (simplex->tail[arc] == simplex->head[arc]);
	simplex->tail[arc] = tail;
	simplex->head[arc] = head;
	store_arc(simplex, arc);
}
