/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects the structured solver's shape (mcf/structured.h) in plain arrays:
 * - one sink;
 * - columns: supply 0 and one outgoing arc, which leads to the sink at cost 0;
 * - blocks: all outgoing arcs lead to columns, at cost 0, each with at least the capacity of its column;
 * - at most one aggregator: its arcs lead to all blocks, at cost 0, each with at least the capacity of its block;
 * - groups: supply and no incoming arcs; arcs to columns, blocks, the aggregator, and at most one to the sink.
 * Nodes that no unit can pass are ignored.
 */
#ifndef MCF_SHAPE_PRIV_H
#define MCF_SHAPE_PRIV_H

#include <sched/mcf/structured.h>

#include "mcf_priv.h"

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

#endif
