/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/dataflow/plan.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_placed(const struct dataflow_job *job)
{
	for (uint32_t t = 0; t < job->task_count; t++)
		if (job->hosts[t] == DATAFLOW_NOWHERE)
			return false;
	return true;
}

/*
 * Places and starts one job. If all its tasks have hosts, because it was already running, the engine chooses only
 * routes.
 */
static int start_job(struct network *network, struct plan_job *job, const struct engine *engine,
		     const struct engine_options *options, struct error *err)
{
	struct engine_answer answer;
	struct ns start = options->now ? options->now() : (struct ns){0};
	int code = engine_place(engine, network, job->job, job->graph, options, &answer, err);

	if (code == 0)
		code = engine_start(network, job->job, job->graph, &answer, err);
	job->evaluations = answer.evaluations;
	if (options->now)
		job->seconds = ns_to_s(ns_sub(options->now(), start));
	engine_answer_clear(&answer);
	return code;
}

/* First starts the jobs that were already running, then places the others. */
static int start_jobs(struct dataflow_plan *plan, const struct engine *engine, const struct engine_options *options,
		      struct error *err)
{
	struct engine_options of_job = *options;
	int code = 0;

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t j = 0; j < plan->job_count && code == 0; j++) {
			of_job.seed = options->seed + j;
			if (plan->jobs[j].placed_here == (pass == 1))
				code = start_job(plan->network, &plan->jobs[j], engine, &of_job, err);
		}
	return code;
}

int dataflow_plan_read_rates(struct dataflow_plan *plan)
{
	uint32_t sources = network_source_count(plan->network), at = 0;
	double *rate = malloc(sources * sizeof *rate + 1);
	uint32_t *bottleneck = malloc(sources * sizeof *bottleneck + 1);
	int code = rate && bottleneck ? network_rates(plan->network, rate, bottleneck) : -ENOMEM;

	for (int pass = 0; pass < 2 && code >= 0; pass++)
		for (uint32_t j = 0; j < plan->job_count; j++) {
			struct plan_job *job = &plan->jobs[j];

			if (job->placed_here != (pass == 1))
				continue;
			job->total_MBps = 0;
			for (uint32_t s = 0; s < job->graph->source_count; s++, at++) {
				job->MBps[s] = rate[at];
				job->bottleneck[s] = bottleneck[at];
				job->total_MBps += job->MBps[s];
			}
		}
	free(rate);
	free(bottleneck);
	return code < 0 ? code : 0;
}

static int make_job(struct plan_job *to, struct dataflow_job *job, struct error *err)
{
	to->job = job;
	to->placed_here = !is_placed(job);
	to->random_MBps = NAN;
	to->graph = dataflow_graph_create(job, err);
	if (!to->graph)
		return error_code(err, EINVAL);
	to->MBps = calloc(to->graph->source_count + 1, sizeof *to->MBps);
	to->bottleneck = calloc(to->graph->source_count + 1, sizeof *to->bottleneck);
	return to->MBps && to->bottleneck ? 0 : error_set(err, ENOMEM, "out of memory");
}

static struct dataflow_plan *make_plan(struct dataflow *dataflow, const struct topology_paths_options *paths,
				       struct error *err)
{
	struct dataflow_plan *plan = calloc(1, sizeof *plan);

	if (plan)
		plan->jobs = calloc(dataflow->job_count, sizeof *plan->jobs);
	if (!plan || !plan->jobs) {
		error_set(err, ENOMEM, "out of memory");
		dataflow_plan_destroy(plan);
		return NULL;
	}
	plan->network = network_create(dataflow->topology, dataflow->slots, dataflow->cpu, paths, err);
	for (uint32_t j = 0; plan->network && j < dataflow->job_count; j++) {
		plan->job_count++;
		if (make_job(&plan->jobs[j], &dataflow->jobs[j], err) < 0) {
			dataflow_plan_destroy(plan);
			return NULL;
		}
	}
	if (plan->network)
		return plan;
	dataflow_plan_destroy(plan);
	return NULL;
}

static void stop_jobs(struct dataflow_plan *plan)
{
	uint32_t count;

	for (network_jobs(plan->network, &count); count > 0; count--)
		network_stop(plan->network, count - 1);
}

void dataflow_plan_forget(struct dataflow_plan *plan)
{
	uint32_t at = 0;

	for (uint32_t j = 0; j < plan->job_count; j++)
		for (uint32_t t = 0; t < plan->jobs[j].job->task_count; t++, at++)
			if (plan->waiting[at])
				plan->jobs[j].job->hosts[t] = DATAFLOW_NOWHERE;
}

/*
 * The first random placement of all jobs is taken to need this many times as long as the expansion of their graphs. A
 * job of 1,000 x 1,000 tasks with a deadline of 1 s then ends after 1.9 s, instead of 3.6 s without this estimate.
 */
enum { RUN_PER_EXPANSION = 5 };

/* The time for random placements: until `until`, no limit if it is 0. longest: how long a run takes. */
struct random_time {
	struct ns until, began, longest;
};

/*
 * Half of the time from now to the deadline is for the random placements, the other half for the search. start: when
 * the expansion of the graphs began.
 */
static struct random_time random_time(const struct engine_options *options, struct ns start)
{
	struct random_time time = {0};

	if (!options->now || options->deadline.v == 0)
		return time;
	time.began = options->now();
	time.until.v = time.began.v + (options->deadline.v - time.began.v) / 2;
	time.longest.v = RUN_PER_EXPANSION * (time.began.v - start.v);
	return time;
}

/* Returns true if another run is likely to end in time. ran: a run has ended since the last call. */
static bool has_time(struct random_time *time, const struct engine_options *options, bool ran)
{
	struct ns now;

	if (time->until.v == 0)
		return true;
	now = options->now();
	if (ran)
		time->longest = ns_sub(now, time->began);
	time->began = now;
	return now.v + time->longest.v < time->until.v;
}

/*
 * Sets random_MBps of each job, the mean of `runs` random placements; of fewer, or none, if there is no time for them
 * before the deadline.
 */
static int expect_random(struct dataflow_plan *plan, const struct engine_options *options, uint32_t runs,
			 struct ns start, struct error *err)
{
	struct engine_options of_run = *options;
	struct random_time time = random_time(options, start);
	double *sum = calloc(plan->job_count, sizeof *sum);
	uint32_t run = 0;
	int code = 0;

	if (!sum)
		return error_set(err, ENOMEM, "out of memory");
	while (code == 0 && run < runs && has_time(&time, options, run > 0)) {
		of_run.seed = options->seed + (uint64_t)run * plan->job_count;
		code = start_jobs(plan, engine_find("random"), &of_run, err);
		if (code == 0 && dataflow_plan_read_rates(plan) < 0)
			code = error_set(err, ENOMEM, "out of memory");
		for (uint32_t j = 0; j < plan->job_count && code == 0; j++)
			sum[j] += plan->jobs[j].total_MBps;
		stop_jobs(plan);
		dataflow_plan_forget(plan);
		run++;
	}
	for (uint32_t j = 0; j < plan->job_count && code == 0 && run > 0; j++)
		plan->jobs[j].random_MBps = sum[j] / run;
	free(sum);
	return code;
}

static bool *list_waiting(const struct dataflow_plan *plan)
{
	size_t tasks = 0, at = 0;
	bool *waiting;

	for (uint32_t j = 0; j < plan->job_count; j++)
		tasks += plan->jobs[j].job->task_count;
	waiting = malloc(tasks * sizeof *waiting + 1);
	for (uint32_t j = 0; waiting && j < plan->job_count; j++)
		for (uint32_t t = 0; t < plan->jobs[j].job->task_count; t++)
			waiting[at++] = plan->jobs[j].job->hosts[t] == DATAFLOW_NOWHERE;
	return waiting;
}

struct dataflow_plan *dataflow_plan_create(struct dataflow *dataflow, const struct engine *engine,
					   const struct engine_options *options,
					   const struct topology_paths_options *paths, uint32_t random_runs,
					   struct error *err)
{
	struct ns start = options->now ? options->now() : (struct ns){0};
	struct dataflow_plan *plan = make_plan(dataflow, paths, err);
	int code = 0;

	if (!plan)
		return NULL;
	plan->waiting = list_waiting(plan);
	if (!plan->waiting)
		code = error_set(err, ENOMEM, "out of memory");
	if (code == 0 && random_runs > 0)
		code = expect_random(plan, options, random_runs, start, err);
	if (code == 0)
		code = start_jobs(plan, engine, options, err);
	if (code == 0 && dataflow_plan_read_rates(plan) < 0)
		code = error_set(err, ENOMEM, "out of memory");
	if (code == 0)
		return plan;
	dataflow_plan_destroy(plan);
	return NULL;
}

void dataflow_plan_destroy(struct dataflow_plan *plan)
{
	if (!plan)
		return;
	for (uint32_t j = 0; j < plan->job_count; j++) {
		dataflow_graph_destroy(plan->jobs[j].graph);
		free(plan->jobs[j].MBps);
		free(plan->jobs[j].bottleneck);
	}
	free(plan->jobs);
	free(plan->waiting);
	network_destroy(plan->network);
	free(plan);
}
