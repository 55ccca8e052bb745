/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora dataflow: places the tasks of dataflow jobs and chooses the routes of their data. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include <base/json.h>
#include <base/ns.h>
#include <sched/dataflow/plan.h>
#include <sched/flows/max_min.h>

#include "commands.h"

enum { ENGINES_MOST = 16, RESOURCE_BYTES = 2 * TOPOLOGY_NAME_BYTES + 16 };

struct settings {
	int engine;
	int64_t seed, k, detour, evaluations, starts, random_runs, steps, route_steps, repeats;
	double deadline_ms, local_MBps, temperature;
	bool direct, compare, json;
};

static const char teach[] =
	"FILE is a scenario (nomora.dataflow/1, man nomora-dataflow), - is stdin:\n"
	"  {\"schema\": \"nomora.dataflow/1\", \"topology\": \"fattree:4\", \"MBps\": 100, \"slots\": 2,\n"
	"   \"jobs\": [{\"name\": \"count\",\n"
	"     \"components\": [{\"name\": \"words\", \"tasks\": 2}, {\"name\": \"sum\", \"tasks\": 4}],\n"
	"     \"edges\": [{\"from\": \"words\", \"to\": \"sum\", \"grouping\": \"key\"}]}]}\n"
	"\n"
	"Exit status: 0 placed, 1 the file is bad, 2 usage, 3 no placement: too few slots, or hosts that are not "
	"connected.\n";

static struct engine_options engine_options(const struct settings *settings)
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
	options.now = ns_now_monotonic;
	if (settings->deadline_ms > 0)
		options.deadline = ns_add(ns_now_monotonic(), ns_from_us(settings->deadline_ms * 1e3));
	return options;
}

static const char *limit_name(const struct dataflow_plan *plan, uint32_t resource, char *text)
{
	if (resource == MAX_MIN_OFFERED)
		return "its own rate";
	network_resource_name(plan->network, resource, text);
	return text;
}

static void print_job(const struct dataflow_plan *plan, const struct plan_job *job)
{
	const struct topology *topology = network_topology(plan->network);
	char name[2 * DATAFLOW_NAME_BYTES], limit[RESOURCE_BYTES];

	printf("%s: %.2f MB/s", job->job->name, job->total_MBps);
	if (isfinite(job->random_MBps) && job->placed_here)
		printf(", random %.2f", job->random_MBps);
	if (job->placed_here)
		printf(" (%" PRIu64 " placements evaluated in %.1f ms)\n", job->evaluations, 1e3 * job->seconds);
	else
		puts(" (was running)");
	for (uint32_t t = 0; t < job->job->task_count; t++) {
		dataflow_task_name(job->job, t, name);
		printf("  %-24s %s\n", name, topology->nodes[job->job->hosts[t]].name);
	}
	for (uint32_t s = 0; s < job->graph->source_count; s++) {
		dataflow_task_name(job->job, job->graph->sources[s], name);
		printf("  %s sends %.2f MB/s, limited by %s\n", name, job->MBps[s],
		       limit_name(plan, job->bottleneck[s], limit));
	}
}

static json_t *job_json(const struct dataflow_plan *plan, const struct plan_job *job)
{
	const struct topology *topology = network_topology(plan->network);
	json_t *placement = json_object(), *sources = json_array(), *root;
	char name[2 * DATAFLOW_NAME_BYTES], limit[RESOURCE_BYTES];

	for (uint32_t t = 0; t < job->job->task_count; t++) {
		dataflow_task_name(job->job, t, name);
		json_object_set_new(placement, name, json_string(topology->nodes[job->job->hosts[t]].name));
	}
	for (uint32_t s = 0; s < job->graph->source_count; s++) {
		dataflow_task_name(job->job, job->graph->sources[s], name);
		json_array_append_new(sources, json_pack("{s:s, s:f, s:s}", "task", name, "MBps", job->MBps[s],
							 "limited_by", limit_name(plan, job->bottleneck[s], limit)));
	}
	root = json_pack("{s:s, s:f, s:o, s:o}", "name", job->job->name, "MBps", job->total_MBps, "placement",
			 placement, "sources", sources);
	if (isfinite(job->random_MBps))
		json_object_set_new(root, "random_MBps", json_real(job->random_MBps));
	if (job->placed_here)
		json_object_set_new(root, "evaluations", json_integer((json_int_t)job->evaluations));
	return root;
}

/* Routes of all pairs of hosts that exchange data, as lists of resources' names. */
static json_t *routes_json(const struct dataflow_plan *plan)
{
	const struct topology *topology = network_topology(plan->network);
	json_t *list = json_array();

	for (uint32_t a = 0; a < topology->node_count; a++)
		for (uint32_t b = a + 1; b < topology->node_count; b++) {
			int64_t number =
				topology->nodes[a].kind == TOPOLOGY_HOST ? network_route_of(plan->network, a, b) : -1;
			struct network_route route;
			json_t *links;

			if (number < 0 || network_route(plan->network, a, b, (uint32_t)number, &route) < 0)
				continue;
			links = json_array();
			for (uint32_t r = 0; r < route.count; r++) {
				char name[RESOURCE_BYTES];

				network_resource_name(plan->network, route.resources[r], name);
				json_array_append_new(links, json_string(name));
			}
			json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "from", topology->nodes[a].name, "to",
							      topology->nodes[b].name, "links", links));
		}
	return list;
}

static int print_json(const struct dataflow_plan *plan, const char *engine)
{
	json_t *jobs = json_array(), *root;
	char *text;

	for (uint32_t j = 0; j < plan->job_count; j++)
		json_array_append_new(jobs, job_json(plan, &plan->jobs[j]));
	root = json_pack("{s:s, s:s, s:o, s:o}", "schema", "nomora.dataflow-plan/1", "engine", engine, "jobs", jobs,
			 "routes", routes_json(plan));
	text = root ? json_to_text(root) : NULL;
	json_decref(root);
	if (!text)
		return -ENOMEM;
	puts(text);
	free(text);
	return 0;
}

static struct dataflow_plan *make_plan(const struct settings *settings, struct dataflow *dataflow, const char *engine,
				       uint32_t random_runs, struct error *err)
{
	struct engine_options options = engine_options(settings);
	struct paths_options paths = {
		.k = (uint32_t)settings->k, .detour = (uint32_t)settings->detour, .seed = (uint64_t)settings->seed};

	return dataflow_plan_create(dataflow, engine_find(engine), &options, &paths, random_runs, err);
}

static int fail(const struct error *err)
{
	return command_fail(err, err->code == ENOSPC || err->code == EHOSTUNREACH ? COMMAND_NEGATIVE : COMMAND_FAILED);
}

/* One line per engine: the scenario is read again for each, as placing changes it. */
static int compare(const struct settings *settings, const char *path)
{
	printf("%-12s %12s %12s %12s %10s\n", "ENGINE", "SUM MB/s", "MEAN MB/s", "WORST MB/s", "MS A JOB");
	for (size_t e = 0; engine_name(e); e++) {
		struct error err = {0};
		struct dataflow *dataflow = dataflow_read(path, &err);
		struct dataflow_plan *plan = dataflow ? make_plan(settings, dataflow, engine_name(e), 0, &err) : NULL;
		double sum = 0, worst = INFINITY, seconds = 0;
		uint32_t jobs = plan ? plan->job_count : 0;

		if (!plan) {
			dataflow_destroy(dataflow);
			return fail(&err);
		}
		for (uint32_t j = 0; j < jobs; j++) {
			sum += plan->jobs[j].total_MBps;
			worst = fmin(worst, plan->jobs[j].total_MBps);
			seconds += plan->jobs[j].seconds;
		}
		printf("%-12s %12.2f %12.2f %12.2f %10.2f\n", engine_name(e), sum, sum / jobs, worst,
		       1e3 * seconds / jobs);
		dataflow_plan_destroy(plan);
		dataflow_destroy(dataflow);
	}
	return COMMAND_OK;
}

static int run(const struct settings *settings, const char *path)
{
	struct error err = {0};
	struct dataflow *dataflow = dataflow_read(path, &err);
	const char *engine = engine_name((size_t)settings->engine);
	struct dataflow_plan *plan =
		dataflow ? make_plan(settings, dataflow, engine, (uint32_t)settings->random_runs, &err) : NULL;
	int code = COMMAND_OK;

	if (!plan)
		code = fail(&err);
	else if (!settings->json)
		for (uint32_t j = 0; j < plan->job_count; j++)
			print_job(plan, &plan->jobs[j]);
	else if (print_json(plan, engine) < 0) {
		error_set(&err, ENOMEM, "out of memory");
		code = command_fail(&err, COMMAND_FAILED);
	}
	dataflow_plan_destroy(plan);
	dataflow_destroy(dataflow);
	if (code == COMMAND_OK && command_flush(&err) < 0)
		code = command_fail(&err, COMMAND_FAILED);
	return code;
}

int command_dataflow(int argc, char **argv)
{
	const char *names[ENGINES_MOST + 1] = {0};
	const struct option_row rows[] = {
		OPTION_CHOICE(struct settings, engine, "engine", 'e', "NAME", names, "how to place"),
		OPTION_INTEGER(struct settings, seed, "seed", 's', "N", 0, INT32_MAX, "of all random choices"),
		OPTION_INTEGER(struct settings, k, "k", 'k', "N", 1, PATHS_K_MAXIMUM,
			       "candidate routes per pair of switches"),
		OPTION_INTEGER(struct settings, detour, "detour", 0, "LINKS", 0, PATHS_LINKS_MAXIMUM - 1,
			       "candidate routes are at most this much longer than the shortest"),
		OPTION_INTEGER(struct settings, random_runs, "random-runs", 0, "N", 0, 10000,
			       "random placements for the expectation beside each job's rate"),
		OPTION_FLAG(struct settings, compare, "compare", 'c', "run every engine; one line each"),
		OPTION_FLAG(struct settings, json, "json", 'j', "print placement, routes and rates as JSON"),
		OPTION_HEADING("Engine rate:"),
		OPTION_INTEGER(struct settings, starts, "starts", 0, "N", 1, 10000, "local searches"),
		OPTION_INTEGER(struct settings, evaluations, "evaluations", 0, "N", 0, INT32_MAX,
			       "stop a job's search after N evaluations; 0: the engine's default"),
		OPTION_DOUBLE(struct settings, deadline_ms, "deadline-ms", 0, "MS", 0, 1e7,
			      "answer by then; 0: no deadline"),
		OPTION_DOUBLE(struct settings, local_MBps, "local-MBps", 0, "MBPS", 1e-3, 1e9,
			      "the most that a source sends when all its data stays on one host"),
		OPTION_HEADING("Engines both, application, routing (the paper's; not published there):"),
		OPTION_DOUBLE(struct settings, temperature, "temperature", 0, "MBPS", 1e-6, 1e12,
			      "initial temperature"),
		OPTION_INTEGER(struct settings, steps, "steps", 0, "N", 1, INT32_MAX, "steps of the placement"),
		OPTION_INTEGER(struct settings, route_steps, "route-steps", 0, "N", 1, INT32_MAX,
			       "steps of the routes"),
		OPTION_INTEGER(struct settings, repeats, "repeats", 0, "N", 1, INT32_MAX, "runs of the annealing"),
		OPTION_FLAG(struct settings, direct, "direct", 0,
			    "judge a sink by its host's direct route from the root, as printed"),
		OPTION_END,
	};
	const struct option_usage usage = {
		.command = "nomora dataflow",
		.operands = "FILE",
		.summary =
			"Place dataflow jobs' tasks and choose their routes, by the rates that the jobs will sustain.",
		.teach = teach,
		.rows = rows,
		.operands_minimum = 1,
		.operands_maximum = 1,
	};
	const struct engine_options defaults = engine_defaults();
	struct settings settings = {.seed = 1,
				    .k = 10,
				    .detour = PATHS_DETOUR,
				    .random_runs = 20,
				    .starts = defaults.starts,
				    .local_MBps = defaults.local_MBps,
				    .temperature = defaults.temperature,
				    .steps = defaults.steps,
				    .route_steps = defaults.route_steps,
				    .repeats = defaults.repeats};
	struct option_operands operands;
	int code;

	for (size_t e = 0; e < ENGINES_MOST && engine_name(e); e++)
		names[e] = engine_name(e);
	code = command_parse(&usage, argc, argv, &settings, &operands);
	if (code >= 0)
		return code;
	code = settings.compare ? compare(&settings, operands.items[0]) : run(&settings, operands.items[0]);
	options_free(&operands);
	return code;
}
