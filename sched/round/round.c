/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

#include "round_priv.h"

/*
 * A repetition without the moves that were refused may refuse moves of further jobs: this is the maximum number of
 * repetitions.
 */
enum { REPETITIONS_MOST = 8 };

static int failed(int code, struct error *err)
{
	return code == 0 ? 0 : error_set(err, -code, "%s", code == -ENOMEM ? "out of memory" : strerror(-code));
}

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

/* True if the policy does not use latencies and proposes a machine that the task's root cannot reach. */
static bool is_unreachable(struct placer *placer, const struct flownet_move *move)
{
	const struct flownet *net = placer_net(placer);
	int32_t root = flownet_root_machine(net, move->job);

	return !placer_policy(placer)->cached_rows && move->to != FLOWNET_NONE && root != FLOWNET_NONE &&
	       move->task != flownet_root_task(net, move->job) &&
	       placer_latency_cost(placer, move->job, (uint32_t)root, (uint32_t)move->to) > COST_MAXIMUM;
}

static int take(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
		size_t number)
{
	const struct flownet_move *move = &outcome->last.moves[number];
	int code;

	if (is_unreachable(placer, move)) {
		outcome->unreachable++;
		return -EPERM;
	}
	code = options->take ? options->take(options->context, move, number)
			     : flownet_apply(placer_net(placer), number);
	return code == 0 ? append_moves(outcome, move, 1) : code;
}

/* A root is placed before the tasks that must reach it. */
static bool is_urgent(struct placer *placer, const struct round_options *options, const struct flownet_move *move)
{
	return (move->from == FLOWNET_NONE && move->task == flownet_root_task(placer_net(placer), move->job)) ||
	       (options->is_urgent && options->is_urgent(options->context, move));
}

/* Takes the open proposals, or only the urgent ones, until those that are left wait for a slot that nobody leaves. */
static int take_open(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
		     bool *closed, bool urgent)
{
	const struct flownet_round *last = &outcome->last;
	bool again = true;

	while (again) {
		bool busy = false;

		again = false;
		for (size_t i = 0; i < last->move_count; i++) {
			int code;

			if (closed[i] || (urgent && !is_urgent(placer, options, &last->moves[i])))
				continue;
			code = take(placer, options, outcome, i);
			if (code < 0 && code != -EBUSY && code != -ESTALE && code != -EPERM)
				return code;
			closed[i] = code != -EBUSY;
			busy = busy || code == -EBUSY;
			again = again || code == 0;
		}
		again = again && busy;
	}
	return 0;
}

static int take_all(struct placer *placer, const struct round_options *options, struct round_outcome *outcome)
{
	const struct flownet_round *last = &outcome->last;
	bool *closed;
	int code;

	if (!options->take && placer_policy(placer)->cached_rows) {
		code = append_moves(outcome, last->moves, last->move_count);
		return code == 0 ? flownet_apply_all(placer_net(placer)) : code;
	}
	closed = calloc(last->move_count + 1, sizeof *closed);
	code = closed ? take_open(placer, options, outcome, closed, true) : -ENOMEM;
	if (code == 0)
		code = take_open(placer, options, outcome, closed, false);
	for (size_t i = 0; i < last->move_count && code == 0; i++)
		outcome->blocked = outcome->blocked || (!closed[i] && last->moves[i].from == FLOWNET_NONE);
	free(closed);
	return code;
}

static int solve(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
		 struct error *err)
{
	struct flownet_round *last = &outcome->last;
	int code = flownet_propose(placer_net(placer), last, err);

	outcome->solves++;
	outcome->scans += last->scans;
	outcome->seconds += last->apply_s + last->solve_s + last->extract_s;
	if (code != 0)
		return code;
	code = placer_order(placer, last);
	if (code == 0)
		code = take_all(placer, options, outcome);
	last->moves = NULL;
	return failed(code, err);
}

static int place_roots(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
		       struct error *err)
{
	struct flownet *net = placer_net(placer);
	int code;

	if (options->one_solve || !placer_policy(placer)->root_first || !flownet_a_root_waits(net))
		return 0;
	flownet_hold_others(net, true);
	code = solve(placer, options, outcome, err);
	flownet_hold_others(net, false);
	outcome->root_moves = outcome->move_count;
	for (size_t i = 0; i < outcome->move_count; i++)
		outcome->roots_placed += outcome->moves[i].to != FLOWNET_NONE;
	return code;
}

/*
 * Returns true if the network must be built. The caller may want it, or its overflow_cost is needed for the cost of
 * unrouted units.
 */
static bool needs_network(struct placer *placer, const struct round_options *options)
{
	return options->keep_network || (options->whole_cost && placer_settings(placer)->flow.unscheduled_capacity > 0);
}

static int place_others(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
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

static int repeat_without_moves(struct placer *placer, const struct round_options *options,
				struct round_outcome *outcome, struct error *err)
{
	int code = 0, released;

	for (int times = 0; times < REPETITIONS_MOST && code == 0 && outcome->blocked; times++) {
		outcome->blocked = false;
		code = failed(options->hold_refused(options->context, true), err);
		if (code == 0)
			code = solve(placer, options, outcome, err);
	}
	released = failed(options->hold_refused(options->context, false), code == 0 ? err : NULL);
	return code == 0 ? released : code;
}

static int run(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
	       struct error *err)
{
	int code = place_roots(placer, options, outcome, err);

	if (code == 0 && options->before_others)
		code = failed(options->before_others(options->context), err);
	if (code == 0)
		code = place_others(placer, options, outcome, err);
	return code == 0 && outcome->blocked && options->hold_refused
		       ? repeat_without_moves(placer, options, outcome, err)
		       : code;
}

/* Returns the free slots of each machine; NULL: out of memory. The caller frees it. */
static int32_t *list_free(const struct flownet *net)
{
	uint32_t machines = flownet_cluster(net)->machine_count;
	int32_t *slots = malloc((machines + (size_t)1) * sizeof *slots);

	for (uint32_t m = 0; slots && m < machines; m++)
		slots[m] = flownet_free(net, m);
	return slots;
}

int round_run(struct placer *placer, const struct round_options *options, struct round_outcome *outcome,
	      struct error *err)
{
	struct flownet *net = placer_net(placer);
	int32_t *free_before = options->bound ? list_free(net) : NULL;
	int code, settled;

	flownet_network_free(&outcome->network);
	*outcome = (struct round_outcome){
		.moves = outcome->moves, .move_capacity = outcome->move_capacity, .bound = outcome->bound};
	code = failed(options->bound && !free_before ? -ENOMEM : round_gangs_try(net, options), err);
	if (code == 0)
		code = run(placer, options, outcome, err);
	settled = failed(round_gangs_settle(net, options, code != 0, outcome), code == 0 ? err : NULL);
	code = code == 0 ? settled : code;
	if (code == 0 && options->bound)
		code = failed(placer_bound(placer, free_before, outcome->moves, outcome->move_count, &outcome->bound),
			      err);
	free(free_before);
	return code;
}

void round_outcome_free(struct round_outcome *outcome)
{
	flownet_network_free(&outcome->network);
	placer_bound_free(&outcome->bound);
	free(outcome->moves);
	*outcome = (struct round_outcome){0};
}
