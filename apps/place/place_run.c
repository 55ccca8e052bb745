/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds. "One round" is two solves: roots that wait alone, then, with their places known, the others (NoMora 5.2).
 */
#include "place.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/file.h>
#include <base/log.h>

static int64_t count_free(const struct place_world *world)
{
	int64_t slots = 0;

	for (uint32_t m = 0; m < world->cluster->machine_count; m++)
		slots += flownet_free(placer_net(world->placer), m);
	return slots;
}

static int write_dimacs(const struct place_world *world, const struct flownet_network *network, const int32_t *flow,
			FILE *out)
{
	struct flownet_names names = place_names(world);

	(void)flow;
	return flownet_network_write_dimacs(network, placer_net(world->placer), &names, out);
}

static int write_drawing(const struct place_world *world, const struct flownet_network *network, const int32_t *flow,
			 FILE *out)
{
	struct flownet_names names = place_names(world);
	const char *ending = strrchr(world->settings->draw, '.');
	bool json = ending && strcasecmp(ending, ".json") == 0;

	return (json ? flownet_network_write_json : flownet_network_write_dot)(network, placer_net(world->placer),
									       &names, flow, out);
}

/* A whole file, or none. What a bad stream has to say the commit tells. */
static int write_file(const struct place_world *world, const struct flownet_network *network, const int32_t *flow,
		      const char *path,
		      int (*write)(const struct place_world *, const struct flownet_network *, const int32_t *, FILE *),
		      struct error *err)
{
	struct file_writer *writer = file_writer_open(path, err);
	int code;

	if (!writer)
		return -(err->code ? err->code : EIO);
	code = write(world, network, flow, file_writer_stream(writer));
	if (code == 0 || code == -EIO)
		return file_writer_commit(writer, err);
	file_writer_discard(writer);
	return error_set(err, -code, "cannot write %s: %s", path, strerror(-code));
}

/* Writes what --dump-dimacs and --draw ask for. `network` is as it was before the solve, the tasks are where they are
 * now: that is the flow. */
static int write_network(const struct place_world *world, const struct flownet_network *network, struct error *err)
{
	const struct place_settings *settings = world->settings;
	int32_t *flow = calloc((size_t)network->problem.arc_count + 1, sizeof *flow);
	int code = flow ? flownet_network_route(network, placer_net(world->placer), flow) : -ENOMEM;

	if (code != 0)
		error_set(err, -code, "out of memory");
	if (code == 0 && settings->dump_dimacs)
		code = write_file(world, network, flow, settings->dump_dimacs, write_dimacs, err);
	if (code == 0 && settings->draw)
		code = write_file(world, network, flow, settings->draw, write_drawing, err);
	free(flow);
	return code;
}

static void note_moves(struct place_outcome *outcome, const struct flownet_round *round, const size_t *first_of_job)
{
	for (size_t i = 0; i < round->move_count; i++) {
		const struct flownet_move *move = &round->moves[i];
		struct place_task *task = &outcome->tasks[first_of_job[move->job] + move->task];

		task->arc = move->arc;
		task->arc_cost = move->cost;
	}
}

static int solve_once(struct place_world *world, struct place_outcome *outcome, const size_t *first_of_job,
		      struct error *err)
{
	int code = flownet_solve(placer_net(world->placer), &outcome->last, err);

	if (code != 0)
		return code;
	note_moves(outcome, &outcome->last, first_of_job);
	outcome->solves++;
	outcome->seconds += outcome->last.apply_s + outcome->last.solve_s + outcome->last.extract_s;
	return 0;
}

static bool a_root_waits(const struct place_world *world)
{
	const struct flownet *net = placer_net(world->placer);

	for (uint32_t j = 0; world->policy->root_first && j < world->jobs->count; j++) {
		if (flownet_root_machine(net, j) == FLOWNET_NONE)
			return true;
	}
	return false;
}

static int hold_others(struct place_world *world, bool held, struct error *err)
{
	int code = flownet_hold_others(placer_net(world->placer), held);

	return code == 0 ? 0 : error_set(err, -code, "out of memory");
}

/* Roots alone: where they are decides what the others cost. With preemption, tasks that make room for one move too. */
static int place_roots(struct place_world *world, struct place_outcome *outcome, const size_t *first_of_job,
		       struct error *err)
{
	int code = hold_others(world, true, err);

	if (code == 0)
		code = solve_once(world, outcome, first_of_job, err);
	for (size_t i = 0; i < outcome->last.move_count && code == 0; i++)
		outcome->roots_placed += outcome->last.moves[i].to != FLOWNET_NONE;
	return code == 0 ? hold_others(world, false, err) : code;
}

/* Arcs are those of the round that is explained. */
static void forget_moves(struct place_outcome *outcome)
{
	for (size_t i = 0; i < outcome->task_count; i++)
		outcome->tasks[i].arc = FLOWNET_ARC_NONE;
}

static void note_capped(const struct place_world *world, struct place_outcome *outcome)
{
	double longest_s;
	uint64_t tasks = flownet_capped_tasks(placer_net(world->placer), &longest_s);

	if (tasks < outcome->capped_tasks)
		return;
	outcome->capped_tasks = tasks;
	outcome->longest_wait_s = longest_s;
}

static void warn_of_capped(const struct place_world *world, const struct place_outcome *outcome)
{
	double enough = FLOWNET_TIME_COST_MAXIMUM / outcome->longest_wait_s, digit;

	if (outcome->capped_tasks == 0)
		return;
	digit = pow(10, floor(log10(enough)) - 1); /* two of them are shown, rounded down */
	progress_clear(world->progress);
	log_warning(
		"--omega-per-s %g: waiting adds %d to a task's cost at most, which %llu of those that wait reach (the "
		"longest wait is %g s): nothing tells them apart any more. Expected --omega-per-s %g or less",
		world->settings->omega_per_s, FLOWNET_TIME_COST_MAXIMUM, (unsigned long long)outcome->capped_tasks,
		outcome->longest_wait_s, floor(enough / digit) * digit);
}

/* One round. The last one's second solve is the one that is drawn and compared with random. */
static int run_round(struct place_world *world, struct place_outcome *outcome, const size_t *first_of_job, bool last,
		     struct error *err)
{
	bool writes_network = last && (world->settings->dump_dimacs || world->settings->draw);
	/* What a unit without a way costs depends on all of the network. */
	bool wants_network = writes_network || (last && world->settings->unscheduled_capacity > 0);
	struct flownet_network network = {0};
	int64_t pinned_cost = 0;
	int code = 0;

	outcome->roots_placed = outcome->others_placed = 0;
	forget_moves(outcome);
	note_capped(world, outcome);
	progress_update(world->progress, 2, "placing roots");
	if (a_root_waits(world))
		code = place_roots(world, outcome, first_of_job, err);
	progress_update(world->progress, 3, "placing the others");
	if (code == 0 && wants_network)
		code = flownet_network_build(placer_net(world->placer), &network, err);
	if (code == 0 && last && place_explain_before(world, outcome) != 0)
		code = error_set(err, ENOMEM, "out of memory");
	if (last)
		pinned_cost = flownet_pinned_cost(placer_net(world->placer)); /* not of those that the solve places */
	if (code == 0)
		code = solve_once(world, outcome, first_of_job, err);
	outcome->cost = outcome->last.cost + pinned_cost + outcome->last.unrouted * network.overflow_cost;
	outcome->others_placed = (int64_t)outcome->last.move_count;
	outcome->last.moves = NULL;
	if (code == 0 && writes_network)
		code = write_network(world, &network, err);
	flownet_network_free(&network);
	return code;
}

static int list_tasks(const struct place_world *world, struct place_outcome *outcome, size_t *first_of_job)
{
	size_t count = 0;

	for (size_t j = 0; j < world->jobs->count; j++)
		count += world->jobs->items[j].task_count;
	outcome->tasks = calloc(count + 1, sizeof *outcome->tasks);
	if (!outcome->tasks)
		return -ENOMEM;
	for (uint32_t j = 0; j < world->jobs->count; j++) {
		first_of_job[j] = outcome->task_count;
		for (uint32_t t = 0; t < world->jobs->items[j].task_count; t++) {
			outcome->tasks[outcome->task_count++] = (struct place_task){
				.job = j,
				.task = t,
				.from = world->jobs->items[j].tasks[t].machine,
				.arc = FLOWNET_ARC_NONE,
				.random_performance = NAN,
			};
		}
	}
	return 0;
}

int place_run(struct place_world *world, struct place_outcome *outcome, struct error *err)
{
	const struct place_settings *settings = world->settings;
	size_t *first_of_job = calloc(world->jobs->count + 1, sizeof *first_of_job);
	int code = first_of_job ? 0 : -ENOMEM;

	*outcome = (struct place_outcome){0};
	if (code == 0)
		code = list_tasks(world, outcome, first_of_job);
	if (code != 0) {
		free(first_of_job);
		return error_set(err, ENOMEM, "out of memory");
	}
	outcome->slots = cluster_slots(world->cluster);
	outcome->free_before = count_free(world);
	for (int64_t round = 1; round <= settings->rounds && code == 0; round++) {
		if (round > 1)
			flownet_time_passed(placer_net(world->placer), settings->round_s);
		code = run_round(world, outcome, first_of_job, round == settings->rounds, err);
		if (code == 0 && round == 1 && settings->rounds > 1 && flownet_prepare(placer_net(world->placer)) != 0)
			code = error_set(err, ENOMEM, "out of memory");
	}
	free(first_of_job);
	if (code == 0)
		warn_of_capped(world, outcome);
	if (code == 0 && place_explain_after(world, outcome) != 0)
		code = error_set(err, ENOMEM, "out of memory");
	return code;
}

void place_outcome_free(struct place_outcome *outcome)
{
	free(outcome->tasks);
	free(outcome->free_slots);
	free(outcome->root_known);
	*outcome = (struct place_outcome){0};
}
