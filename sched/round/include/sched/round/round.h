/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One scheduling round (NoMora 5.2). A first solve places only the waiting roots. A second solve then places the other
 * tasks, whose costs depend on the root's machine. If no root waits, or the policy treats roots like other tasks,
 * there is only the second solve. `nomora place` and the simulator run these rounds; the live scheduler, which reserves
 * slots and refuses moves, has rounds of its own (sched/live/step.c).
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

/* The caller's decision on a proposed move. */
enum round_decision {
	ROUND_APPLY,   /* the task runs on the machine now */
	ROUND_RESERVE, /* for moves that take time: reserves the slot until flownet_confirm() or flownet_fail() */
	ROUND_REFUSE,  /* no move; later rounds propose it again as long as it is optimal */
};

struct round_options {
	/* Called once for each move that a solve proposes, in the order of the moves. NULL: applies all moves. */
	enum round_decision (*decide)(void *context, const struct flownet_move *move);
	void *context;
	bool whole_cost; /* outcome->cost includes pinned tasks and unrouted units; this takes a pass over all tasks */
	bool one_solve;  /* round_run() places roots with the other tasks; those whose root waited come in a later round
			  */
	bool keep_network; /* stores the network before the last solve in outcome->network */
};

struct round_outcome {
	struct flownet_move *moves; /* applied and reserved moves of both solves, in order */
	size_t move_count, move_capacity;
	size_t root_moves;   /* number of moves of the first solve: moves[0..root_moves-1] */
	size_t roots_placed; /* number of root_moves that place a root on a machine */
	uint64_t solves, scans;
	double seconds;                 /* time to apply changes, solve and extract the moves, of both solves */
	struct flownet_round last;      /* result of the last solve; its moves are NULL, see `moves` above */
	int64_t cost;                   /* cost of the last solve's flow; see whole_cost */
	struct flownet_network network; /* the network before the last solve; empty without keep_network */
};

/* Runs both steps below. All three return 0, or -errno with err set as flownet_solve() does. Overwrites *outcome. */
int round_run(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
	      struct error *err);

/* The first step: resets the outcome, and runs the first solve if a root waits. */
int round_place_roots(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
		      struct error *err);
/* The second step: adds the second solve to the outcome. */
int round_place_others(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
		       struct error *err);

/* Frees the outcome's arrays. An outcome of all zero is legal. */
void round_outcome_free(struct round_outcome *outcome);

#endif
