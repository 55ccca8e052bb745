/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One scheduling round (NoMora 5.2). A first solve places only the waiting roots, while the other tasks are held back.
 * A second solve then places the other tasks, whose roots are known. Without a waiting root, or with a policy that
 * treats roots like other tasks, there is one solve. `place`, the simulator and the live scheduler run the same rounds.
 *
 * Times are wall-clock seconds, costs those of the flow network. Owned by one thread, with the placer.
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
	ROUND_APPLY,   /* the task runs there now */
	ROUND_RESERVE, /* the task holds the slot until flownet_confirm() or flownet_fail(): for moves that take time */
	ROUND_REFUSE,  /* no move; later rounds propose it again as long as it is optimal */
};

struct round_options {
	/* Called once for each proposed move of either solve, in their order. NULL: all are applied. */
	enum round_decision (*decide)(void *context, const struct flownet_move *move);
	void *context;
	bool whole_cost; /* outcome->cost includes pinned tasks and unrouted units, which takes a pass over all tasks */
	bool keep_network; /* stores the last solve's network in outcome->network */
};

struct round_outcome {
	struct flownet_move *moves; /* the moves that were applied or reserved, of both solves, in order */
	size_t move_count, move_capacity;
	size_t root_moves;   /* number of moves of the first solve: moves[0..root_moves-1] */
	size_t roots_placed; /* number of root_moves that place a root on a machine */
	uint64_t solves, scans;
	double seconds;                 /* of all solves: changes, solver and extraction */
	struct flownet_round last;      /* result of the last solve, without its moves (NULL) */
	int64_t cost;                   /* of the last solve's flow; see whole_cost */
	struct flownet_network network; /* as it was before the last solve; empty without keep_network */
};

/* Runs both steps below. 0 or flownet_solve()'s error. Overwrites the outcome of an earlier round. */
int round_run(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
	      struct error *err);

/* The first step: resets the outcome, and runs the first solve if a root waits. */
int round_place_roots(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
		      struct error *err);
/* The second step: adds the second solve to the outcome. */
int round_place_others(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
		       struct error *err);

/* Frees the outcome's arrays; all zero is legal. */
void round_outcome_free(struct round_outcome *outcome);

#endif
