/* SPDX-License-Identifier: BSD-3-Clause */
/* A solve of the network simplex: flows of the basis as it stands, pivots, and the answer read off the tree. */
#include <stdlib.h>
#include <string.h>

#include "simplex_priv.h"

/*
 * Sets the flow of the basic arc above `node` to what its subtree must send, `excess`. Where that breaks a bound or
 * strong feasibility the arc leaves the basis at the nearest bound and the subtree hangs from the root. Returns what
 * goes to the parent in the end.
 */
static int64_t settle_node(struct mcf_simplex *simplex, int32_t node, int64_t excess)
{
	struct tree_node *n = &simplex->tree[node];
	bool up = n->arc >= 0 && simplex->priced.tail[n->arc] == node;
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
	for (int32_t v = simplex->link[TREE_ROOT].before; v != TREE_ROOT; v = simplex->link[v].before) {
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
			simplex_note_cost(simplex, simplex->cost[a]);
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
		flow = tree_stored_flow(simplex, simplex_basic_node(simplex, arc));
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
			total += (mcf_wide)simplex->priced.cost[simplex->tree[v].arc] * tree_stored_flow(simplex, v);
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
	simplex->work = 0;
	simplex->given_up = false;
	simplex->status = check_supplies(simplex);
	if (simplex->status != MCF_OPTIMAL)
		return simplex->status;
	if (!set_artificial_cost(simplex))
		return simplex->status = MCF_COST_RANGE;
	tree_rebuild(simplex);
	settle_flows(simplex);
	tree_rebuild(simplex);
	tree_price(simplex);
	simplex->missing_first = simplex_missing_units(simplex);
	simplex_optimise(simplex);
	if (simplex->given_up)
		return simplex->status = MCF_UNSUITED;
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
	for (int32_t v = simplex->link[TREE_ROOT].next; v != TREE_ROOT; v = simplex->link[v].next) {
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

static enum mcf_status solve_once(const struct mcf_problem *problem, bool patient, struct mcf_solution *solution)
{
	struct mcf_simplex *simplex = mcf_simplex_create(problem, 0, 0);

	if (!simplex)
		return MCF_NO_MEMORY;
	if (!patient)
		simplex_be_impatient(simplex);
	simplex->watcher = solution->watcher;
	mcf_simplex_solve(simplex);
	mcf_simplex_export(simplex, solution);
	mcf_simplex_destroy(simplex);
	return solution->status;
}

enum mcf_status mcf_simplex_unless_slow(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	return solve_once(problem, false, solution);
}

enum mcf_status mcf_simplex_algorithm(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	return solve_once(problem, true, solution);
}
