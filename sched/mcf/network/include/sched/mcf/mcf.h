/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Minimum-cost flow on plain arrays, independent of scheduling: nodes are 0..node_count-1, arcs 0..arc_count-1.
 *
 * Problem.  Find integers flow[a], lower[a] <= flow[a] <= capacity[a], such that for every node v
 *               sum of flow out of v - sum of flow into v = supply[v]          (supply > 0: source, < 0: sink)
 *           and sum of cost[a] * flow[a] is minimal. All supply must be sent; if that is impossible, the problem is
 *           infeasible, and no partial flow is computed. Costs may be negative. Parallel arcs, loops and isolated nodes
 *           are allowed.
 * Dual.     potential[] proves optimality: with reduced[a] = cost[a] + potential[tail] - potential[head],
 *               reduced[a] >= 0 where flow[a] < capacity[a], and reduced[a] <= 0 where flow[a] > lower[a].
 *           A node's price (the cost of sending one more unit from it to the sink) is -potential, up to a constant.
 * Infeasible: potential[] is then Farkas' proof y: sum of y[v] * supply[v] exceeds the largest value that
 *           sum of (y[tail] - y[head]) * flow[a] takes within the capacities. mcf_verify() checks either proof.
 * Bounds.   (node_count + 1) * (max |cost| + 1) <= MCF_COST_LIMIT, else MCF_COST_RANGE: potentials and the scaled
 *           costs of every algorithm then fit int64. |supply| sums and total cost are computed in 128 bits; a
 *           supply total over 2^62 or a cost beyond int64 is MCF_COST_RANGE as well. Nothing is unbounded: INT32_MAX
 *           is a capacity like any other, and a negative cycle is saturated.
 * Growth.   simplex: exponential in theory, about O(sqrt(m) * pivots) measured; scaling: O(n^2 m log(n max|cost|)).
 * Threads.  No globals; a solve runs in the calling thread. It only reads the problem's arrays, which the caller owns.
 */
#ifndef MCF_MCF_H
#define MCF_MCF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MCF_COST_LIMIT (INT64_C(1) << 58)

struct mcf_problem {
	int32_t node_count;
	int32_t arc_count;
	const int32_t *tail;     /* [arc_count] node that the arc leaves */
	const int32_t *head;     /* [arc_count] node that the arc enters */
	const int32_t *lower;    /* [arc_count] minimum flow, 0 <= lower <= capacity; NULL = all 0 */
	const int32_t *capacity; /* [arc_count] maximum flow */
	const int64_t *cost;     /* [arc_count] cost of one unit of flow */
	const int64_t *supply;   /* [node_count] must sum to 0 */
};

enum mcf_status {
	MCF_OPTIMAL,
	MCF_INFEASIBLE,  /* a valid answer: the supplies cannot be sent */
	MCF_UNBALANCED,  /* supplies do not sum to 0 */
	MCF_COST_RANGE,  /* see Bounds above */
	MCF_BAD_PROBLEM, /* a node out of range, lower < 0 or lower > capacity */
	MCF_UNSUITED,    /* the algorithm solves only networks of another shape */
	MCF_NO_MEMORY,
	MCF_STALLED, /* the algorithm made no progress: it has a defect */
};

const char *mcf_status_name(enum mcf_status status);

/* Work done; 0 where a counter does not apply to the algorithm. Times are wall seconds. */
struct mcf_statistics {
	const char *algorithm; /* the algorithm that solved it: `auto` names its choice */
	uint64_t pivots;       /* simplex: basis changes */
	uint64_t pushes;       /* scaling */
	uint64_t relabels;     /* scaling */
	uint64_t phases;       /* scaling: values of epsilon; structured: searches */
	/* number of nodes of the aggregated network that was solved; 0 = nothing was aggregated */
	int32_t aggregated_nodes;
	int32_t aggregated_arcs;
	double reduce_s; /* aggregation, detection of the shape, and expansion of the answer */
	double solve_s;  /* total time, including reduce_s */
};

/*
 * report() is called during a long solve, in the solve's thread and at least every few milliseconds, with the work done
 * so far but without times.
 */
struct mcf_watcher {
	void (*report)(void *context, const struct mcf_statistics *work); /* NULL: no reports */
	void *context;
};

/* Filled by a solve. Owns its arrays: initialise it to {0}, reuse it freely, release it with mcf_solution_free(). */
struct mcf_solution {
	enum mcf_status status;
	int32_t *flow;      /* [arc_count], valid when MCF_OPTIMAL */
	int64_t *potential; /* [node_count], valid when MCF_OPTIMAL or MCF_INFEASIBLE (a proof, see above) */
	int64_t cost;       /* total, valid when MCF_OPTIMAL */
	struct mcf_statistics statistics;
	struct mcf_watcher watcher;       /* set by the caller before a solve */
	size_t flow_room, potential_room; /* allocated elements */
};

struct mcf_algorithm {
	const char *name;
	const char *summary;
	/* Solves a problem without lower bounds that mcf_problem_check() has accepted. */
	enum mcf_status (*solve)(const struct mcf_problem *problem, struct mcf_solution *solution);
};

/* Checks the problem, solves it with `algorithm`, fills in cost and times. Returns solution->status. */
enum mcf_status mcf_solve(const struct mcf_algorithm *algorithm, const struct mcf_problem *problem,
			  struct mcf_solution *solution);

/*
 * Makes the checks of mcf_solve(). Returns MCF_OPTIMAL if the problem may be solved, otherwise the status of the error.
 */
enum mcf_status mcf_problem_check(const struct mcf_problem *problem);

/*
 * Allocates solution->flow (arc_count) and solution->potential (node_count). Returns MCF_OPTIMAL or MCF_NO_MEMORY. Only
 * solvers call it.
 */
enum mcf_status mcf_solution_reserve(struct mcf_solution *solution, int32_t node_count, int32_t arc_count);
void mcf_solution_free(struct mcf_solution *solution);

#endif
