/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recognises the structured solver's shape (mcf/structured.h) in plain arrays: one sink; columns (supply 0, one arc
 * out, to the sink, cost 0); blocks (arcs out to columns only, cost 0, no narrower than those); an aggregator (arcs
 * out to all blocks, no narrower); groups (supply, no arcs in; arcs to columns, blocks, the aggregator, the sink).
 */
#ifndef MCF_RECOGNISE_PRIV_H
#define MCF_RECOGNISE_PRIV_H

#include "mcf_priv.h"

/* Solves a network of that shape; MCF_UNSUITED when it is another one, or when it cannot be proved infeasible here. */
enum mcf_status recognise_solve(const struct mcf_problem *problem, struct mcf_solution *solution);

/* Is it worth trying: fewer units than the sink can be reached with? Oversubscribed, the simplex is the safer choice.
 */
bool recognise_is_quick(const struct mcf_problem *problem);

#endif
