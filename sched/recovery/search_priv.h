/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Branch and bound over groups. Failed tasks of one application that share a server form a group: its tasks need not
 * send to each other over the network. A node of the tree has some groups on servers; it branches on the groups that
 * contain the first unplaced task of an application, and on their servers.
 *
 * The bound: the cost of a group is the lowest relative load that any server open to it has with the group, minus the
 * relief: the load that other applications could remove from that server. A dynamic programme over the subsets of an
 * application's tasks finds the partition into groups whose most expensive group is cheapest. The greatest such value
 * over the applications is a lower bound of p. The same tables give a bound for the unplaced tasks of each application
 * at every node.
 *
 * An application with more than BLOCK_TASKS failed tasks is split into blocks. A flow between two of its blocks may
 * still stay within a server, so the bound counts it neither as egress of the sender's block nor as ingress of the
 * receiver's. The loads of placed tasks include it until both ends share a server; until then, it is relief that the
 * unplaced end could give.
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
	/* by set of tasks, 1 << count entries */
	double *egress, *ingress, *cpu; /* of the group on a server without peers */
	/* flows to and from other blocks of the application: load that may still vanish */
	double *cross_egress, *cross_ingress;
	double *cost, *best;              /* cost of the group; the least cost of the worst group over all partitions */
	double *plain_cost;               /* cost of the group on servers where it has no peers */
	double *saved_MB, *best_saved_MB; /* most traffic within servers: of a group, of a partition */
	/* by candidate: load that the block could remove from it */
	double *relief_egress, *relief_ingress;
};

enum outcome { SEARCH_FOUND, SEARCH_NONE, SEARCH_BUDGET, SEARCH_DEADLINE };

/* A task that could lower the load of a server. */
struct gain {
	double load, cpu;
};

struct search {
	struct problem *p;
	uint32_t C;
	uint32_t *n;   /* candidate -> n */
	int64_t *c;    /* n -> candidate or -1 */
	double *local; /* F x C: load of a task's flows with peers there */
	bool *plain;   /* no failed task has a peer there */
	struct block *blocks;
	uint32_t block_count;
	bool has_split;                         /* some block is part of an application */
	double outside;                         /* highest relative load of a server that is no candidate */
	double *relief_egress, *relief_ingress; /* by candidate: load that all blocks could remove */
	/* limits of a decision */
	double limit, untouched_limit; /* inclusive upper limits of relative loads; `untouched`: without failed tasks */
	bool least_bytes;              /* keep searching for fewer bytes */
	double best_saved_MB;
	/* state of the current node */
	double *egress, *ingress, *space; /* by candidate */
	uint32_t *tasks_on;               /* by candidate */
	uint32_t *place;                  /* by failed task: candidate or C */
	uint32_t *remaining;              /* by block: set of unplaced tasks */
	unsigned char *block_on; /* [block x candidate] set: the candidate takes no (further) group of the block */
	double saved_MB;
	uint32_t *hot; /* candidates above untouched_limit without failed tasks */
	uint32_t hot_count;
	struct gain *gains; /* F entries of scratch */
	/* result and budget */
	uint32_t *found;
	bool has_found;
	uint64_t nodes, work, work_limit;
	struct ns deadline;
};

/* The tables of all blocks; recovery_blocks_fill() computes them for the problem's scale. 0 or -ENOMEM. */
int recovery_blocks_create(struct search *s);
void recovery_blocks_free(struct search *s);
void recovery_blocks_fill(struct search *s);
/* Returns a lower bound of the highest relative load of the servers that take failed tasks. */
double recovery_blocks_bound(const struct search *s);
/* Computes saved_MB and best_saved_MB of all blocks for placements within s->limit. */
void recovery_blocks_fill_saved(struct search *s);

/*
 * Searches for a placement within the limits and stores it in s->found. work: maximum number of options to examine, 0 =
 * no limit.
 */
enum outcome recovery_search_decide(struct search *s, double limit, double untouched_limit, uint64_t work);

static inline double search_relative(const struct search *s, uint32_t c, double egress, double ingress)
{
	return recovery_problem_relative(s->p, s->n[c], egress, ingress);
}

#endif
