/* SPDX-License-Identifier: BSD-3-Clause */
/* The network simplex's network and its warm start; the algorithm itself is in simplex_pivot.c. */
#include <mcf/simplex.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simplex_priv.h"

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
	    !resize((void **)&simplex->thread, room, sizeof *simplex->thread) ||
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
	    !resize((void **)&simplex->priced, room, sizeof *simplex->priced) ||
	    !resize((void **)&simplex->state, room, sizeof *simplex->state) ||
	    !resize((void **)&simplex->position, room, sizeof *simplex->position))
		return false;
	simplex->arc_room = room;
	return true;
}

static void note_cost(struct mcf_simplex *simplex, int64_t cost)
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
	simplex->priced[arc] =
		parked ? (struct priced_arc){TREE_ROOT, TREE_ROOT, 0}
		       : (struct priced_arc){simplex->tail[arc] + 1, simplex->head[arc] + 1, simplex->cost[arc]};
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
	note_cost(simplex, given.cost);
	simplex->loop_count += given.tail == given.head;
	store_arc(simplex, position);
}

/*
 * Arcs of a node mostly come side by side; priced in that order a block sees few nodes. So they are dealt out with a
 * stride of about the square root of their number (the same trick as in LEMON, 7 times fewer pivots here).
 */
static void load_arcs(struct mcf_simplex *simplex, const struct mcf_problem *problem, int32_t count)
{
	int32_t stride = 10, position = 0, start = 0;

	while ((int64_t)stride * stride < count)
		stride++;
	simplex->arc_count = count;
	for (int32_t a = 0; a < count; a++) {
		place_arc(
			simplex, a, position,
			(struct given_arc){problem->tail[a], problem->head[a], problem->capacity[a], problem->cost[a]});
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
	free(simplex->priced);
	free(simplex->state);
	free(simplex->position);
	free(simplex->tree);
	free(simplex->potential);
	free(simplex->balance);
	free(simplex->thread);
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

/* The tree node that the basic arc hangs from: whichever end has it. */
static int32_t basic_node(const struct mcf_simplex *simplex, int32_t arc)
{
	int32_t tail = simplex->priced[arc].tail;

	return simplex->tree[tail].arc == arc ? tail : simplex->priced[arc].head;
}

void mcf_simplex_set_cost(struct mcf_simplex *simplex, int32_t given, int64_t cost)
{
	int32_t arc = simplex->position[given];
	bool flipped = simplex->state[arc] & ARC_FLIPPED;

	note_cost(simplex, cost);
	if (flipped)
		simplex->baseline_cost += ((mcf_wide)cost - simplex->cost[arc]) * simplex->capacity[arc];
	simplex->cost[arc] = cost;
	if (!(simplex->state[arc] & ARC_PARKED))
		simplex->priced[arc].cost = flipped ? -cost : cost;
}

/* Out of the basis; the subtree hangs from the root until the next solve sets the flows. */
static void expel(struct mcf_simplex *simplex, int32_t arc)
{
	int32_t node;

	if (!(simplex->state[arc] & ARC_BASIC))
		return;
	node = basic_node(simplex, arc);
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

/*
 * Sets the flow of the basic arc above `node` to what its subtree must send, `excess`. Where that breaks a bound or
 * strong feasibility the arc leaves the basis at the nearest bound and the subtree hangs from the root. Returns what
 * goes to the parent in the end.
 */
static int64_t settle_node(struct mcf_simplex *simplex, int32_t node, int64_t excess)
{
	struct tree_node *n = &simplex->tree[node];
	bool up = n->arc >= 0 && simplex->priced[n->arc].tail == node;
	int64_t capacity, flow = up ? excess : -excess;

	if (n->arc < 0) {
		tree_hang(simplex, node, excess);
		return excess;
	}
	capacity = simplex->capacity[n->arc];
	n->room_up = up ? capacity - flow : flow;
	n->room_down = up ? flow : capacity - flow;
	if (n->room_up > 0 && n->room_down >= 0)
		return excess;
	simplex->state[n->arc] &= (uint8_t)~ARC_BASIC;
	if (flow >= capacity) {
		/* The flip moves `capacity` into the balances; both ends learn it here, the parent's through our
		 * return. */
		int32_t parent = n->parent;
		int64_t parent_balance = simplex->balance[parent];

		simplex_flip(simplex, n->arc);
		excess -= up ? capacity : -capacity;
		tree_hang(simplex, node, excess);
		return simplex->balance[parent] - parent_balance;
	}
	tree_hang(simplex, node, excess);
	return 0;
}

/* Flows of the whole tree from the balances, children first; sums gather in the potentials, which come after. */
static void settle_flows(struct mcf_simplex *simplex)
{
	const struct tree_node *tree = simplex->tree;
	int64_t *sum = simplex->potential;

	for (int32_t v = 0; v <= simplex->node_count; v++)
		sum[v] = simplex->balance[v];
	for (int32_t v = tree[TREE_ROOT].before; v != TREE_ROOT; v = tree[v].before) {
		int32_t parent = tree[v].parent;

		sum[parent] += settle_node(simplex, v, sum[v]);
	}
}

/* The largest cost is kept as it comes in; only when that is too large are all arcs looked at again. */
static bool set_artificial_cost(struct mcf_simplex *simplex)
{
	if (!mcf_cost_in_range(simplex->node_count, simplex->largest_cost)) {
		simplex->largest_cost = 0;
		for (int32_t a = 0; a < simplex->arc_count; a++)
			note_cost(simplex, simplex->cost[a]);
		if (!mcf_cost_in_range(simplex->node_count, simplex->largest_cost))
			return false;
	}
	simplex->artificial_cost = (simplex->largest_cost + 1) * (simplex->node_count + 1);
	return true;
}

static enum mcf_status check_supplies(const struct mcf_simplex *simplex)
{
	mcf_wide sum = 0, total = 0;

	for (int32_t v = 0; v < simplex->node_count; v++) {
		sum += simplex->supply[v];
		total += simplex->supply[v] < 0 ? -(mcf_wide)simplex->supply[v] : simplex->supply[v];
	}
	if (sum != 0)
		return MCF_UNBALANCED;
	return total > INT64_C(1) << 62 ? MCF_COST_RANGE : MCF_OPTIMAL;
}

static int32_t flow_at(const struct mcf_simplex *simplex, int32_t arc)
{
	uint8_t state = simplex->state[arc];
	int64_t flow = 0;

	if (state & ARC_PARKED) /* a loop changes nothing but the cost */
		return simplex->cost[arc] < 0 ? simplex->capacity[arc] : 0;
	if (state & ARC_BASIC)
		flow = tree_stored_flow(simplex, basic_node(simplex, arc));
	return (int32_t)(state & ARC_FLIPPED ? simplex->capacity[arc] - flow : flow);
}

/* What the basis says: feasible unless something still flows from the root. The cost is read off in O(nodes). */
static enum mcf_status read_status(struct mcf_simplex *simplex)
{
	mcf_wide total = simplex->baseline_cost;

	for (int32_t v = 1; v <= simplex->node_count; v++) {
		if (simplex->tree[v].arc == ARTIFICIAL_DOWN)
			return MCF_INFEASIBLE;
		if (simplex->tree[v].arc >= 0)
			total += (mcf_wide)simplex->priced[simplex->tree[v].arc].cost * tree_stored_flow(simplex, v);
	}
	for (int32_t a = 0; a < simplex->arc_count && simplex->loop_count > 0; a++) {
		if (simplex->tail[a] == simplex->head[a])
			total += (mcf_wide)simplex->cost[a] * flow_at(simplex, a);
	}
	simplex->total_cost = (int64_t)total;
	return total == simplex->total_cost ? MCF_OPTIMAL : MCF_COST_RANGE;
}

enum mcf_status mcf_simplex_solve(struct mcf_simplex *simplex)
{
	simplex->pivots = 0;
	simplex->status = check_supplies(simplex);
	if (simplex->status != MCF_OPTIMAL)
		return simplex->status;
	if (!set_artificial_cost(simplex))
		return simplex->status = MCF_COST_RANGE;
	tree_rebuild(simplex);
	settle_flows(simplex);
	tree_rebuild(simplex);
	tree_price(simplex);
	simplex_optimise(simplex);
	return simplex->status = read_status(simplex);
}

int32_t mcf_simplex_flow(const struct mcf_simplex *simplex, int32_t arc)
{
	return flow_at(simplex, simplex->position[arc]);
}

int64_t mcf_simplex_potential(const struct mcf_simplex *simplex, int32_t node)
{
	return simplex->potential[node + 1];
}

int64_t mcf_simplex_cost(const struct mcf_simplex *simplex)
{
	return simplex->total_cost;
}

uint64_t mcf_simplex_pivots(const struct mcf_simplex *simplex)
{
	return simplex->pivots;
}

int32_t mcf_simplex_node_count(const struct mcf_simplex *simplex)
{
	return simplex->node_count;
}

int32_t mcf_simplex_arc_count(const struct mcf_simplex *simplex)
{
	return simplex->arc_count;
}

/*
 * Farkas' proof: the duals of the same tree when only artificial arcs cost. artificial_cost outweighs any sum of
 * real costs along a path, so the tree that is optimal for both is optimal for the artificial part alone.
 */
static void export_proof(const struct mcf_simplex *simplex, int64_t *y)
{
	for (int32_t v = simplex->thread[TREE_ROOT]; v != TREE_ROOT; v = simplex->thread[v]) {
		int32_t parent = simplex->tree[v].parent;

		if (parent == TREE_ROOT)
			y[v - 1] = simplex->tree[v].arc == ARTIFICIAL_DOWN ? -1 : 0;
		else
			y[v - 1] = y[parent - 1];
	}
}

enum mcf_status mcf_simplex_export(const struct mcf_simplex *simplex, struct mcf_solution *solution)
{
	if (mcf_solution_reserve(solution, simplex->node_count, simplex->arc_count) != MCF_OPTIMAL)
		return solution->status = MCF_NO_MEMORY;
	solution->status = simplex->status;
	solution->cost = simplex->total_cost;
	solution->statistics.pivots = simplex->pivots;
	if (simplex->status == MCF_INFEASIBLE)
		export_proof(simplex, solution->potential);
	if (simplex->status != MCF_OPTIMAL)
		return simplex->status;
	memcpy(solution->potential, simplex->potential + 1, (size_t)simplex->node_count * sizeof *solution->potential);
	for (int32_t a = 0; a < simplex->arc_count; a++)
		solution->flow[a] = mcf_simplex_flow(simplex, a);
	return MCF_OPTIMAL;
}

enum mcf_status mcf_simplex_algorithm(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	struct mcf_simplex *simplex = mcf_simplex_create(problem, 0, 0);

	if (!simplex)
		return MCF_NO_MEMORY;
	mcf_simplex_solve(simplex);
	mcf_simplex_export(simplex, solution);
	mcf_simplex_destroy(simplex);
	return solution->status;
}
