/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads a network of the structured shape into the structured solver and reads flow and potentials back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sched/mcf/simplex.h>
#include <sched/mcf/verify.h>

#include "reduce_priv.h"

/* Price of a node without capacity: above any path's cost, so that no arc to it has a negative reduced cost. */
#define PRICE_CLOSED (INT64_C(1) << 40)

/*
 * Maximum number of passes over all arcs in shape_solve_quick(). This number of passes takes about as long as a general
 * solver. A cluster that is 95 % full takes 27 passes, one that is 99 % full takes 94.
 */
enum { QUICK_PASSES = 48 };

/*
 * Scratch for one group: its row, and its arcs by target. The items of a column are valid only if stamp[column] is the
 * group's node, the item of a block only if block_stamp[block] is.
 */
struct workspace {
	struct arc *columns, *blocks;
	struct structured_running *running;
	struct structured_share *shares;
	int32_t share_room;
	int32_t *stamp, *wide_arc, *narrow_arc; /* [columns] */
	int32_t *next;                          /* [arcs] the group's next narrow (limited) arc to the same column */
	int32_t *block_stamp, *block_arc;       /* [blocks] the group's cheapest arc to the block */
	int32_t aggregator_arc;                 /* the group's cheapest arc to the aggregator, -1 = none */
	int64_t *price;                         /* [nodes] */
};

static enum mcf_status from_code(int code)
{
	return code == 0 ? MCF_OPTIMAL : code == -ENOMEM ? MCF_NO_MEMORY : MCF_UNSUITED;
}

static bool open_workspace(const struct shape *shape, struct workspace *work)
{
	size_t columns = (size_t)shape->column_count + 1, arcs = (size_t)shape->problem->arc_count + 1;
	size_t blocks = (size_t)shape->block_count + 1, widest = 1;

	for (int32_t v = 0; v < shape->problem->node_count; v++) {
		size_t size = (size_t)(shape->first[v + 1] - shape->first[v]) + 1;

		widest = size > widest ? size : widest;
	}
	work->columns = malloc(widest * sizeof *work->columns);
	work->blocks = malloc(widest * sizeof *work->blocks);
	work->running = malloc(widest * sizeof *work->running);
	work->share_room = shape->column_count;
	work->shares = malloc(columns * sizeof *work->shares);
	work->stamp = malloc(columns * sizeof *work->stamp);
	work->wide_arc = malloc(columns * sizeof *work->wide_arc);
	work->narrow_arc = malloc(columns * sizeof *work->narrow_arc);
	work->next = malloc(arcs * sizeof *work->next);
	work->block_stamp = malloc(blocks * sizeof *work->block_stamp);
	work->block_arc = malloc(blocks * sizeof *work->block_arc);
	work->price = malloc(((size_t)shape->problem->node_count + 1) * sizeof *work->price);
	if (!work->columns || !work->blocks || !work->running || !work->shares || !work->stamp || !work->wide_arc ||
	    !work->narrow_arc || !work->next || !work->block_stamp || !work->block_arc || !work->price)
		return false;
	memset(work->stamp, 0xff, columns * sizeof *work->stamp);
	memset(work->block_stamp, 0xff, blocks * sizeof *work->block_stamp);
	return true;
}

static void close_workspace(struct workspace *work)
{
	free(work->columns);
	free(work->blocks);
	free(work->running);
	free(work->shares);
	free(work->stamp);
	free(work->wide_arc);
	free(work->narrow_arc);
	free(work->next);
	free(work->block_stamp);
	free(work->block_arc);
	free(work->price);
}

static int compare_arcs(const void *left, const void *right)
{
	const struct arc *a = left, *b = right;

	return (a->target > b->target) - (a->target < b->target);
}

/* Keeps the cheapest of parallel arcs; the others never have flow. */
static int32_t keep_cheapest(struct arc *arcs, int32_t count)
{
	int32_t kept = 0;

	qsort(arcs, (size_t)count, sizeof *arcs, compare_arcs);
	for (int32_t i = 0; i < count; i++) {
		if (kept > 0 && arcs[kept - 1].target == arcs[i].target)
			arcs[kept - 1].cost = arcs[i].cost < arcs[kept - 1].cost ? arcs[i].cost : arcs[kept - 1].cost;
		else
			arcs[kept++] = arcs[i];
	}
	return kept;
}

static int add_row(const struct shape *shape, struct structured *state, struct workspace *work, int32_t node)
{
	const struct mcf_problem *problem = shape->problem;
	struct structured_row row = {.aggregator_cost = ARC_ABSENT,
				     .unscheduled_cost = ARC_ABSENT,
				     .columns = work->columns,
				     .blocks = work->blocks,
				     .running = work->running};
	int code;

	for (int32_t i = shape->first[node]; i < shape->first[node + 1]; i++) {
		int32_t arc = shape->out[i], head = problem->head[arc], cost = (int32_t)problem->cost[arc];
		struct arc target = {shape->id[head], cost};

		switch ((enum role)shape->role[head]) {
		case ROLE_SINK:
			row.unscheduled_cost = cost;
			row.unscheduled_capacity = problem->capacity[arc];
			break;
		case ROLE_AGGREGATOR:
			row.aggregator_cost = cost;
			break;
		case ROLE_BLOCK:
			work->blocks[row.block_count++] = target;
			break;
		case ROLE_COLUMN:
			if (problem->capacity[arc] >= problem->supply[node])
				work->columns[row.column_count++] = target;
			else if (problem->capacity[arc] > 0)
				work->running[row.running_count++] =
					(struct structured_running){target.target, cost, problem->capacity[arc]};
			break;
		default: /* ROLE_IDLE: the arc can carry no flow */
			break;
		}
	}
	row.column_count = keep_cheapest(work->columns, row.column_count);
	row.block_count = keep_cheapest(work->blocks, row.block_count);
	code = structured_set_row(state, shape->id[node], &row);
	return code < 0 ? code : structured_set_supply(state, shape->id[node], (int32_t)problem->supply[node]);
}

static int load(const struct shape *shape, struct structured *state, struct workspace *work)
{
	int code = 0;

	for (int32_t c = 0; c < shape->column_count && code == 0; c++) {
		int32_t node = shape->column_node[c];

		code = structured_set_column(state, c, shape->block[node],
					     shape->problem->capacity[shape->out[shape->first[node]]]);
	}
	for (int32_t v = 0; v < shape->problem->node_count && code == 0; v++) {
		if (shape->role[v] == ROLE_GROUP)
			code = add_row(shape, state, work, v);
	}
	return code;
}

/* Returns the cheaper of two arcs of the network; -1 stands for no arc. */
static int32_t cheaper(const struct mcf_problem *problem, int32_t left, int32_t right)
{
	return right < 0 || (left >= 0 && problem->cost[left] <= problem->cost[right]) ? left : right;
}

static void note_column_arc(const struct mcf_problem *problem, struct workspace *work, int32_t node, int32_t column,
			    int32_t arc)
{
	if (work->stamp[column] != node) {
		work->stamp[column] = node;
		work->wide_arc[column] = work->narrow_arc[column] = -1;
	}
	if (problem->capacity[arc] < problem->supply[node]) {
		work->next[arc] = work->narrow_arc[column];
		work->narrow_arc[column] = arc;
	} else {
		work->wide_arc[column] = cheaper(problem, work->wide_arc[column], arc);
	}
}

/* Records a group's arcs by their targets. */
static void note_arcs(const struct shape *shape, struct workspace *work, int32_t node)
{
	const struct mcf_problem *problem = shape->problem;

	work->aggregator_arc = -1;
	for (int32_t i = shape->first[node]; i < shape->first[node + 1]; i++) {
		int32_t arc = shape->out[i], head = problem->head[arc], id = shape->id[head];

		if (shape->role[head] == ROLE_COLUMN && problem->capacity[arc] > 0)
			note_column_arc(problem, work, node, id, arc);
		if (shape->role[head] == ROLE_AGGREGATOR)
			work->aggregator_arc = cheaper(problem, work->aggregator_arc, arc);
		if (shape->role[head] == ROLE_BLOCK) {
			work->block_arc[id] =
				cheaper(problem, work->block_stamp[id] == node ? work->block_arc[id] : -1, arc);
			work->block_stamp[id] = node;
		}
	}
}

/* Returns the group's cheapest arc without a limit that leads to the column, its block or the aggregator, or -1. */
static int32_t best_wide(const struct shape *shape, const struct workspace *work, int32_t node, int32_t column)
{
	const struct mcf_problem *problem = shape->problem;
	int32_t best = work->stamp[column] == node ? work->wide_arc[column] : -1;
	int32_t by_block = shape->by_block[shape->column_node[column]];

	if (by_block < 0)
		return best;
	int32_t block = problem->tail[by_block], id = shape->id[block];

	if (work->block_stamp[id] == node)
		best = cheaper(problem, best, work->block_arc[id]);
	return shape->by_block[block] >= 0 ? cheaper(problem, best, work->aggregator_arc) : best;
}

/*
 * Assigns a group's units on a column to arcs: first to the group's narrow arcs to the column that cost no more than
 * best_wide(), the cheapest first; the other units to best_wide().
 */
static void give_share(const struct shape *shape, const struct workspace *work, int32_t node,
		       struct structured_share share, int32_t *flow)
{
	const struct mcf_problem *problem = shape->problem;
	int32_t left = share.units, wide = best_wide(shape, work, node, share.column);
	int32_t column_node = shape->column_node[share.column], head;

	flow[shape->out[shape->first[column_node]]] += share.units;
	while (left > 0) {
		int32_t best = -1, room;

		for (int32_t arc = work->stamp[share.column] == node ? work->narrow_arc[share.column] : -1; arc >= 0;
		     arc = work->next[arc]) {
			if (flow[arc] < problem->capacity[arc] &&
			    (best < 0 || problem->cost[arc] < problem->cost[best]))
				best = arc;
		}
		if (best < 0 || (wide >= 0 && problem->cost[wide] < problem->cost[best]))
			break;
		room = problem->capacity[best] - flow[best];
		room = room < left ? room : left;
		flow[best] += room;
		left -= room;
	}
	if (left == 0 || wide < 0)
		return;
	flow[wide] += left;
	head = problem->head[wide];
	if (head == column_node)
		return;
	flow[shape->by_block[column_node]] += left;
	if (head == shape->aggregator)
		flow[shape->by_block[problem->tail[shape->by_block[column_node]]]] += left;
}

/* Reads a group's shares. Returns their number, or -1 if out of memory. */
static int32_t read_shares(const struct structured *state, struct workspace *work, int32_t group)
{
	int32_t count = structured_read(state, group, work->shares, work->share_room);

	if (count > work->share_room) {
		struct structured_share *grown = realloc(work->shares, (size_t)count * sizeof *grown);

		if (!grown)
			return -1;
		work->shares = grown;
		work->share_room = count;
		count = structured_read(state, group, work->shares, work->share_room);
	}
	return count;
}

static bool read_flow(const struct shape *shape, const struct structured *state, struct workspace *work, int32_t *flow)
{
	const struct mcf_problem *problem = shape->problem;

	memset(flow, 0, (size_t)problem->arc_count * sizeof *flow);
	for (int32_t v = 0; v < problem->node_count; v++) {
		int32_t count;

		if (shape->role[v] != ROLE_GROUP)
			continue;
		note_arcs(shape, work, v);
		count = read_shares(state, work, shape->id[v]);
		if (count < 0)
			return false;
		for (int32_t i = 0; i < count; i++)
			give_share(shape, work, v, work->shares[i], flow);
		for (int32_t i = shape->first[v]; i < shape->first[v + 1]; i++) {
			if (problem->head[shape->out[i]] == shape->sink)
				flow[shape->out[i]] = structured_unscheduled(state, shape->id[v]);
		}
	}
	return true;
}

/*
 * Returns the price of a node: the least sum, over its arcs, of the arc's cost and the head's price. A group's narrow
 * arcs, and its arc to the sink, count while they have residual capacity. All other arcs are as wide as their head or
 * as all possible flow: they are no limit and count even when full.
 */
static int64_t cheapest_on(const struct shape *shape, const struct workspace *work, int32_t node, const int32_t *flow)
{
	const struct mcf_problem *problem = shape->problem;
	int64_t best = PRICE_CLOSED;

	for (int32_t i = shape->first[node]; i < shape->first[node + 1]; i++) {
		int32_t arc = shape->out[i];
		int64_t price = problem->cost[arc] + work->price[problem->head[arc]];
		bool narrow = shape->role[node] == ROLE_GROUP &&
			      (problem->capacity[arc] < problem->supply[node] || problem->head[arc] == shape->sink);

		if (problem->capacity[arc] > (narrow ? flow[arc] : 0) && price < best)
			best = price;
	}
	return best;
}

static void price_role(const struct shape *shape, struct workspace *work, enum role role, const int32_t *flow)
{
	for (int32_t v = 0; v < shape->problem->node_count; v++) {
		if (shape->role[v] == role)
			work->price[v] = cheapest_on(shape, work, v, flow);
	}
}

/* Computes the prices from the sink up; only the columns' prices come from the solver. */
static void read_potentials(const struct shape *shape, const struct structured *state, struct workspace *work,
			    const int32_t *flow, int64_t *potential)
{
	for (int32_t v = 0; v < shape->problem->node_count; v++)
		work->price[v] = v == shape->sink ? 0 : PRICE_CLOSED;
	for (int32_t c = 0; c < shape->column_count; c++) {
		int32_t node = shape->column_node[c];

		if (shape->problem->capacity[shape->out[shape->first[node]]] > 0)
			work->price[node] = structured_column_price(state, c);
	}
	price_role(shape, work, ROLE_BLOCK, flow);
	price_role(shape, work, ROLE_AGGREGATOR, flow);
	price_role(shape, work, ROLE_GROUP, flow);
	price_role(shape, work, ROLE_IDLE, flow);
	for (int32_t v = 0; v < shape->problem->node_count; v++)
		potential[v] = -work->price[v];
}

/*
 * Checks the certificate, which takes little time compared with the solve. An answer without a valid one is not
 * returned.
 */
static bool is_proved(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	struct mcf_verdict verdict;

	solution->status = MCF_OPTIMAL;
	return mcf_total_cost(problem, solution->flow, &solution->cost) && mcf_verify(problem, solution, &verdict);
}

/* `passes`: see structured_give_up_after(); 0 = no limit. */
static enum mcf_status solve_shape(const struct shape *shape, uint32_t passes, struct mcf_solution *solution)
{
	struct structured *state = structured_create(shape->group_count, shape->column_count, shape->block_count);
	struct workspace work = {0};
	struct structured_result result = {.status = MCF_NO_MEMORY};
	enum mcf_status status = MCF_NO_MEMORY;

	if (state && open_workspace(shape, &work))
		status = from_code(load(shape, state, &work));
	if (status == MCF_OPTIMAL && passes > 0)
		structured_give_up_after(state, passes);
	if (status == MCF_OPTIMAL)
		status = structured_solve(state, &result);
	if (status == MCF_OPTIMAL && !read_flow(shape, state, &work, solution->flow))
		status = MCF_NO_MEMORY;
	if (status == MCF_OPTIMAL) {
		read_potentials(shape, state, &work, solution->flow, solution->potential);
		solution->statistics.phases = result.searches;
		if (!is_proved(shape->problem, solution))
			status = MCF_UNSUITED;
	}
	close_workspace(&work);
	structured_destroy(state);
	return status;
}

static enum mcf_status find_and_solve(const struct mcf_problem *problem, bool quick, struct mcf_solution *solution)
{
	struct shape shape;
	enum mcf_status status = shape_find(problem, &shape);

	if (status == MCF_OPTIMAL && quick && shape.supply > shape.column_capacity)
		status = MCF_UNSUITED;
	if (status == MCF_OPTIMAL)
		status = solve_shape(&shape, quick ? QUICK_PASSES : 0, solution);
	shape_free(&shape);
	return status == MCF_INFEASIBLE ? mcf_simplex_algorithm(problem, solution) : status;
}

enum mcf_status shape_solve(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	return find_and_solve(problem, false, solution);
}

enum mcf_status shape_solve_quick(const struct mcf_problem *problem, struct mcf_solution *solution)
{
	return find_and_solve(problem, true, solution);
}
