/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides where to relaunch the tasks of failed servers and how to share the links afterwards, jointly and exactly:
 * Chen, Li and Li, "Surviving Failures with Performance-Centric Bandwidth Allocation in Private Datacenters", section
 * III.
 *
 * Each application k finishes its transfers after t_k = p / w'_k, where w'_k is its share of the sum of all weights
 * (eq. 2). So p is the transfer time of an application with all the weight: its unit is "seconds at unit share". Choose
 * a surviving server for each failed task such that p is as small as possible and no access link is overloaded. D is
 * the volume of a flow, BE_n and BI_n are the egress and ingress capacities of server n:
 *
 *   minimise p = 1/S   subject to   sum over the flows that leave server n of  w'_k D  <=  BE_n p       (eq. 17)
 *                                   sum over the flows that enter n            w'_k D  <=  BI_n p       (eq. 18)
 *                                   CPU sizes fit (eq. 15), backups (eq. 9), one server per task (eq. 8).
 *
 * The model corrects the paper in four places:
 *
 * - A failed task that joins a peer removes the flow between them from both directions of that server. So the load of
 *   surviving tasks, b_n in (17) and (18), is not constant, and a failed task can relieve a server.
 * - Two failed tasks that send to each other make (17) and (18) quadratic. Their flow counts unless both get the same
 *   server.
 * - Ties: often the most loaded survivor alone decides p. Among placements of equal p, the answer has the lowest
 *   maximum load of a server that takes a failed task, then the fewest bytes on the network. The answer is
 *   deterministic.
 * - relaunch_s (footnote 3): a flow from or to a failed task starts d = relaunch_s seconds late and gets the rate
 *   D / (t_k - d).
 *
 * Rates are MB/s, volumes MB, p seconds at unit share. No I/O; the clock is read for the deadline and for statistics.
 * One thread per call.
 */
#ifndef SCHED_RECOVERY_RECOVERY_H
#define SCHED_RECOVERY_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <model/recovery.h>

enum recovery_filter {
	RECOVERY_FILTER_EXACT, /* drops servers that provably are not needed for an optimum */
	RECOVERY_FILTER_PEERS, /* Algorithm 1, plus the servers of the failed tasks' peers */
	RECOVERY_FILTER_PAPER, /* Algorithm 1: eta servers per task */
	RECOVERY_FILTER_NONE,
};

/* Their names on the command line and in files; NULL-terminated. */
extern const char *const recovery_filter_names[];

struct recovery_options {
	enum recovery_filter filter;
	uint32_t eta;       /* number of servers that each task adds in Algorithm 1; 0 counts as 1 */
	double deadline_ms; /* 0 = none */
};

enum recovery_status {
	RECOVERY_OPTIMAL,
	RECOVERY_FEASIBLE,   /* a placement and its proved gap; the deadline passed before the proof of an optimum */
	RECOVERY_INFEASIBLE, /* proved: see proof_* */
	RECOVERY_UNKNOWN,    /* the deadline passed without a placement */
};

struct recovery_answer {
	enum recovery_status status;
	double p;          /* seconds at unit share; 0 if nothing has to be sent */
	double bound;      /* no placement has a lower p */
	double gap;        /* (p - bound) / p */
	double touched;    /* highest relative load, in seconds, of a server that takes a failed task */
	double network_MB; /* the part of the failed tasks' flows that crosses the network */
	bool ties_proved;  /* `touched` and `network_MB` are also proved least among the placements with this p */
	uint32_t failed_count;
	uint32_t *failed; /* numbers of the failed tasks, ascending */
	uint32_t *server; /* the servers of these tasks, in the same order; NULL without a placement */
	uint32_t candidate_count;
	uint64_t nodes;
	double solve_s;
	/*
	 * If infeasible: proof_tasks do not all fit on proof_servers, and no other server may take any of these tasks.
	 */
	uint32_t *proof_tasks, *proof_servers;
	uint32_t proof_task_count, proof_server_count;
	bool proof_of_links; /* there is enough CPU, but in every placement a flow needs a link without capacity */
};

/*
 * Solves the scenario by branch and bound over groups of tasks. Returns 0, or -ENOMEM with err set. The caller frees
 * the answer by recovery_answer_free().
 */
int recovery_solve(const struct recovery_scenario *scenario, const struct recovery_options *options,
		   struct recovery_answer *answer, struct error *err);
void recovery_answer_free(struct recovery_answer *answer);
const char *recovery_status_name(enum recovery_status status);

/* The load of one direction of a server: seconds at unit share. */
struct recovery_load {
	double egress, ingress;
};

/*
 * Returns the p of a placement. server[task_count]: each task's server; for failed tasks, where they are relaunched.
 * A flow from or to a failed task counts with its whole volume and starts when the task runs again. load: NULL, or
 * server_count entries that receive the loads at that p. NAN if out of memory.
 */
double recovery_evaluate(const struct recovery_scenario *scenario, const uint32_t *server, struct recovery_load *load);
/*
 * Returns the p before the failure: every task is on its original server, each flow has its remaining volume. NAN if
 * out of memory.
 */
double recovery_evaluate_before(const struct recovery_scenario *scenario);

/* Returns each task's server under an answer, task_count entries, or NULL if out of memory. The caller frees it. */
uint32_t *recovery_placement(const struct recovery_scenario *scenario, const struct recovery_answer *answer);

/* Seconds after which application k finishes at p (eq. 2). */
double recovery_transfer_time_s(const struct recovery_scenario *scenario, uint32_t application, double p);

/* Sets rate_MBps[flow_count] to the rates of eq. 19; 0 for flows within a server. */
void recovery_rates(const struct recovery_scenario *scenario, const uint32_t *server, double p, double *rate_MBps);

/*
 * A random placement like the paper's R: each failed task in turn goes to one of the servers on which it fits, all
 * equally likely. `candidate`: flags of the servers to choose from (the paper's PFR), or NULL for all servers. Fills
 * server[t] for all tasks. Returns false if none of 100 attempts found a server for every task.
 */
struct rng;
bool recovery_random_placement(const struct recovery_scenario *scenario, struct rng *rng, const bool *candidate,
			       uint32_t *server);

/* Flags the servers that the filter keeps: candidate[server_count]. 0 or -ENOMEM. */
int recovery_candidates(const struct recovery_scenario *scenario, const struct recovery_options *options,
			bool *candidate);

/* The reason for each task's server in an answer, and a comparison with other placements. Pure. */

struct recovery_reason {
	uint32_t task, server;
	double load_s;        /* relative load of the task's server; equals p if the server is the bottleneck */
	bool has_next;        /* the task also fits on another server while the other tasks stay */
	uint32_t next_server; /* of these other servers, the one with the lowest p */
	double next_p;
	double random_p;       /* mean p over all servers on which the task fits, its own included */
	uint32_t server_count; /* number of servers on which the task fits */
};

/* reasons: answer->failed_count entries. 0 or -ENOMEM. */
int recovery_explain(const struct recovery_scenario *scenario, const struct recovery_answer *answer,
		     struct recovery_reason *reasons);

/* Mean, least and greatest p of random placements. */
struct recovery_spread {
	uint32_t runs; /* placements found */
	double mean_p, least_p, greatest_p;
};
/* Draws `runs` random placements. candidate: as for recovery_random_placement(). */
struct recovery_spread recovery_random_spread(const struct recovery_scenario *scenario, const bool *candidate,
					      uint32_t runs, uint64_t seed);

/* Random scenarios for measurements, from a few numbers. Pure. */

/* Fails random tasks, random servers, or random servers of the first rack. */
enum recovery_failure { RECOVERY_FAIL_TASKS, RECOVERY_FAIL_SERVERS, RECOVERY_FAIL_RACK };

struct recovery_recipe {
	uint32_t servers, applications, tasks; /* tasks of each application, half of them in stage 1 */
	uint32_t failed; /* number of failed tasks if `failure` is RECOVERY_FAIL_TASKS, else of failed servers */
	uint64_t seed;
	enum recovery_failure failure;
	double demand;    /* volumes of failed tasks' flows are multiplied by this */
	bool tight;       /* CPU sizes 1 to 4, 85 % in use */
	uint32_t backups; /* number of servers to which a failed task of stage 1 may go; 0 = all servers */
	uint32_t weight_low, weight_high;
	double link_low_gbps, link_high_gbps; /* speeds of the servers' links: each server has one of the two */
	bool dense; /* each task sends to 3 in 10 others; failed tasks are of the first two applications */
};

/*
 * Parses "servers=500,apps=10,tasks=20,failed=8,seed=1" with, optionally, demand=4, fail=tasks|servers|rack, cpu=tight,
 * backups=2, weights=1-4, links=1:10, dense. 0 or -EINVAL with err set.
 */
int recovery_recipe_parse(const char *text, struct recovery_recipe *recipe, struct error *err);

/* The same recipe gives the same scenario. Returns NULL with err set if the tasks do not fit, or if out of memory. */
struct recovery_scenario *recovery_generate(const struct recovery_recipe *recipe, struct error *err);

#endif
