/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/dataflow/plan.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/array.h>

/* A gain below this fraction of the sum of all rates counts as a rounding error. */
#define LEAST_GAIN 1e-6

/*
 * A job that is stopped for a while. numbers[]: by flow, the number of its route before the stop; -ENOENT: both tasks
 * are on one host.
 */
struct kept {
	const struct plan_job *job;
	int64_t *numbers;
};

static int64_t kept_route(void *context, uint32_t from, uint32_t to)
{
	const struct kept *kept = context;
	const struct dataflow_graph *graph = kept->job->graph;
	const uint32_t *hosts = kept->job->job->hosts;

	for (uint32_t f = 0; f < graph->flow_count; f++) {
		uint32_t a = hosts[graph->flows[f].from], b = hosts[graph->flows[f].to];

		if ((a == from && b == to) || (a == to && b == from))
			return kept->numbers[f];
	}
	return -ENOENT;
}

static int keep_routes(struct kept *kept, const struct network *network)
{
	const struct dataflow_graph *graph = kept->job->graph;
	const uint32_t *hosts = kept->job->job->hosts;

	kept->numbers = malloc(graph->flow_count * sizeof *kept->numbers + 1);
	for (uint32_t f = 0; kept->numbers && f < graph->flow_count; f++)
		kept->numbers[f] = network_route_of(network, hosts[graph->flows[f].from], hosts[graph->flows[f].to]);
	return kept->numbers ? 0 : -ENOMEM;
}

static void stop_job(struct network *network, const struct dataflow_job *job)
{
	uint32_t count, at = 0;
	const struct network_job *jobs = network_jobs(network, &count);

	while (at < count && jobs[at].job != job)
		at++;
	network_stop(network, at);
}

static int add_move(struct dataflow_advice *advice, size_t *capacity, const struct dataflow_move *move)
{
	struct dataflow_move *moves = array_grow(advice->moves, advice->count, capacity, sizeof *moves);

	if (!moves)
		return -ENOMEM;
	advice->moves = moves;
	moves[advice->count++] = *move;
	return 0;
}

/*
 * Lets the engine choose a new host for one task of a stopped job and the tasks that share its slot; the others stay.
 * Writes the result to *move. gain_MBps is not yet a gain but the sum of all rates after the move; the caller subtracts
 * the sum before the move. At the end, restores the task's old host.
 */
static int try_task(struct dataflow_plan *plan, const struct plan_job *job, uint32_t task, const struct engine *engine,
		    const struct engine_options *options, struct dataflow_move *move, struct error *err)
{
	struct engine_answer answer = {0};
	uint32_t from = job->job->hosts[task];
	int code;

	dataflow_place_slot(job->job, task, DATAFLOW_NOWHERE);
	code = engine_place(engine, plan->network, job->job, job->graph, options, &answer, err);
	*move = (struct dataflow_move){.job = job,
				       .task = task,
				       .from = from,
				       .to = job->job->hosts[task],
				       .gain_MBps = answer.all_MBps,
				       .own_gain_MBps = answer.own_MBps - job->total_MBps};
	dataflow_place_slot(job->job, task, from);
	engine_answer_clear(&answer);
	return code;
}

static int advise_job(struct dataflow_plan *plan, const struct plan_job *job, const struct engine *engine,
		      const struct engine_options *options, struct dataflow_advice *advice, size_t *capacity,
		      struct error *err)
{
	struct kept kept = {.job = job};
	double all_MBps = 0;
	int code = keep_routes(&kept, plan->network), started;

	if (code < 0)
		return error_set(err, ENOMEM, "out of memory");
	for (uint32_t j = 0; j < plan->job_count; j++)
		all_MBps += plan->jobs[j].total_MBps;
	stop_job(plan->network, job->job);
	for (uint32_t t = 0; t < job->job->task_count && code == 0; t++) {
		struct dataflow_move move;

		if (dataflow_slot_leader(job->job, t) != t)
			continue;
		code = try_task(plan, job, t, engine, options, &move, err);
		move.gain_MBps -= all_MBps;
		if (code == 0 && move.to != move.from && move.gain_MBps > LEAST_GAIN * all_MBps &&
		    add_move(advice, capacity, &move) < 0)
			code = error_set(err, ENOMEM, "out of memory");
	}
	started = network_start(plan->network, job->job, job->graph, kept_route, &kept, code == 0 ? err : NULL);
	free(kept.numbers);
	return code < 0 ? code : started;
}

static int compare_moves(const void *a, const void *b)
{
	const struct dataflow_move *left = a, *right = b;

	if (left->gain_MBps != right->gain_MBps)
		return left->gain_MBps > right->gain_MBps ? -1 : 1;
	if (left->job != right->job)
		return left->job < right->job ? -1 : 1;
	return (left->task > right->task) - (left->task < right->task);
}

int dataflow_advise(struct dataflow_plan *plan, const struct engine *engine, const struct engine_options *options,
		    struct dataflow_advice *advice, struct error *err)
{
	size_t capacity = 0;
	int code = 0;

	*advice = (struct dataflow_advice){0};
	for (uint32_t j = 0; j < plan->job_count && code == 0; j++)
		if (!plan->jobs[j].placed_here)
			code = advise_job(plan, &plan->jobs[j], engine, options, advice, &capacity, err);
	if (advice->count > 0)
		qsort(advice->moves, advice->count, sizeof *advice->moves, compare_moves);
	return code;
}

void dataflow_advice_clear(struct dataflow_advice *advice)
{
	free(advice->moves);
	*advice = (struct dataflow_advice){0};
}
