/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds in virtual time: the solver sees the state at a round's beginning, and the moves are made at its end. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <base/ns.h>

#include "sim_priv.h"

enum {
	ROUNDS_WITHOUT_TIME = 2, /* the first rounds, as in the paper's simulator: they place the tasks of time 0 */
	NS_PER_SCAN = 5,         /* of SIM_SOLVER_WORK */
};

/*
 * Published run times of the algorithm (NoMora 6.2), seconds. The minimum is not published; half of the median is used.
 */
struct published {
	double p50_s, p99_s, maximum_s;
};
static const struct published published_random = {0.108, 0.661, 18.89};
static const struct published published_spreading = {0.109, 0.974, 25.88};
static const struct published published_105 = {0.093, 0.248, 6.13};
static const struct published published_110 = {0.072, 0.486, 39.55};
static const struct published published_preemption = {0.373, 511, 1719};
static const struct published published_without_beta = {1532, 6610, 7118};

static const struct published *find_published(const struct sim_settings *settings)
{
	const struct policy_settings *policy = &settings->policy_settings;

	if (strcmp(settings->policy->name, "load_spreading") == 0)
		return &published_spreading;
	if (!settings->policy->root_first)
		return &published_random;
	if (policy->flow.preemption)
		return policy->flow.beta_per_s > 0 ? &published_preemption : &published_without_beta;
	return policy->machine_threshold >= 110 ? &published_110 : &published_105;
}

/* Interpolates between two quantiles, linearly in the logarithm; share is 0..1. */
static double between(double low, double high, double share)
{
	return low * pow(high / low, share);
}

int64_t sim_published_us(const struct sim_settings *settings, double u)
{
	const struct published *published = find_published(settings);
	double seconds;

	if (u < 0.5)
		seconds = between(published->p50_s / 2, published->p50_s, u / 0.5);
	else if (u < 0.99)
		seconds = between(published->p50_s, published->p99_s, (u - 0.5) / 0.49);
	else
		seconds = between(published->p99_s, published->maximum_s, (u - 0.99) / 0.01);
	return (int64_t)(seconds * 1e6);
}

static int64_t duration_us(struct sim *sim)
{
	const struct sim_settings *settings = sim->settings;

	if (sim->result->rounds < ROUNDS_WITHOUT_TIME)
		return 0;
	switch (settings->solver_time) {
	case SIM_SOLVER_FIXED:
		return settings->solver_us;
	case SIM_SOLVER_WORK:
		return (int64_t)(sim->outcome.scans * NS_PER_SCAN / 1000);
	case SIM_SOLVER_MEASURED:
		return (int64_t)(sim->outcome.seconds * 1e6);
	case SIM_SOLVER_PUBLISHED:
		return sim_published_us(settings, rng_uniform(&sim->rng));
	case SIM_SOLVER_ZERO:
	default:
		return 0;
	}
}

/* Tells the network which round trips have changed. */
static int latency_moved(struct sim *sim)
{
	struct latency_view *view = sim->latency.view;
	struct cost_moved moved = view ? latency_view_moved(view) : (struct cost_moved){0};
	int code = 0;

	if (!sim->latencies_moved)
		return 0;
	sim->latencies_moved = false;
	if (sim->settings->policy->root_first)
		code = flownet_latency_changed(sim->net, view ? &moved : NULL);
	if (view)
		latency_view_moved_clear(view);
	return code;
}

static int solve(struct sim *sim, struct error *err)
{
	const struct round_options options = sim_round_options(sim);
	struct ns begin = ns_now_cpu();
	int code = flownet_time_passed(sim->net, (double)(sim->now_us - sim->net_time_us) / 1e6);

	sim->net_time_us = sim->now_us;
	if (code == 0)
		code = latency_moved(sim);
	if (code == 0)
		code = sim_review_moves(sim);
	if (code != 0)
		return error_set(err, -code, "round %llu: %s", (unsigned long long)sim->result->rounds,
				 strerror(-code));
	code = round_run(sim->placer, &options, &sim->outcome, err);
	sim_gangs_settle(sim);
	if (code != 0)
		return code;
	sim->round_cpu_s = ns_to_s(ns_sub(ns_now_cpu(), begin));
	return 0;
}

int sim_begin_round(struct sim *sim, struct error *err)
{
	int code = solve(sim, err);

	sim->changed = false;
	if (code != 0)
		return code;
	sim->round_begin_us = sim->now_us;
	sim->round_end_us = sim->now_us + duration_us(sim);
	sim->in_round = true;
	return sim->round_end_us == sim->now_us ? sim_end_round(sim, err) : 0;
}

/*
 * Records the time from a task's submission to its first placement, and its parts: the waits for the root, for a slot
 * and for the solver.
 */
static void note_placement(struct sim *sim, uint32_t task)
{
	const struct workload_task *described = &sim->workload->tasks[task];
	const struct sim_job *job = &sim->jobs[described->job];
	struct sim_result *result = sim->result;
	int64_t total_us = sim->now_us - described->submit_us;
	int64_t solver_us = sim->now_us - sim->round_begin_us, root_us;

	solver_us = solver_us < total_us ? solver_us : total_us;
	/* A root placed in this round counts as placed at the beginning of the round. */
	root_us =
		(job->root_placed_us == sim->now_us ? sim->round_begin_us : job->root_placed_us) - described->submit_us;
	if (!sim->settings->policy->root_first || task == sim->workload->jobs[described->job].first_task || root_us < 0)
		root_us = 0;
	root_us = root_us < total_us - solver_us ? root_us : total_us - solver_us;
	histogram_record(result->placement_us, total_us);
	histogram_record(result->wait_solver_us, solver_us);
	histogram_record(result->wait_root_us, root_us);
	histogram_record(result->wait_slot_us, total_us - solver_us - root_us);
	sim->tasks[task].placed_us = sim->now_us;
}

static int migrate(struct sim *sim, uint32_t task, int32_t machine)
{
	struct sim_task *state = &sim->tasks[task];
	int32_t from = state->machine;
	int code;

	sim_stop_task(sim, task, sim->now_us);
	if (machine == state->moved_from && sim->now_us - state->moved_us <= 60 * INT64_C(1000000))
		sim->result->ping_pongs++;
	if (state->left_us != WORKLOAD_TO_THE_END)
		state->left_us += sim->settings->migration_cost_us;
	state->moved_from = from;
	state->moved_us = sim->now_us;
	code = sim_start_task(sim, task, machine, sim->now_us);
	return code == 0 ? sim_move_made(sim, task) : code;
}

static int apply_move(struct sim *sim, const struct flownet_move *move, struct sim_round *row)
{
	uint32_t task = sim->workload->jobs[move->job].first_task + move->task;
	const struct sim_task *state = &sim->tasks[task];

	if (state->state == SIM_TASK_DONE) /* the task ended during the round */
		return move->from != FLOWNET_NONE ? sim_move_made(sim, task) : 0;
	if (move->to == FLOWNET_NONE) {
		row->preempted++;
		sim_record_decision(sim, task, JOURNAL_PREEMPT, state->machine, SIM_NONE);
		sim_stop_task(sim, task, sim->now_us);
		return 0;
	}
	sim_record_decision(sim, task, state->state == SIM_TASK_RUNNING ? JOURNAL_MOVE : JOURNAL_PLACE, state->machine,
			    move->to);
	if (state->state == SIM_TASK_RUNNING) {
		row->migrated++;
		return migrate(sim, task, move->to);
	}
	row->placed++;
	sim_move_started(sim, task);
	if (sim_start_task(sim, task, move->to, sim->now_us) != 0)
		return -ENOMEM;
	if (state->placed_us == SIM_NONE)
		note_placement(sim, task);
	return 0;
}

static bool machines_hold(const struct sim *sim)
{
	uint64_t running = 0;

	for (uint32_t m = 0; m < sim->cluster->machine_count; m++) {
		if (sim->present[m] && flownet_running(sim->net, m) > sim->slots[m])
			return false;
	}
	for (uint32_t t = 0; t < sim->workload->task_count; t++)
		running += sim->tasks[t].state == SIM_TASK_RUNNING;
	return running == sim->running;
}

static int check_conservation(const struct sim *sim, struct error *err)
{
	const struct sim_result *result = sim->result;

	if (result->submitted == result->finished + sim->running + sim->waiting &&
	    (!sim->settings->check || machines_hold(sim)))
		return 0;
	return error_set(err, EIO,
			 "round %llu: tasks are not conserved: %llu submitted, %llu finished, %llu run, %llu wait",
			 (unsigned long long)result->rounds, (unsigned long long)result->submitted,
			 (unsigned long long)result->finished, (unsigned long long)sim->running,
			 (unsigned long long)sim->waiting);
}

int sim_end_round(struct sim *sim, struct error *err)
{
	struct sim_result *result = sim->result;
	uint64_t running = sim->running;
	struct sim_round row = {
		.number = result->rounds,
		.begin_us = sim->round_begin_us,
		.took_us = sim->now_us - sim->round_begin_us,
		.wall_s = sim->outcome.seconds,
		.cpu_s = sim->round_cpu_s,
		.scans = sim->outcome.scans,
	};
	int code = 0;

	for (size_t i = 0; i < sim->outcome.move_count && code == 0; i++)
		code = apply_move(sim, &sim->outcome.moves[i], &row);
	sim->in_round = false;
	if (code == 0)
		code = sim_apply_deferred(sim);
	if (code != 0)
		return error_set(err, -code, "round %llu: %s", (unsigned long long)sim->result->rounds,
				 strerror(-code));
	row.waiting = sim->waiting;
	row.running = sim->running;
	row.cost = sim->outcome.bound.cost;
	row.cost_bound = sim->outcome.bound.bound;
	result->cost += row.cost;
	result->cost_bound += row.cost_bound;
	result->gap_maximum = fmax(result->gap_maximum, placer_bound_gap(&sim->outcome.bound));
	result->rounds++;
	result->solves += sim->outcome.solves;
	result->moves += sim->outcome.move_count;
	result->migrations += row.migrated;
	result->preemptions += row.preempted;
	result->solver_wall_s += row.wall_s;
	result->solver_cpu_s += row.cpu_s;
	histogram_record(result->runtime_us, (int64_t)(row.wall_s * 1e6));
	histogram_record(result->cpu_us, (int64_t)(row.cpu_s * 1e6));
	histogram_record(result->took_us, row.took_us);
	if ((placer_settings(sim->placer)->flow.preemption || sim->moves) && running > 0)
		histogram_record(result->migrated_ppm, (int64_t)((double)row.migrated * 1e6 / (double)running));
	/* A root that was placed at the end of this round may make the other tasks of its job eligible. */
	if (row.placed > 0 && sim->waiting > 0)
		sim->changed = true;
	if (sim->watch->round)
		sim->watch->round(sim->watch->context, &row);
	return check_conservation(sim, err);
}
