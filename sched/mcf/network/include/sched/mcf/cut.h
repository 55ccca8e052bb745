/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the reason for infeasibility: the potentials of an infeasible answer (Farkas' proof, mcf/mcf.h) determine a set
 * of nodes whose supply exceeds the capacity of the arcs that leave it. Takes O(arcs + nodes log nodes).
 */
#ifndef MCF_CUT_H
#define MCF_CUT_H

#include <sched/mcf/mcf.h>

/* The set of nodes whose potential is at least `least_potential`. supply + lower_in exceeds capacity. */
struct mcf_cut {
	int64_t least_potential;
	int32_t nodes;
	int32_t arcs;     /* number of arcs out of the set */
	int64_t supply;   /* total supply of the nodes */
	int64_t lower_in; /* sum of the lower bounds of the arcs into the set */
	int64_t capacity; /* total capacity of the arcs out of the set */
};

/*
 * Finds the cut with the largest excess of supply + lower_in over capacity; among equally large ones, the cut with the
 * fewest nodes. Returns 0, -ENOMEM, or -EBADMSG if no cut has an excess, which means that the potentials prove nothing.
 */
int mcf_cut_find(const struct mcf_problem *problem, const int64_t *potential, struct mcf_cut *cut);

#endif
