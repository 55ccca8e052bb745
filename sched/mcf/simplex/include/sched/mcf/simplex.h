/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Primal network simplex that keeps its basis: solve, change costs, capacities, supplies or the network itself,
 * solve again from where it stood. Block-search pricing (Grigoriadis; as compared by Kiraly & Kovacs 2012), strongly
 * feasible spanning trees (Cunningham 1976), so it never cycles. Signs, bounds and proofs as in mcf/mcf.h; lower
 * bounds are 0 here (mcf_solve() shifts them away). Owns all its memory; one thread per object.
 */
#ifndef MCF_SIMPLEX_H
#define MCF_SIMPLEX_H

#include <sched/mcf/mcf.h>

struct mcf_simplex;

/*
 * Room for node_limit nodes and arc_limit arcs; both grow as needed. `problem` may be NULL (an empty network); its
 * arrays are copied. NULL with errno ENOMEM.
 */
struct mcf_simplex *mcf_simplex_create(const struct mcf_problem *problem, int32_t node_limit, int32_t arc_limit);
void mcf_simplex_destroy(struct mcf_simplex *simplex); /* NULL is legal */

/* Index of the new node (supply 0) or arc, or -ENOMEM. A new arc enters the basis only by pricing. */
int32_t mcf_simplex_add_node(struct mcf_simplex *simplex);
int32_t mcf_simplex_add_arc(struct mcf_simplex *simplex, int32_t tail, int32_t head, int32_t capacity, int64_t cost);

/* O(1) each; the next solve takes them in. An arc or node is "removed" by capacity or supply 0 and may be reused. */
void mcf_simplex_set_cost(struct mcf_simplex *simplex, int32_t arc, int64_t cost);
void mcf_simplex_set_capacity(struct mcf_simplex *simplex, int32_t arc, int32_t capacity);
void mcf_simplex_set_supply(struct mcf_simplex *simplex, int32_t node, int64_t supply);
/* New ends for an arc: its flow goes to 0 first, and if it was basic its place is taken by an artificial arc. */
void mcf_simplex_set_ends(struct mcf_simplex *simplex, int32_t arc, int32_t tail, int32_t head);

/*
 * Solves from the present basis: MCF_OPTIMAL, MCF_INFEASIBLE (the basis stays usable), MCF_UNBALANCED,
 * MCF_COST_RANGE or MCF_NO_MEMORY. The result stays readable through the functions below until the next change.
 */
enum mcf_status mcf_simplex_solve(struct mcf_simplex *simplex);

int32_t mcf_simplex_flow(const struct mcf_simplex *simplex, int32_t arc);
int64_t mcf_simplex_potential(const struct mcf_simplex *simplex, int32_t node);
int64_t mcf_simplex_cost(const struct mcf_simplex *simplex);
uint64_t mcf_simplex_pivots(const struct mcf_simplex *simplex); /* of the last solve */
int32_t mcf_simplex_node_count(const struct mcf_simplex *simplex);
int32_t mcf_simplex_arc_count(const struct mcf_simplex *simplex);

/* Whole answer at once, proof included when infeasible. */
enum mcf_status mcf_simplex_export(const struct mcf_simplex *simplex, struct mcf_solution *solution);

/* A solve function of struct mcf_algorithm: from nothing. */
enum mcf_status mcf_simplex_algorithm(const struct mcf_problem *problem, struct mcf_solution *solution);

/* The same, unless the scaling is likely to be faster (patience.c): then MCF_UNSUITED. */
enum mcf_status mcf_simplex_unless_slow(const struct mcf_problem *problem, struct mcf_solution *solution);

#endif
