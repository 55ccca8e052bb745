/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Branch and bound over groups. Failed tasks of one application that share a server form a group: its tasks need not
 * send to each other over the network. A node of the tree has some groups on servers; it branches on the groups that
 * contain the first unplaced task of an application, and on their servers.
 *
 * The bound: the cost of a group is its least relative load over the servers open to it, less the relief that other
 * applications could give there. A dynamic programme over the subsets of an application's tasks gives the partition
 * whose worst group is cheapest; the greatest such value over the applications is a lower bound of p, and of what is
 * left of each application at every node.
 *
 * An application with more than BLOCK_TASKS failed tasks is split into blocks. A flow between two of its blocks may yet
 * stay within a server: in the bound the sender's block does not count it as egress, nor the receiver's as ingress. In
 * loads of placed tasks it counts until both ends share a server; until then it is relief that the unplaced end could
 * give.
 */
#ifndef SCHED_RECOVERY_SEARCH_PRIV_H
#define SCHED_RECOVERY_SEARCH_PRIV_H

#include "recovery_priv.h"

#ifndef BLOCK_TASKS /* tests use a smaller value, so that small scenarios have split applications */
/* 3^(14 - 1) steps of the dynamic programme take 5 ms; an application of the benchmark's dense kind has 14 at most. */
enum { BLOCK_TASKS = 14 };
#endif

struct block {
	uint32_t count, task[BLOCK_TASKS]; /* largest first */
	uint32_t full;                     /* (1 << count) - 1 */
	bool split;                        /* its application has other blocks */
	/* by set of tasks, 1 << count entries */
	double *egress, *ingress, *cpu; /* of the group on a server without peers */
	/* flows to and from other blocks of the application: load that may still vanish */
	double *cross_egress, *cross_ingress;
	double *cost, *best;              /* least relative load of the group; of the worst group of a partition */
	double *plain_cost;               /* of the group, over servers where it has no peers */
	double *saved_MB, *best_saved_MB; /* most traffic that stays within servers; phase 3 */
	/* by candidate: how much the block could take off its load */
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
	double *relief_egress, *relief_ingress; /* by candidate: what all blocks could take off */
	/* limits of a decision */
	double limit, untouched_limit; /* upper limits of relative loads, inclusive */
	bool least_bytes;              /* keep searching for fewer bytes */
	double best_saved_MB;
	/* the node */
	double *egress, *ingress, *space; /* by candidate */
	uint32_t *tasks_on;               /* by candidate */
	uint32_t *place;                  /* by failed task: candidate or C */
	uint32_t *remaining;              /* by block: set of unplaced tasks */
	unsigned char *block_on;          /* block x candidate: it takes no (further) group of the block */
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

/* Tables of all blocks at the problem's scale. 0 or -ENOMEM. */
int recovery_blocks_create(struct search *s);
void recovery_blocks_free(struct search *s);
void recovery_blocks_fill(struct search *s);
/* The lower bound of the load of servers that take failed tasks. */
double recovery_blocks_bound(const struct search *s);
/* saved_MB and best_saved_MB under s->limit. */
void recovery_blocks_fill_saved(struct search *s);

/* Searches for a placement within the limits, stored in s->found. work: limit of options examined, 0 = no limit. */
enum outcome recovery_search_decide(struct search *s, double limit, double untouched_limit, uint64_t work);

static inline double search_relative(const struct search *s, uint32_t c, double egress, double ingress)
{
	return recovery_problem_relative(s->p, s->n[c], egress, ingress);
}

#endif
