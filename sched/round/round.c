/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/round/round.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

static int append_moves(struct round_outcome *outcome, const struct flownet_move *moves, size_t count)
{
	size_t needed = outcome->move_count + count;
	struct flownet_move *larger =
		array_reserve(outcome->moves, needed, &outcome->move_capacity, sizeof *outcome->moves);

	if (!larger)
		return -ENOMEM;
	outcome->moves = larger;
	if (count > 0)
		memcpy(larger + outcome->move_count, moves, count * sizeof *moves);
	outcome->move_count = needed;
	return 0;
}

static int carry_out(struct flownet *net, size_t number, const struct flownet_move *move, enum round_decision decision)
{
	bool waits = move->to == FLOWNET_NONE; /* to let a task wait takes no time */

	return decision == ROUND_RESERVE && !waits ? flownet_reserve(net, number) : flownet_apply(net, number);
}

/*
 * Lets the caller decide on each move, and carries out the moves that are not refused. If a move fails because its slot
 * is still in use, tries it again after other moves have succeeded. Returns 0 or -ENOMEM.
 */
static int decide_moves(struct flownet *net, const struct round_options *options, struct round_outcome *outcome)
{
	const struct flownet_round *last = &outcome->last;
	enum round_decision *decisions = calloc(last->move_count + 1, sizeof *decisions);
	bool progress = true;
	int code = decisions ? 0 : -ENOMEM;

	for (size_t i = 0; i < last->move_count && code == 0; i++)
		decisions[i] = options->decide(options->context, &last->moves[i]);
	while (progress && code == 0) {
		progress = false;
		for (size_t i = 0; i < last->move_count && code == 0; i++) {
			int moved;

			if (decisions[i] == ROUND_REFUSE)
				continue;
			moved = carry_out(net, i, &last->moves[i], decisions[i]);
			if (moved == -EBUSY)
				continue;
			decisions[i] = ROUND_REFUSE; /* not again: it is done, or an event has made it invalid */
			progress = true;
			code = moved == 0 ? append_moves(outcome, &last->moves[i], 1) : moved == -ENOMEM ? moved : 0;
		}
	}
	free(decisions);
	return code;
}

static int solve(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
		 struct error *err)
{
	struct flownet *net = placer_net(placer);
	struct flownet_round *last = &outcome->last;
	int code = flownet_propose(net, last, err);

	if (code != 0)
		return code;
	code = placer_order(placer, last);
	if (code != 0)
		return error_set(err, -code, "out of memory");
	if (options->decide)
		code = decide_moves(net, options, outcome);
	else if ((code = append_moves(outcome, last->moves, last->move_count)) == 0)
		code = flownet_apply_all(net);
	if (code != 0)
		return error_set(err, -code, "out of memory");
	last->moves = NULL;
	outcome->solves++;
	outcome->scans += last->scans;
	outcome->seconds += last->apply_s + last->solve_s + last->extract_s;
	return 0;
}

static int hold_others(struct placer *placer, bool held, struct error *err)
{
	int code = flownet_hold_others(placer_net(placer), held);

	return code == 0 ? 0 : error_set(err, -code, "out of memory");
}

/* Forgets the last round, but keeps the memory for the moves. */
static void forget(struct round_outcome *outcome)
{
	flownet_network_free(&outcome->network);
	*outcome = (struct round_outcome){.moves = outcome->moves, .move_capacity = outcome->move_capacity};
}

int round_place_roots(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
		      struct error *err)
{
	int code;

	forget(outcome);
	if (!placer_policy(placer)->root_first || !flownet_a_root_waits(placer_net(placer)))
		return 0;
	code = hold_others(placer, true, err);
	if (code == 0)
		code = solve(placer, options, outcome, err);
	if (code != 0)
		return code;
	outcome->root_moves = outcome->move_count;
	for (size_t i = 0; i < outcome->move_count; i++)
		outcome->roots_placed += outcome->moves[i].to != FLOWNET_NONE;
	return hold_others(placer, false, err);
}

/*
 * Returns true if the network must be built. The caller may want it, or its overflow_cost is needed for the cost of
 * unrouted units.
 */
static bool needs_network(struct placer *placer, const struct round_options *options)
{
	return options->keep_network || (options->whole_cost && placer_settings(placer)->flow.unscheduled_capacity > 0);
}

int round_place_others(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
		       struct error *err)
{
	/* Computed before the solve: afterwards, it would count the tasks that the solve places, as last.cost does. */
	int64_t pinned_cost = options->whole_cost ? flownet_pinned_cost(placer_net(placer)) : 0;
	int code = 0;

	if (needs_network(placer, options))
		code = flownet_network_build(placer_net(placer), &outcome->network, err);
	if (code == 0)
		code = solve(placer, options, outcome, err);
	outcome->cost = outcome->last.cost + pinned_cost + outcome->last.unrouted * outcome->network.overflow_cost;
	if (!options->keep_network)
		flownet_network_free(&outcome->network);
	return code;
}

int round_run(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
	      struct error *err)
{
	int code = 0;

	if (options->one_solve)
		forget(outcome);
	else
		code = round_place_roots(placer, options, outcome, err);
	return code == 0 ? round_place_others(placer, options, outcome, err) : code;
}

void round_outcome_free(struct round_outcome *outcome)
{
	flownet_network_free(&outcome->network);
	free(outcome->moves);
	*outcome = (struct round_outcome){0};
}
