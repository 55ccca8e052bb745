/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora dataflow: places the tasks of dataflow jobs and chooses the routes of their data. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <base/json.h>
#include <base/ns.h>
#include <model/worker.h>
#include <sched/dataflow/bound.h>

#include "../command.h"
#include "../commands.h"
#include "dataflow.h"

enum { ENGINES_MOST = 16 };

static const char teach[] =
	"FILE is a scenario (nomora.dataflow/1, man nomora-dataflow), - is stdin:\n"
	"  {\"schema\": \"nomora.dataflow/1\", \"topology\": \"fattree:4\", \"MBps\": 100, \"slots\": 2,\n"
	"   \"jobs\": [{\"name\": \"count\",\n"
	"     \"components\": [{\"name\": \"words\", \"tasks\": 2}, {\"name\": \"sum\", \"tasks\": 4}],\n"
	"     \"edges\": [{\"from\": \"words\", \"to\": \"sum\", \"grouping\": \"key\"}]}]}\n"
	"\n"
	"'run' runs the jobs on a routed lab: routes, a process for each task, new routes around links that fail. "
	"'worker' is one "
	"such process.\n"
	"Exit status: 0 placed, 1 the file is bad, 2 usage, 3 no placement: too few slots, or hosts that are not "
	"connected.\n";

struct engine_options dataflow_engine_options(const struct dataflow_settings *settings)
{
	struct engine_options options = engine_defaults();

	options.seed = (uint64_t)settings->seed;
	options.evaluations = (uint32_t)settings->evaluations;
	options.starts = (uint32_t)settings->starts;
	options.local_MBps = settings->local_MBps;
	options.temperature = settings->temperature;
	options.steps = (uint32_t)settings->steps;
	options.route_steps = (uint32_t)settings->route_steps;
	options.repeats = (uint32_t)settings->repeats;
	options.direct = settings->direct;
	options.latency = settings->latency;
	options.now = ns_now_monotonic;
	if (settings->deadline_ms > 0)
		options.deadline = ns_add(ns_now_monotonic(), ns_from_us(settings->deadline_ms * 1e3));
	return options;
}

struct paths_options dataflow_paths_options(const struct dataflow_settings *settings)
{
	return (struct paths_options){
		.k = (uint32_t)settings->k, .detour = (uint32_t)settings->detour, .seed = (uint64_t)settings->seed};
}

static struct dataflow_plan *make_plan(const struct dataflow_settings *settings, struct dataflow *dataflow,
				       const char *engine, uint32_t random_runs, struct error *err)
{
	struct engine_options options = dataflow_engine_options(settings);
	struct paths_options paths = dataflow_paths_options(settings);

	return dataflow_plan_create(dataflow, engine_find(engine), &options, &paths, random_runs, err);
}

int dataflow_fail(const struct error *err)
{
	return command_fail(err, err->code == ENOSPC || err->code == EHOSTUNREACH ? COMMAND_NEGATIVE : COMMAND_FAILED);
}

/* One line per engine. */
static int compare(const struct dataflow_settings *settings, struct dataflow *dataflow)
{
	printf("%-12s %12s %12s %12s %10s\n", "ENGINE", "SUM MB/s", "MEAN MB/s", "WORST MB/s", "MS A JOB");
	for (size_t e = 0; engine_name(e); e++) {
		struct error err = {0};
		struct dataflow_plan *plan = make_plan(settings, dataflow, engine_name(e), 0, &err);
		double sum = 0, worst = INFINITY, seconds = 0;
		uint32_t jobs = plan ? plan->job_count : 0;

		if (!plan)
			return dataflow_fail(&err);
		for (uint32_t j = 0; j < jobs; j++) {
			sum += plan->jobs[j].total_MBps;
			worst = fmin(worst, plan->jobs[j].total_MBps);
			seconds += plan->jobs[j].seconds;
		}
		printf("%-12s %12.2f %12.2f %12.2f %10.2f\n", engine_name(e), sum, sum / jobs, worst,
		       1e3 * seconds / jobs);
		dataflow_plan_forget(plan);
		dataflow_plan_destroy(plan);
	}
	return COMMAND_OK;
}

/* The jobs that were running, and the moves that would raise the rates. */
static int advise(const struct dataflow_settings *settings, struct dataflow_plan *plan, const char *engine,
		  struct dataflow_advice *advice, struct error *err)
{
	struct engine_options options = dataflow_engine_options(settings);

	*advice = (struct dataflow_advice){0};
	return settings->advise_moves ? dataflow_advise(plan, engine_find(engine), &options, advice, err) : 0;
}

static int run(const struct dataflow_settings *settings, struct dataflow *dataflow)
{
	struct error err = {0};
	struct dataflow_advice advice = {0};
	const char *engine = engine_name((size_t)settings->engine);
	struct dataflow_plan *plan = make_plan(settings, dataflow, engine, (uint32_t)settings->random_runs, &err);
	double bound_MBps = NAN;
	int code = COMMAND_OK;

	if (!plan || (settings->bound && dataflow_bound(plan->network, settings->local_MBps, &bound_MBps, &err) < 0)) {
		code = dataflow_fail(&err);
	} else if (settings->plot && dataflow_plot(plan, engine, settings->plot, &err) < 0) {
		code = command_fail(&err, COMMAND_FAILED);
	} else if (advise(settings, plan, engine, &advice, &err) < 0) {
		code = dataflow_fail(&err);
	} else if (settings->run) {
		code = dataflow_run(settings, dataflow, plan, &err) < 0 ? dataflow_fail(&err) : COMMAND_OK;
	} else if (settings->apply) {
		code = dataflow_apply(settings, plan, &err) < 0 ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
	} else if (!settings->json) {
		dataflow_print_plan(settings, plan, &advice, bound_MBps);
	} else if (dataflow_print_plan_json(settings, plan, &advice, bound_MBps) < 0) {
		error_set(&err, ENOMEM, "out of memory");
		code = command_fail(&err, COMMAND_FAILED);
	}
	dataflow_advice_clear(&advice);
	dataflow_plan_destroy(plan);
	if (code == COMMAND_OK && command_flush(&err) < 0)
		code = command_fail(&err, COMMAND_FAILED);
	return code;
}

static int write_scenario(const struct dataflow *dataflow, const char *path)
{
	struct error err = {0};
	json_t *json = dataflow_to_json(dataflow);
	int code = json ? json_write_file(path, json, &err) : error_set(&err, ENOMEM, "out of memory");

	json_decref(json);
	return code < 0 ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
}

static int load_and_run(struct dataflow_settings *settings, const char *path)
{
	struct error err = {0};
	struct dataflow *dataflow = dataflow_load(settings, path, &err);
	int code;

	if (!dataflow && strncmp(err.text, "--", 2) == 0)
		return command_fail(&err, COMMAND_USAGE);
	if (!dataflow)
		return dataflow_fail(&err);
	if (settings->latency_file)
		settings->latency = dataflow_open_latency(settings, dataflow, &err);
	if (settings->latency_file && !settings->latency)
		code = command_fail(&err, COMMAND_FAILED);
	else if (settings->scenario)
		code = write_scenario(dataflow, settings->scenario);
	else if (settings->simulate)
		code = dataflow_run_simulation(settings, dataflow);
	else
		code = settings->compare ? compare(settings, dataflow) : run(settings, dataflow);
	dataflow_latency_close(settings->latency);
	dataflow_destroy(dataflow);
	return code;
}

static const char *const experiments[] = {"storm", "hadoop", "failures", "runtime", "scale", NULL};
static const char *engine_names[ENGINES_MOST + 1]; /* listed at the start */

static const char *const route_names[] = {"netlink", "ports", NULL};

static const struct option_row rows[] = {
	OPTION_CHOICE(struct dataflow_settings, engine, "engine", 'e', "NAME", engine_names, "how to place"),
	OPTION_INTEGER(struct dataflow_settings, seed, "seed", 's', "N", 0, INT32_MAX, "of all random choices"),
	OPTION_INTEGER(struct dataflow_settings, k, "k", 'k', "N", 1, PATHS_K_MAXIMUM,
		       "candidate routes per pair of switches"),
	OPTION_INTEGER(struct dataflow_settings, detour, "detour", 0, "LINKS", 0, PATHS_LINKS_MAXIMUM - 1,
		       "candidate routes are at most this much longer than the shortest"),
	OPTION_INTEGER(struct dataflow_settings, random_runs, "random-runs", 0, "N", 0, 10000,
		       "random placements for the expectation beside each job's rate"),
	OPTION_FLAG(struct dataflow_settings, bound, "bound", 'b',
		    "an upper bound on the sum of the rates where the tasks are, by linear programming"),
	OPTION_STRING(struct dataflow_settings, plot, "plot", 'p', "FILE",
		      "draw the network with the load of its links, .svg or .png"),
	OPTION_FLAG(struct dataflow_settings, advise_moves, "advise-moves", 0,
		    "which task of a running job to move where, and what that would gain"),
	OPTION_FLAG(struct dataflow_settings, compare, "compare", 'c', "run every engine; one line each"),
	OPTION_FLAG(struct dataflow_settings, json, "json", 'j', "print placement, routes and rates as JSON"),
	OPTION_HEADING("Engines rate and completion:"),
	OPTION_INTEGER(struct dataflow_settings, starts, "starts", 0, "N", 1, 10000, "local searches"),
	OPTION_INTEGER(struct dataflow_settings, evaluations, "evaluations", 0, "N", 0, INT32_MAX,
		       "stop a job's search after N evaluations; 0: the engine's default"),
	OPTION_DOUBLE(struct dataflow_settings, deadline_ms, "deadline-ms", 0, "MS", 0, 1e7,
		      "answer by then; 0: no deadline"),
	OPTION_DOUBLE(struct dataflow_settings, local_MBps, "local-MBps", 0, "MBPS", 1e-3, 1e9,
		      "the most that a source sends when all its data stays on one host"),
	OPTION_STRING(struct dataflow_settings, latency_file, "latency", 'l', "FILE",
		      "measured round trips: a job's rates count times its performance at them"),
	OPTION_STRING(struct dataflow_settings, curves, "curves", 'C', "DIR",
		      "folder of the jobs' curves, NAME.json; without it those that come with nomora"),
	OPTION_STRING(struct dataflow_settings, curve, "curve", 0, "NAME", "curve of jobs that name none"),
	OPTION_CHOICE(struct dataflow_settings, latency_stat, "latency-stat", 0, "STAT", latency_rtt_statistic_names,
		      "the figure of each pair that counts"),
	OPTION_HEADING("Engines both, application, routing (the paper's; not published there):"),
	OPTION_DOUBLE(struct dataflow_settings, temperature, "temperature", 0, "MBPS", 1e-6, 1e12,
		      "initial temperature"),
	OPTION_INTEGER(struct dataflow_settings, steps, "steps", 0, "N", 1, INT32_MAX, "steps of the placement"),
	OPTION_INTEGER(struct dataflow_settings, route_steps, "route-steps", 0, "N", 1, INT32_MAX,
		       "steps of the routes"),
	OPTION_INTEGER(struct dataflow_settings, repeats, "repeats", 0, "N", 1, INT32_MAX, "runs of the annealing"),
	OPTION_FLAG(struct dataflow_settings, direct, "direct", 0,
		    "judge a sink by its host's direct route from the root, as printed"),
	OPTION_HEADING("Simulation:"),
	OPTION_FLAG(struct dataflow_settings, simulate, "simulate", 0,
		    "let the jobs arrive, send their MB and end, in virtual time"),
	OPTION_DOUBLE(struct dataflow_settings, until_s, "until", 0, "S", 0, 1e9,
		      "end there; 0: when all jobs have ended"),
	OPTION_LIST(struct dataflow_settings, faults, "fail", 0, "FAULT",
		    "link:A:B@500-800, host:H@500 or used:10@500-800 (10 % of the links in use); repeatable"),
	OPTION_HEADING("Other sources of a scenario:"),
	OPTION_STRING(struct dataflow_settings, generate, "generate", 'g', "RECIPE",
		      "random jobs: storm or mapreduce, then jobs=10,seed=1...; see nomora-dataflow(1)"),
	OPTION_STRING(struct dataflow_settings, flink, "flink", 0, "FILE",
		      "a job of Flink: the answer of its REST interface to /jobs/ID/plan"),
	OPTION_STRING(struct dataflow_settings, swim, "swim", 0, "FILE", "a MapReduce workload of SWIM"),
	OPTION_STRING(struct dataflow_settings, coflows, "coflows", 0, "FILE", "a trace of the coflow benchmark"),
	OPTION_STRING(struct dataflow_settings, topology, "topology", 't', "NETWORK",
		      "the network of these jobs: fattree:K[,HOSTS], jellyfish:SWITCHES,PORTS,HOSTS, "
		      "leafspine:LEAVES,SPINES,HOSTS or a file (nomora.topology/1)"),
	OPTION_DOUBLE(struct dataflow_settings, link_MBps, "link-MBps", 0, "R", 1e-3, TOPOLOGY_MBPS_MAXIMUM,
		      "capacity of its links"),
	OPTION_INTEGER(struct dataflow_settings, slots, "slots", 0, "N", 1, DATAFLOW_SLOTS_MAXIMUM,
		       "tasks that each of its hosts takes"),
	OPTION_INTEGER(struct dataflow_settings, jobs, "jobs", 0, "N", 0, INT32_MAX,
		       "read the first N jobs of a trace; 0: all"),
	OPTION_INTEGER(struct dataflow_settings, tasks, "tasks", 0, "N", 1, 10000,
		       "SWIM: at most N mappers and N reducers of a job"),
	OPTION_DOUBLE(struct dataflow_settings, split_MB, "split-MB", 0, "MB", 1e-3, 1e9,
		      "SWIM: input of a mapper, shuffle of a reducer"),
	OPTION_FLAG(struct dataflow_settings, pin, "pin", 0, "coflows: a task on port N stays on host N"),
	OPTION_STRING(struct dataflow_settings, scenario, "scenario", 0, "FILE",
		      "write the scenario to FILE (JSON) and end"),
	OPTION_HEADING("On a lab:"),
	OPTION_FLAG(struct dataflow_settings, apply, "apply", 'a',
		    "set the routes in a routed lab and run every flow at its predicted rate"),
	OPTION_STRING(struct dataflow_settings, lab, "lab", 0, "NAME", "the lab of --apply and run"),
	OPTION_DOUBLE(struct dataflow_settings, seconds, "seconds", 0, "S", 0.1, 3600,
		      "length of the transfers; how long the sources send"),
	OPTION_FLAG(struct dataflow_settings, keep_routes, "keep-routes", 0,
		    "leave the routes in the lab; the next --apply or run replaces them"),
	OPTION_CHOICE(struct dataflow_settings, routes, "routes", 0, "HOW", route_names,
		      "run: set the routes in the switches, or take them by source ports"),
	OPTION_INTEGER(struct dataflow_settings, tuple_bytes, "tuple-bytes", 0, "BYTES", WORKER_TUPLE_MINIMUM,
		       WORKER_TUPLE_MAXIMUM, "run: size of the tuples"),
	OPTION_HEADING("Experiments:"),
	OPTION_CHOICE(struct dataflow_settings, experiment, "experiment", 0, "NAME", experiments,
		      "the paper's figures: storm (4, 5), hadoop (7, 8), failures (6, 9), runtime (10, 11), "
		      "scale (12, 13); with -o"),
	OPTION_STRING(struct dataflow_settings, output, "output", 'o', "DIR", "folder for the figures"),
	OPTION_INTEGER(struct dataflow_settings, runs, "runs", 'r', "N", 1, 10000,
		       "paired seeds; decisions (runtime); jobs (scale)"),
	OPTION_END,
};

static const struct option_usage usage = {
	.command = "nomora dataflow",
	.operands = "[FILE] | run [FILE] | worker PLAN",
	.summary = "Place dataflow jobs' tasks and choose their routes, by the rates that the jobs will sustain.",
	.teach = teach,
	.rows = rows,
	.operands_maximum = 1,
};

int command_dataflow(int argc, char **argv)
{
	const struct engine_options defaults = engine_defaults();
	struct dataflow_settings settings = {.seed = 1,
					     .k = 10,
					     .detour = PATHS_DETOUR,
					     .random_runs = 20,
					     .starts = defaults.starts,
					     .local_MBps = defaults.local_MBps,
					     .temperature = defaults.temperature,
					     .steps = defaults.steps,
					     .route_steps = defaults.route_steps,
					     .repeats = defaults.repeats,
					     .topology = "fattree:4",
					     .link_MBps = 100,
					     .slots = 2,
					     .tasks = 10,
					     .split_MB = 128,
					     .lab = "lab0",
					     .seconds = 5,
					     .tuple_bytes = 1000,
					     .latency_stat = LATENCY_STATISTIC_P99,
					     .experiment = -1,
					     .runs = 10};
	struct error err = {0};
	struct option_operands operands;
	char shipped[PATH_MAX];
	int code;

	if (argc > 1 && strcmp(argv[1], "worker") == 0)
		return dataflow_command_worker(argc - 1, argv + 1);
	settings.run = argc > 1 && strcmp(argv[1], "run") == 0;
	for (size_t e = 0; e < ENGINES_MOST && engine_name(e); e++)
		engine_names[e] = engine_name(e);
	code = command_parse(&usage, argc - settings.run, argv + settings.run, &settings, &operands);
	if (code >= 0)
		return code;
	command_find_data(".", "curves", "", shipped);
	if (!settings.curves)
		settings.curves = shipped;
	if (dataflow_check_sources(&settings, operands.count, &err) < 0)
		code = command_fail(&err, COMMAND_USAGE);
	else if (settings.experiment >= 0)
		code = dataflow_run_experiment(&settings);
	else
		code = load_and_run(&settings, operands.count ? operands.items[0] : NULL);
	options_free(&operands);
	return code;
}
