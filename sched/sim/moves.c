/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves of running tasks by the rules of the live scheduler (<sched/migration/migration.h>), in virtual time. A task
 * counts as moving from the round that decides on its move until migration_cost_us after the round's end. Running tasks
 * are never evicted.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "sim_priv.h"

int sim_moves_create(struct sim *sim)
{
	if (!sim_moves_by_rules(sim))
		return 0;
	sim->moves = calloc(sim->workload->task_count + 1, sizeof *sim->moves);
	sim->moving_of = calloc(sim->workload->machine_count + 1, sizeof *sim->moving_of);
	if (!sim->moves || !sim->moving_of)
		return -ENOMEM;
	for (size_t t = 0; t < sim->workload->task_count; t++)
		sim->moves[t].rules = (struct migration_task)MIGRATION_NOT_PROPOSED;
	return 0;
}

void sim_moves_free(struct sim *sim)
{
	free(sim->moves);
	free(sim->moving_of);
}

/* Returns the performance of a task of the job on the machine, and the origin of its round trip to the root. */
static double predict(const struct sim *sim, uint32_t job, int32_t root, int32_t machine, enum latency_origin *origin)
{
	const struct sim_latency *latency = &sim->latency;
	float rtt_us;

	*origin = LATENCY_ORIGIN_MEASURED;
	rtt_us = latency->view ? latency_view_get(latency->view, (uint32_t)root, (uint32_t)machine, origin)
			       : sim_latency_believed_us(latency, (uint32_t)root, (uint32_t)machine);
	return sim_performance_at(sim, sim->jobs[job].curve, (double)rtt_us);
}

static bool is_cut_off(const struct sim *sim, int32_t root, int32_t machine)
{
	return isinf(sim_latency_rtt_us(&sim->latency, (uint32_t)root, (uint32_t)machine));
}

/* True at the hours of the simulated day at which tasks may move. */
static bool moves_are_open(const struct sim *sim)
{
	int64_t minutes = (sim->settings->begin_us + sim->now_us) / 60000000;

	return windows_are_open(&sim->settings->windows,
				&(struct tm){.tm_hour = (int)(minutes / 60 % 24), .tm_min = (int)(minutes % 60)});
}

static struct migration_proposal describe(const struct sim *sim, const struct flownet_move *move, uint32_t task)
{
	const struct migration_settings *settings = &sim->settings->moves;
	const struct sim_task *state = &sim->tasks[task];
	const struct sim_move *known = &sim->moves[task];
	int32_t root = flownet_root_machine(sim->net, move->job), held_to = known->rules.held_to;
	struct migration_proposal proposal = {
		.round = sim->result->rounds + 1,
		.now_s = (double)sim->now_us / 1e6,
		.to = move->to,
		.held_gain = -INFINITY,
		.has_gain = move->task != 0 && root != FLOWNET_NONE,
		.is_fit = true,
		.is_allowed = true,
		.is_closed = !moves_are_open(sim),
		.is_moving = known->is_moving,
		.started_s = known->started_s,
		.came_from = state->moved_from,
		.moved_s = (double)state->moved_us / 1e6,
		.minimum_gain = settings->gain,
		.hold_s = settings->hold_s,
		.restart_s = settings->restart_s,
		.job_limit = (uint32_t)settings->per_job,
		.moving = sim->moving,
		.moving_here = sim->moving_of[move->from],
		.moving_there = sim->moving_of[move->to],
		.moving_of_job = sim->jobs[move->job].moving,
	};
	enum latency_origin unused;
	double here, there;

	if (!proposal.has_gain)
		return proposal;
	here = predict(sim, move->job, root, move->from, &proposal.here);
	there = predict(sim, move->job, root, move->to, &proposal.there);
	proposal.gain = there - here;
	proposal.is_cut_off = is_cut_off(sim, root, move->from);
	proposal.is_fit = !is_cut_off(sim, root, move->to);
	if (known->rules.gain_since_s >= 0 && sim->present[held_to])
		proposal.held_gain = predict(sim, move->job, root, held_to, &unused) - here;
	return proposal;
}

static void count(struct sim *sim, const struct sim_move *move, uint32_t job, uint32_t change)
{
	sim->moving += change;
	sim->jobs[job].moving += change;
	sim->moving_of[move->from] += change;
	sim->moving_of[move->to] += change;
}

/* As an executor of the live scheduler that starts tasks at once. */
static int carry_out(struct sim *sim, const struct flownet_move *move, size_t number)
{
	int code = flownet_reserve(sim->net, number);

	return code == 0 ? flownet_confirm(sim->net, move->job, move->task) : code;
}

static int take(void *context, const struct flownet_move *move, size_t number)
{
	struct sim *sim = context;
	uint32_t task = sim->workload->jobs[move->job].first_task + move->task;
	struct sim_move *known = &sim->moves[task];
	struct migration_proposal proposal;
	double again_s;
	int code;

	if (move->from == FLOWNET_NONE)
		return carry_out(sim, move, number);
	if (move->to == FLOWNET_NONE) {
		migration_refuse_eviction(&known->rules, sim->result->rounds + 1);
	} else {
		proposal = describe(sim, move, task);
		migration_judge(&sim->settings->moves, &known->rules, &proposal, &again_s);
	}
	if (known->rules.refusal != MIGRATION_ALLOWED || sim->settings->moves.mode == MIGRATION_ADVISE) {
		sim->result->refused[known->rules.refusal]++;
		return -EPERM;
	}
	code = carry_out(sim, move, number);
	if (code != 0)
		return code;
	sim->result->refused[MIGRATION_ALLOWED]++;
	known->is_moving = true;
	known->from = move->from;
	known->to = move->to;
	count(sim, known, move->job, 1);
	return 0;
}

/* A task on a machine that its root cannot reach moves before those that only gain. */
static bool is_urgent(void *context, const struct flownet_move *move)
{
	const struct sim *sim = context;
	int32_t root = flownet_root_machine(sim->net, move->job);

	return move->from != FLOWNET_NONE && move->task != 0 && root != FLOWNET_NONE &&
	       is_cut_off(sim, root, move->from);
}

/* True if a running task of the job could gain enough on a machine with the best possible performance, 1. */
static bool could_move(const struct sim *sim, uint32_t number)
{
	const struct workload_job *job = &sim->workload->jobs[number];
	int32_t root = flownet_root_machine(sim->net, number);
	enum latency_origin unused;

	for (uint32_t t = 1; t < job->task_count && root != FLOWNET_NONE; t++) {
		const struct sim_task *task = &sim->tasks[job->first_task + t];

		if (task->state == SIM_TASK_RUNNING &&
		    1 - predict(sim, number, root, task->machine, &unused) >= sim->settings->moves.gain)
			return true;
	}
	return false;
}

int sim_review_moves(struct sim *sim)
{
	int code = 0;

	for (uint32_t a = 0; sim->moves && a < sim->active_count && code == 0; a++) {
		struct sim_job *job = &sim->jobs[sim->active[a]];
		bool moves = could_move(sim, sim->active[a]);

		if (moves != job->in_moves)
			code = flownet_job_moves(sim->net, sim->active[a], moves, sim->settings->moves.gain);
		job->in_moves = moves;
	}
	return code;
}

static bool has_refused(const struct sim *sim, uint32_t number)
{
	const struct workload_job *job = &sim->workload->jobs[number];

	for (uint32_t t = 0; t < job->task_count; t++) {
		const struct migration_task *rules = &sim->moves[job->first_task + t].rules;

		if (rules->round == sim->result->rounds + 1 && rules->refusal != MIGRATION_ALLOWED)
			return true;
	}
	return false;
}

static int hold_refused(void *context, bool hold)
{
	struct sim *sim = context;
	int code = 0;

	for (uint32_t a = 0; a < sim->active_count && code == 0; a++)
		if (sim->jobs[sim->active[a]].in_moves && has_refused(sim, sim->active[a]))
			code = flownet_job_moves(sim->net, sim->active[a], !hold, sim->settings->moves.gain);
	return code;
}

struct round_options sim_round_options(struct sim *sim)
{
	struct round_options options = {
		.context = sim, .one_solve = sim->settings->one_solve, .bound = sim->settings->bound};

	if (sim_moves_by_rules(sim)) {
		options.take = take;
		options.is_urgent = is_urgent;
		options.hold_refused = hold_refused;
	}
	sim_gangs_set(sim, &options);
	return options;
}

void sim_move_started(struct sim *sim, uint32_t task)
{
	if (sim->moves)
		sim->moves[task].started_s = (double)sim->now_us / 1e6;
}

int sim_move_made(struct sim *sim, uint32_t task)
{
	return sim->moves ? event_queue_add(&sim->events, sim->now_us + sim->settings->migration_cost_us, SIM_MOVED,
					    task, 0)
			  : 0;
}

void sim_move_ended(struct sim *sim, uint32_t task)
{
	struct sim_move *known = &sim->moves[task];

	count(sim, known, sim->workload->tasks[task].job, UINT32_MAX); /* - 1 */
	known->is_moving = false;
	sim->changed = true;
}
