/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints: records the rounds in the history; a resumed run repeats the recorded rounds up to the last checkpoint.
 */
#include <errno.h>
#include <stdlib.h>

#include <base/array.h>
#include <base/hash.h>

#include "sim_priv.h"

int sim_history_add_round(struct sim_history *history, const struct sim_past_round *round)
{
	struct sim_past_round *rounds =
		array_grow(history->rounds, history->round_count, &history->round_capacity, sizeof *rounds);

	if (!rounds)
		return -ENOMEM;
	history->rounds = rounds;
	rounds[history->round_count++] = *round;
	return 0;
}

int sim_history_add_move(struct sim_history *history, const struct sim_past_move *move)
{
	struct sim_past_move *moves =
		array_grow(history->moves, history->move_count, &history->move_capacity, sizeof *moves);

	if (!moves)
		return -ENOMEM;
	history->moves = moves;
	moves[history->move_count++] = *move;
	return 0;
}

void sim_history_free(struct sim_history *history)
{
	free(history->rounds);
	free(history->moves);
	*history = (struct sim_history){0};
}

int sim_remember_round(struct sim *sim, struct error *err)
{
	const struct round_outcome *outcome = &sim->outcome;
	struct sim_past_round round = {.wall_s = outcome->seconds,
				       .cpu_s = sim->round_cpu_s,
				       .solves = outcome->solves,
				       .scans = outcome->scans,
				       .moves = outcome->move_count};
	int code = sim_history_add_round(sim->watch->history, &round);

	for (size_t i = 0; i < outcome->move_count && code == 0; i++) {
		const struct flownet_move *move = &outcome->moves[i];

		code = sim_history_add_move(sim->watch->history,
					    &(struct sim_past_move){move->job, move->task, move->to});
	}
	return code == 0 ? 0 : error_set(err, ENOMEM, "out of memory");
}

static int does_not_fit(const struct sim *sim, struct error *err)
{
	return error_set(err, EINVAL, "the checkpoint does not fit the workload in its round %zu, at %.6f s",
			 sim->past_round, (double)sim->now_us / 1e6);
}

/*
 * True if the move's task has arrived and not ended, and the machine to which it moves, if any, is present.
 * apply_move() checks later that a preempted task runs, because an earlier move of the same round may start it.
 */
static bool move_fits(const struct sim *sim, const struct sim_past_move *move)
{
	int64_t machines = (int64_t)sim->workload->machine_count;
	const struct workload_job *job;
	const struct sim_task *task;

	if (move->job >= sim->workload->job_count || move->task >= sim->workload->jobs[move->job].task_count ||
	    move->to < SIM_NONE || move->to >= machines)
		return false;
	job = &sim->workload->jobs[move->job];
	task = &sim->tasks[job->first_task + move->task];
	if (move->to != SIM_NONE && !sim->present[move->to])
		return false;
	return task->state == SIM_TASK_WAITING || task->state == SIM_TASK_RUNNING;
}

int sim_recall_round(struct sim *sim, struct error *err)
{
	const struct sim_history *history = sim->watch->history;
	struct round_outcome *outcome = &sim->outcome;
	const struct sim_past_round *round;
	struct flownet_move *moves;

	if (sim->past_round == history->round_count)
		return does_not_fit(sim, err);
	round = &history->rounds[sim->past_round];
	if (round->moves > history->move_count - sim->past_move)
		return does_not_fit(sim, err);
	moves = array_reserve(outcome->moves, round->moves + 1, &outcome->move_capacity, sizeof *moves);
	if (!moves)
		return error_set(err, ENOMEM, "out of memory");
	outcome->moves = moves;
	outcome->move_count = round->moves;
	outcome->solves = round->solves;
	outcome->scans = round->scans;
	outcome->seconds = round->wall_s;
	sim->round_cpu_s = round->cpu_s;
	for (size_t i = 0; i < round->moves; i++) {
		const struct sim_past_move *move = &history->moves[sim->past_move + i];

		if (!move_fits(sim, move))
			return does_not_fit(sim, err);
		moves[i] = (struct flownet_move){.job = move->job, .task = move->task, .to = move->to};
	}
	sim->past_move += round->moves;
	sim->past_round++;
	return 0;
}

/*
 * Restores a root that has ended. The root's machine remains the reference for the job, even if the machine has been
 * removed since.
 */
static int restore_ended_root(struct sim *sim, uint32_t job)
{
	uint32_t machine = (uint32_t)sim->jobs[job].root_machine;
	bool gone = !sim->present[machine];
	int code = gone ? flownet_machine_added(sim->net, machine, 1) : 0;

	if (code == 0)
		code = flownet_task_found(sim->net, job, 0, machine, 0);
	if (code == 0)
		code = flownet_task_ended(sim->net, job, 0);
	return code == 0 && gone ? flownet_machine_removed(sim->net, machine) : code;
}

static int restore_task(struct sim *sim, uint32_t job, uint32_t number)
{
	const struct sim_task *task = &sim->tasks[sim->workload->jobs[job].first_task + number];
	double since_s = (double)(sim->now_us - task->started_us) / 1e6;

	if (task->state == SIM_TASK_WAITING && sim_waits_for_gang(sim, job))
		return 0;
	if (task->state == SIM_TASK_WAITING)
		return flownet_task_arrived(sim->net, job, number, since_s);
	if (task->state == SIM_TASK_RUNNING)
		return flownet_task_found(sim->net, job, number, (uint32_t)task->machine, since_s);
	if (task->state == SIM_TASK_DONE && number == 0 && sim->jobs[job].root_machine != SIM_NONE)
		return restore_ended_root(sim, job);
	return 0;
}

static int restore_job(struct sim *sim, uint32_t job)
{
	int code = placer_job_arrived(sim->placer, job, (int32_t)sim->jobs[job].curve, 0,
				      sim->workload->jobs[job].task_count);

	sim_graph_to_net(sim, job);
	sim->jobs[job].in_moves = false;
	for (uint32_t t = 0; t < sim->workload->jobs[job].task_count && code == 0; t++)
		code = restore_task(sim, job, t);
	if (code == 0)
		code = flownet_job_expects(sim->net, job, sim->workload->jobs[job].task_count - sim->jobs[job].done);
	return code;
}

/*
 * Rebuilds the placer and the flow network from the simulation's own state, with a new random seed at each checkpoint.
 */
static int restore_net(struct sim *sim, struct error *err)
{
	int code = sim_create_placer(sim, hash_mix(sim->settings->seed ^ hash_mix(sim->checkpoints)), err);

	if (code != 0)
		return code;
	for (uint32_t m = 0; m < sim->cluster->machine_count && code == 0; m++) {
		if (sim->present[m])
			code = flownet_machine_added(sim->net, m, sim->slots[m]);
	}
	for (uint32_t a = 0; a < sim->active_count && code == 0; a++)
		code = restore_job(sim, sim->active[a]);
	if (code == 0)
		code = sim_gangs_restore(sim);
	if (code != 0)
		return error_set(err, -code, "checkpoint of %.6f s: the flow network cannot be built",
				 (double)sim->now_us / 1e6);
	sim->net_time_us = sim->now_us;
	sim->latencies_moved = false;
	if (sim->latency.view)
		latency_view_moved_clear(sim->latency.view);
	return 0;
}

bool sim_checkpoint_is_due(const struct sim *sim)
{
	return sim->watch->history && !sim->in_round && sim->now_us >= sim->next_checkpoint_us;
}

int sim_checkpoint(struct sim *sim, struct error *err)
{
	struct sim_history *history = sim->watch->history;
	bool recalled = !sim->net;
	int code;

	while (sim->next_checkpoint_us <= sim->now_us)
		sim->next_checkpoint_us += sim->settings->checkpoint_us;
	sim->checkpoints++;
	if (recalled && sim->checkpoints < history->checkpoints)
		return 0;
	if (recalled && (sim->past_round != history->round_count || sim->past_move != history->move_count))
		return does_not_fit(sim, err);
	code = restore_net(sim, err);
	if (code != 0 || recalled)
		return code;
	history->checkpoints = sim->checkpoints;
	return sim->watch->checkpoint(sim->watch->checkpoint_context, history, err);
}

int sim_end_of_history(const struct sim *sim, struct error *err)
{
	return sim->net ? 0 : does_not_fit(sim, err);
}
