/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Branch and bound over groups. Failed tasks of one application that share a server form a group: its tasks need not
 * send to each other over the network. A node of the tree has some groups on servers; it branches on the groups that
 * contain the first unplaced task of an application, and on their servers.
 *
 * The bound: the relief of a server is the load that other applications could remove from it. The cost of a group is
 * the lowest relative load that a server with the group could have after its relief. A dynamic programme over the
 * subsets of an application's tasks finds the partition into groups whose most expensive group is cheapest. The
 * greatest such value over the applications is a lower bound of p. The same tables give a bound for the unplaced tasks
 * of each application at every node.
 *
 * An application with more than BLOCK_TASKS failed tasks is split into blocks. A flow between two of its blocks may
 * still stay within a server, so the bound counts it neither as egress of the sender's block nor as ingress of the
 * receiver's. In the loads of placed tasks such a flow counts until both ends share a server. While one end is
 * unplaced, the flow counts as relief, because placing that end on the same server would remove it.
 */
#ifndef SCHED_RECOVERY_SEARCH_PRIV_H
#define SCHED_RECOVERY_SEARCH_PRIV_H

#include "recovery_priv.h"

#ifndef BLOCK_TASKS /* tests use a smaller value, so that small scenarios have split applications */
/*
 * 3^(14 - 1) steps of the dynamic programme take 5 ms; an application of the benchmark's dense kind has at most 14
 * failed tasks.
 */
enum { BLOCK_TASKS = 14 };
#endif

struct block {
	uint32_t count, task[BLOCK_TASKS]; /* failed tasks, largest first */
	uint32_t full;                     /* (1 << count) - 1 */
	bool split;                        /* its application has other blocks */
	/* The following arrays are indexed by set of tasks and have 1 << count entries. */
	double *egress, *ingress, *cpu; /* loads and CPU of the set as one group, on a server without its peers */
	/* load of flows to and from other blocks of the application, which may still vanish */
	double *cross_egress, *cross_ingress;
	double *cost, *best; /* cost: of the set as one group; best: of the most expensive group in the set's best
				partition */
	double *plain_cost;  /* cost of the group on servers where it has no peers */
	double *saved_MB, *best_saved_MB; /* upper bounds of the MB that stay within servers: if the set is one group;
					     for the best partition of the set */
	/* by candidate: load that tasks of the block could remove from this server */
	double *relief_egress, *relief_ingress;
};

enum outcome { SEARCH_FOUND, SEARCH_NONE, SEARCH_BUDGET, SEARCH_DEADLINE };

/* A failed task that could lower the load of a server: by `load`, at the price of `cpu`. */
struct gain {
	double load, cpu;
};

/* A server as seen by one block: its load minus the load that the other blocks could remove. */
struct offer {
	double egress, ingress;
	uint32_t c;
};

struct search {
	struct problem *p;
	uint32_t C;    /* number of candidates */
	uint32_t *n;   /* candidate -> n */
	int64_t *c;    /* n -> candidate or -1 */
	double *local; /* [F x C] load of the task's flows with surviving peers on the candidate */
	bool *plain;   /* by candidate: no failed task has a surviving peer there */
	struct block *blocks;
	uint32_t block_count;
	double *set_values;                     /* two scratch arrays of a block, by set of tasks */
	struct offer *offers;                   /* C entries of scratch */
	bool has_split;                         /* some application is split into several blocks */
	double outside;                         /* highest relative load of a server that is no candidate */
	double *relief_egress, *relief_ingress; /* by candidate: load that all blocks could remove */
	/* limits of a decision */
	double limit, untouched_limit; /* highest allowed relative load of a server that takes failed tasks, and of one
					  that takes none */
	bool least_bytes;     /* minimise the bytes on the network: a placement found does not end the search */
	double best_saved_MB; /* saved_MB of the best placement so far */
	/* state of the current node */
	double *egress, *ingress, *space; /* by candidate: loads, free CPU */
	uint32_t *tasks_on;               /* by candidate: number of failed tasks on it */
	uint32_t *place;                  /* by failed task: its candidate; C = not placed */
	uint32_t *remaining;              /* by block: set of unplaced tasks */
	unsigned char *block_on; /* [block x candidate] 1: do not put a group of the block on the candidate: it has
				    one already, or this branch gives it none */
	double saved_MB;         /* MB of failed tasks' flows that stay within servers */
	uint32_t *hot;           /* candidates that exceed untouched_limit before any failed task is placed */
	uint32_t hot_count;
	struct gain *gains; /* F entries of scratch */
	/* result and budget */
	uint32_t *found;
	bool has_found;
	uint64_t nodes, work, work_limit;
	struct ns deadline;
};

/*
 * Allocates the blocks and their tables; recovery_blocks_fill() computes the tables for the problem's present scale. 0
 * or -ENOMEM.
 */
int recovery_blocks_create(struct search *s);
void recovery_blocks_free(struct search *s);
void recovery_blocks_fill(struct search *s);
/* Returns a lower bound of the highest relative load of the servers that take failed tasks. */
double recovery_blocks_bound(const struct search *s);
/* Computes saved_MB and best_saved_MB of all blocks; groups may be only on servers whose load stays within s->limit. */
void recovery_blocks_fill_saved(struct search *s);

/*
 * Searches for a placement within the limits and stores it in s->found. work: maximum number of options to examine, 0 =
 * no limit.
 */
enum outcome recovery_search_decide(struct search *s, double limit, double untouched_limit, uint64_t work);

/*
 * Returns a lower bound of p at the problem's scale, from all candidates' links together. target: an upper bound of p.
 */
double recovery_weights_bound(const struct search *s, double target);
/*
 * Returns a lower bound of p at the problem's scale, from each candidate alone, but at least `bound` and, unless
 * `bound` is higher, at most `target`. place: the incumbent; servers with at most the load `bound` in it are left out.
 */
double recovery_server_bound(const struct search *s, const uint32_t *place, double target, double bound);

/*
 * Changes the placement (by failed task: n) so that less relative load is above `aim`, if it finds such a placement. At
 * the problem's scale.
 */
void recovery_anneal(const struct search *s, uint32_t *place, double aim, uint64_t seed);

static inline double search_relative(const struct search *s, uint32_t c, double egress, double ingress)
{
	return recovery_problem_relative(s->p, s->n[c], egress, ingress);
}

#endif
