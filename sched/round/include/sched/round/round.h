/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One scheduling round (NoMora 5.2), the same for `nomora place`, the simulator and the live scheduler. A first solve
 * places only the waiting roots. A second solve then places the other tasks, whose costs depend on the root's machine.
 * If no root waits, or the policy treats roots like other tasks, there is only the second solve.
 *
 * Each proposal of a solve is carried out or refused. No task is placed on a machine that its root cannot reach: only
 * policies that do not use latencies propose one. Such a task waits or, if it runs, stays where it is; the answer is
 * then not optimal. The caller may refuse further proposals, for example moves that gain too little.
 *
 * Times are wall-clock seconds. Costs are those of the flow network. Use it from the placer's thread.
 */
#ifndef ROUND_ROUND_H
#define ROUND_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include <base/error.h>
#include <sched/flownet/network.h>
#include <sched/policy/policy.h>

/*
 * A job that starts only if a minimum number of its tasks, and its root, get slots in the same round. The caller does
 * not add its tasks to the network. A round adds them if the cluster has this many free slots, which no other gang
 * needs; if too few of them then get slots, it takes them out again.
 */
struct round_gang {
	uint32_t job, tasks, minimum;
	bool tried; /* the round added the tasks */
	bool started;
};

struct round_options {
	void *context; /* of the functions, each of which may be NULL */
	/*
	 * Carries out proposal `number` by flownet_apply() or flownet_reserve(), and returns what that returns; or
	 * returns -EPERM: it refuses the proposal. After -EBUSY, it is called again once other proposals have been
	 * carried out. NULL: applies all proposals.
	 */
	int (*take)(void *context, const struct flownet_move *move, size_t number);
	/* True if the proposal is to be taken before others, as those of waiting roots are. NULL: no others are. */
	bool (*is_urgent)(void *context, const struct flownet_move *move);
	/*
	 * Called if a task was not placed because the move that should have freed its slot was refused. With hold, the
	 * network gets no more moves of the jobs whose moves were refused, and the round's second solve is repeated;
	 * in the end, it is called without hold. Returns 0 or -errno. NULL: such a task waits for a later round.
	 */
	int (*hold_refused)(void *context, bool hold);
	/* Called between the two solves, or before the only one. Returns 0 or -errno. */
	int (*before_others)(void *context);
	struct round_gang *gangs; /* [gang_count] in the order in which they are tried, but those that have started */
	size_t gang_count;
	double (*waited_s)(void *context, uint32_t job, uint32_t task); /* of a gang's task; NULL: 0 s */
	bool whole_cost; /* outcome->cost includes pinned tasks and unrouted units; this takes a pass over all tasks */
	bool one_solve;  /* places roots with the other tasks; those whose root waited come in a later round */
	bool keep_network; /* stores the network before the last solve in outcome->network */
	bool bound;        /* sets outcome->bound, see placer_bound() */
};

struct round_outcome {
	struct flownet_move *moves; /* those carried out, of all solves, in order */
	size_t move_count, move_capacity;
	size_t root_moves;    /* number of moves of the first solve: moves[0..root_moves-1] */
	size_t roots_placed;  /* number of root_moves that place a root on a machine */
	uint64_t unreachable; /* proposals that were refused because the root cannot reach the machine */
	uint64_t withdrawn;   /* gangs whose tasks were taken out again */
	bool blocked;         /* a task waits although the network has a slot for it, see hold_refused */
	uint64_t solves, scans;
	double seconds;                 /* time to apply changes, solve and extract the moves, of all solves */
	struct flownet_round last;      /* result of the last solve; its moves are NULL, see `moves` above */
	int64_t cost;                   /* cost of the last solve's flow; see whole_cost */
	struct flownet_network network; /* the network before the last solve; empty without keep_network */
	struct placer_bound bound; /* of all tasks to which the round gave a machine; empty without options.bound */
};

/* Returns 0, or -errno with err set as flownet_solve() does. Overwrites *outcome, but reuses its memory. */
int round_run(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
	      struct error *err);

/* Frees the outcome's arrays. An outcome of all zero is legal. */
void round_outcome_free(struct round_outcome *outcome);

#endif
