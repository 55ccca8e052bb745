/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Primal network simplex for any network. Uses block-search pricing (Grigoriadis; as compared by Kiraly & Kovacs 2012),
 * and strongly feasible spanning trees (Cunningham 1976), which prevent cycling. Signs, bounds and proofs are as in
 * mcf/mcf.h. No state outlives a call.
 */
#ifndef MCF_SIMPLEX_H
#define MCF_SIMPLEX_H

#include <sched/mcf/mcf.h>

/* A solve function of struct mcf_algorithm. */
enum mcf_status mcf_simplex_algorithm(const struct mcf_problem *problem, struct mcf_solution *solution);

/* Like mcf_simplex_algorithm(); returns MCF_UNSUITED as soon as cost scaling is likely to be faster (patience.c). */
enum mcf_status mcf_simplex_unless_slow(const struct mcf_problem *problem, struct mcf_solution *solution);

#endif
