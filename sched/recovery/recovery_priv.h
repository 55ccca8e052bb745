/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scenario as the solvers see it. Failed tasks are f = 0..F-1, sorted by application; surviving servers are n =
 * 0..N-1. "Load" is the left side of (17) or (18): seconds at unit share times MB/s. Divided by the link's capacity it
 * is the relative load; p is the greatest relative load.
 *
 * With relaunch delays the demand of a flow depends on p: w' D / (1 - w' d / p). recovery_problem_scale() computes all
 * loads for one p. Loads never rise with p, so if a placement's relative loads at scale p are below p, its own p is
 * also lower.
 */
#ifndef SCHED_RECOVERY_PRIV_H
#define SCHED_RECOVERY_PRIV_H

#include <sched/recovery/recovery.h>

#include <math.h>
#include <stddef.h>

#include <base/ns.h>

/* Two loads count as equal if they differ by less than this fraction. */
#define RECOVERY_TOLERANCE 1e-9
/* Tolerance of CPU comparisons, as CPU sizes are sums of decimal numbers. */
#define RECOVERY_CPU_TOLERANCE 1e-9

/* Flows between one failed task and the surviving tasks on one server. */
struct peer {
	uint32_t server; /* n */
	double out_MB, in_MB;
};

struct failed_task {
	uint32_t task; /* index in the scenario */
	uint32_t application;
	double cpu, share; /* share: w'_k */
	double relaunch_s;
	int stage;
	bool restricted; /* eq. 9: only the servers in `allowed` may take it */
	uint32_t first_peer, peer_count;
	double out_MB, in_MB; /* volume of the task's flows to and from surviving tasks */
	/* at the current scale */
	double factor;          /* MB -> load, of flows with surviving peers */
	double egress, ingress; /* load that the task adds to a server without its peers */
};

struct problem {
	const struct recovery_scenario *scenario;
	uint32_t N, F;
	uint32_t *server;        /* n -> scenario's number */
	int64_t *survivor;       /* scenario's number -> n, -1 = failed */
	double *BE, *BI;         /* by n: capacities, MB/s */
	double *free_cpu;        /* by n: CPU that the surviving tasks do not use */
	double *fixedE, *fixedI; /* by n: load of the flows between surviving tasks */
	double *bE, *bI;         /* by n: load without any failed task, at the current scale */
	struct failed_task *failed;
	struct peer *peers;
	double *pair_MB; /* F x F: volume that f sends to g */
	bool has_pairs, has_relaunch;
	double *pair_load;      /* F x F: load of both directions between f and g, at the current scale; symmetric */
	double *pair_out_load;  /* F x F: load of what f sends to g, at the current scale */
	unsigned char *allowed; /* F x N, NULL if no task is restricted */
	double least_p;         /* lower bound of p from relaunch delays alone */
	double noise; /* loads below this count as 0: rounding may leave such differences between equal sums */
};

int recovery_problem_create(const struct recovery_scenario *scenario, struct problem *problem);
void recovery_problem_free(struct problem *problem);
/* Computes demands and loads for p. */
void recovery_problem_scale(struct problem *problem, double p);
bool recovery_problem_allows(const struct problem *problem, uint32_t f, uint32_t n);
/* Returns the MB, of both directions together, between failed task f and surviving tasks on n. O(log peers). */
double recovery_problem_local_MB(const struct problem *problem, uint32_t f, uint32_t n);

/* Like fmax() and fmin(), but inline; arguments must not be NAN. */
static inline double larger(double a, double b)
{
	return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
	return a < b ? a : b;
}

static inline double load_ratio(double load, double capacity, double noise)
{
	if (load <= noise)
		return 0;
	return capacity > 0 ? load / capacity : (double)INFINITY;
}

/* Relative load of a server with these loads. */
static inline double recovery_problem_relative(const struct problem *problem, uint32_t n, double egress, double ingress)
{
	return larger(load_ratio(egress, problem->BE[n], problem->noise),
		      load_ratio(ingress, problem->BI[n], problem->noise));
}

/* Objectives of a placement, most important first. */
struct value {
	double p, touched, network_MB;
};
/*
 * The value of the placement place[f] = n at the current scale. load: 2 N doubles that receive the loads, first egress,
 * then ingress.
 */
struct value recovery_problem_value(const struct problem *problem, const uint32_t *place, double *load);
/*
 * The value of the placement at its own p, which with relaunch delays is a fixed point. Leaves the problem scaled to
 * this p.
 */
struct value recovery_problem_evaluate(struct problem *problem, const uint32_t *place, double *load);

/* Flags the servers that the filter keeps: candidate[N]. 0 or -ENOMEM. */
int recovery_filter_apply(struct problem *problem, const struct recovery_options *options, bool *candidate);

/* Bin packing: do the tasks with included[f] fit on the candidates, by CPU and eq. 9 alone? place may be NULL. */
enum pack_result { PACK_FITS, PACK_DOES_NOT, PACK_UNKNOWN };
enum pack_result recovery_pack_tasks(const struct problem *problem, const bool *candidate, const bool *included,
				     uint32_t *place, struct ns deadline);
/*
 * Writes the proof of infeasibility: a set of tasks that do not all fit, but fit if any one of them is left out. Tasks
 * that are not tested before the deadline stay in the set. 0 or -ENOMEM.
 */
int recovery_pack_prove(const struct problem *problem, const bool *candidate, struct recovery_answer *answer,
			struct ns deadline);
/* Writes the included tasks, and all servers that may take one of them, as the proof. 0 or -ENOMEM. */
int recovery_pack_write_proof(const struct problem *p, const bool *candidate, const bool *included,
			      struct recovery_answer *answer);

/*
 * recovery_greedy_place() finds a first placement, or returns false if it finds no server for some task.
 * recovery_greedy_improve() then moves single tasks. load: scratch, 3 N doubles.
 */
bool recovery_greedy_place(const struct problem *problem, const bool *candidate, uint32_t *place, double *load);
void recovery_greedy_improve(const struct problem *problem, const bool *candidate, uint32_t *place, double *load);

/*
 * Branch and bound from the placement `place` to the optimum or the deadline. Updates `place` and the answer's status,
 * bound, nodes and ties_proved. 0 or -ENOMEM.
 */
int recovery_search_solve(struct problem *problem, const bool *candidate, uint32_t *place, struct ns deadline,
			  struct recovery_answer *answer);

#endif
