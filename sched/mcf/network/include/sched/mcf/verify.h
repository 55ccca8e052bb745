/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the certificate of an answer: a proof that the answer is right, whatever the solver did. Takes O(nodes +
 * arcs). All sums are computed in 128 bits. An optimal answer is proved by:
 * - flow within the bounds of every arc
 * - conservation of flow at every node
 * - complementary slackness of every arc's reduced cost
 * - equality of the stated cost, the primal cost and the dual cost
 * An infeasible answer is proved by Farkas' inequality (mcf/mcf.h).
 */
#ifndef MCF_VERIFY_H
#define MCF_VERIFY_H

#include <sched/mcf/mcf.h>

enum mcf_fault {
	MCF_FAULT_NONE,
	MCF_FAULT_STATUS,        /* the answer claims neither MCF_OPTIMAL nor MCF_INFEASIBLE */
	MCF_FAULT_LOWER,         /* flow under the lower bound of `arc` */
	MCF_FAULT_CAPACITY,      /* flow over the capacity of `arc` */
	MCF_FAULT_CONSERVATION,  /* out - in differs from supply at `node` */
	MCF_FAULT_UNDER_USED,    /* reduced cost < 0 although `arc` has residual capacity */
	MCF_FAULT_OVER_USED,     /* reduced cost > 0 although `arc` carries more than its lower bound */
	MCF_FAULT_COST,          /* stated cost is not the cost of the flow */
	MCF_FAULT_DUALITY,       /* primal cost differs from dual cost */
	MCF_FAULT_NOT_INFEASIBLE /* the potentials do not prove infeasibility */
};

enum { MCF_VERDICT_BYTES = 256 };

struct mcf_verdict {
	enum mcf_fault fault;
	int32_t arc;                  /* -1 = does not apply */
	int32_t node;                 /* -1 = does not apply */
	char text[MCF_VERDICT_BYTES]; /* one line for people; nodes and arcs are numbered from 0 */
};

/* Returns true if the certificate is valid; otherwise `verdict`, which must not be NULL, names the first fault. */
bool mcf_verify(const struct mcf_problem *problem, const struct mcf_solution *solution, struct mcf_verdict *verdict);

/* "capacity", "conservation", ... */
const char *mcf_fault_name(enum mcf_fault fault);

/*
 * Finds the reason for infeasibility: the potentials of an infeasible answer (Farkas' proof, mcf/mcf.h) determine a set
 * of nodes whose supply exceeds the capacity of the arcs that leave it. Takes O(arcs + nodes log nodes).
 */

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
