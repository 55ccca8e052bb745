/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects the shape of plain arrays, and aggregates nodes that are alike. */
#ifndef REDUCE_REDUCE_PRIV_H
#define REDUCE_REDUCE_PRIV_H

#include <sched/mcf/structured.h>

#include "mcf_priv.h"

/*
 * Detects the structured solver's shape (mcf/structured.h) in plain arrays:
 * - one sink;
 * - columns: supply 0 and one outgoing arc, which leads to the sink at cost 0;
 * - blocks: all outgoing arcs lead to columns, at cost 0, each with at least the capacity of its column;
 * - at most one aggregator: its arcs lead to all blocks, at cost 0, each with at least the capacity of its block;
 * - groups: supply and no incoming arcs; arcs to columns, blocks, the aggregator, and at most one to the sink.
 * Nodes that no unit can pass are ignored.
 */

enum role { ROLE_NONE, ROLE_SINK, ROLE_COLUMN, ROLE_BLOCK, ROLE_AGGREGATOR, ROLE_GROUP, ROLE_IDLE };

struct shape {
	const struct mcf_problem *problem;
	int32_t *first, *out; /* arcs by tail: out[first[v]] .. out[first[v + 1] - 1] */
	int32_t *arcs_in;     /* [nodes] */
	uint8_t *role;        /* [nodes] enum role */
	int32_t *id;          /* [nodes] number among the nodes of its role */
	int32_t *block;       /* [nodes] valid for columns: the id of the column's block, -1 = none yet */
	/* [nodes] for a column, the arc from its block; for a block, the arc from the aggregator */
	int32_t *by_block;
	int32_t *column_node;     /* [columns] */
	int32_t sink, aggregator; /* -1 = none */
	int32_t column_count, block_count, group_count;
	int64_t column_capacity, supply; /* sums */
};

/*
 * Returns MCF_OPTIMAL if the network has the shape, MCF_UNSUITED if not, or MCF_NO_MEMORY. Call shape_free() in every
 * case.
 */
enum mcf_status shape_find(const struct mcf_problem *problem, struct shape *shape);
void shape_free(struct shape *shape);

/*
 * Solves a network of the structured shape and checks the certificate. Returns MCF_UNSUITED if the network has another
 * shape. Infeasible networks are solved by the simplex, which gives the proof.
 */
enum mcf_status shape_solve(const struct mcf_problem *problem, struct mcf_solution *solution);

/* As shape_solve(), but also returns MCF_UNSUITED if there are more units than slots, or if the solve takes long. */
enum mcf_status shape_solve_quick(const struct mcf_problem *problem, struct mcf_solution *solution);

/*
 * Makes a network smaller without changing its optimum, and expands the small network's answer, with its proof.
 *
 * "Wide" refers to the capacity of an arc.
 *
 * Contracted: a node of supply 0 with a single outgoing arc that is at least as wide as all incoming arcs together.
 *   Arcs to the node lead to the head of that arc instead, at the sum of the costs. (NoMora's unscheduled aggregators.)
 * Grouped: supply nodes without incoming arcs that have all but a few arcs in common. Each arc must be at least as wide
 *   as the supply (so that only one of parallel arcs matters). The group is one node with the sum of the supplies and
 *   with the arcs that ALL members have, at the cost of the most expensive member. A member's other arcs, cheaper or
 *   additional, are private to it. (Tasks of a job; the arc to the machine where a task runs.)
 *   - If the member has one private arc, this becomes an arc of the group, as wide as the member's supply. This is
 *     exact: units on private arcs belong to their owners; all other units may belong to any member, since the other
 *     arcs are common to all. In an optimal answer no member uses a common arc to the head of its own cheaper private
 *     arc: while the private arc has residual capacity, the cost would be higher, and when it is full, the member has
 *     no unit left.
 *   - If the member has two or more private arcs, it remains a node (NODE_CHAINED), with its private arcs and a wide
 *     arc of cost 0 to the group (its link).
 * Only arcs to last hops (nodes whose arcs all lead to sinks: machines) may be private. All other arcs must be common
 * to the members, otherwise the network would lose the shape that the structured solver needs.
 * Proof: a member's potential is its group's potential, raised if an arc of the member that is wider than its supply
 * would otherwise violate complementary slackness.
 */

enum node_kind { NODE_KEPT, NODE_CONTRACTED, NODE_GROUPED, NODE_CHAINED };

struct private_arc {
	int32_t group, member; /* member: node of the large network */
	int32_t arc;           /* of the large network */
	int32_t small_arc;     /* of the small network; several private arcs of a group may share it */
	int32_t head;
	int64_t cost;
};

struct aggregation {
	const struct mcf_problem *large;
	int32_t *first; /* [nodes + 1] arcs out of a node: out[first[v]] .. out[first[v + 1] - 1] */
	int32_t *out;
	int32_t *arcs_in; /* [nodes] number of arcs in */
	uint8_t *kind;    /* [nodes] */
	int32_t *through; /* [nodes] a contracted node's outgoing arc, else -1 */
	int32_t *group;   /* [nodes] number of the node's group, or -1 */
	int32_t group_count;
	int32_t *group_first;         /* [groups + 1] index into members */
	int32_t *members;             /* nodes of the large network, group by group */
	bool loose;                   /* some member has an arc wider than its supply */
	struct private_arc *privates; /* sorted by group, then by head and cost */
	int32_t private_count;
	size_t private_capacity;
	/* [nodes] number of the node in the small network; for a grouped node, that of its group; -1 if contracted */
	int32_t *small_node;
	int32_t *group_node;   /* [groups] */
	int32_t *common_first; /* [groups + 1] index of the group's first common arc in the small network */
	/*
	 * [small arcs] the large arc that it represents, or one of several; -1: a private arc or the link of a member
	 */
	int32_t *origin;
	struct mcf_problem small;
	int32_t *tail, *head, *capacity;
	int64_t *cost, *supply;
};

/*
 * Return the head and the cost of an arc of the large network. If the arc's head is contracted, they are those of the
 * path through it.
 */
static inline int32_t aggregation_head(const struct aggregation *aggregation, int32_t arc)
{
	int32_t head = aggregation->large->head[arc], through = aggregation->through[head];

	return through < 0 ? head : aggregation->large->head[through];
}

static inline int64_t aggregation_cost(const struct aggregation *aggregation, int32_t arc)
{
	int32_t through = aggregation->through[aggregation->large->head[arc]];

	return aggregation->large->cost[arc] + (through < 0 ? 0 : aggregation->large->cost[through]);
}

/* aggregate_group.c: fills kind, through, group, members. Returns false if out of memory. */
bool aggregation_find_groups(struct aggregation *aggregation);

/* aggregate_worth.c: false if aggregation would save little, or if out of memory. */
bool aggregation_is_worthwhile(const struct mcf_problem *problem);

/* aggregate.c: returns NULL if out of memory. `problem` must have no lower bounds and must outlive the aggregation. */
struct aggregation *aggregation_create(const struct mcf_problem *problem);
void aggregation_destroy(struct aggregation *aggregation); /* NULL is legal */

/* aggregate_expand.c: turns the small network's answer (optimal or infeasible) into the large one's. */
enum mcf_status aggregation_expand(const struct aggregation *aggregation, const struct mcf_solution *small,
				   struct mcf_solution *large);

#endif
