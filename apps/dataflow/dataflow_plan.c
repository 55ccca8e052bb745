/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora dataflow plan: prints the placement, the routes and the rates. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <base/file.h>
#include <base/json.h>
#include <sched/dataflow/network.h>

#include "dataflow.h"

static const char teach[] =
	"FILE is a scenario (nomora.dataflow/1, man nomora-dataflow), - is stdin:\n"
	"  {\"schema\": \"nomora.dataflow/1\", \"topology\": \"fattree:4\", \"MBps\": 100, \"slots\": 2,\n"
	"   \"jobs\": [{\"name\": \"count\",\n"
	"     \"components\": [{\"name\": \"words\", \"tasks\": 2}, {\"name\": \"sum\", \"tasks\": 4}],\n"
	"     \"edges\": [{\"from\": \"words\", \"to\": \"sum\", \"grouping\": \"key\"}]}]}\n"
	"\n"
	"Exit status: 0 placed, 1 the file is bad, 2 usage, 3 no placement: too few slots, or hosts that are not "
	"connected.\n";

/* Prints one line per engine. */
static int compare(struct dataflow_settings *settings, struct dataflow *dataflow, struct error *err)
{
	printf("%-12s %12s %12s %12s %10s\n", "ENGINE", "SUM MB/s", "MEAN MB/s", "WORST MB/s", "MS A JOB");
	for (size_t e = 0; engine_name(e); e++) {
		struct dataflow_plan *plan = dataflow_make_plan(settings, dataflow, engine_name(e), 0, err);
		double sum = 0, worst = INFINITY, seconds = 0;
		uint32_t jobs = plan ? plan->job_count : 0;

		settings->start = ns_now_monotonic(); /* of the next engine */
		if (!plan)
			return dataflow_fail(err);
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

int dataflow_print_plan(const struct dataflow_settings *settings, const struct dataflow_plan *plan,
			const struct dataflow_advice *advice, double bound_MBps)
{
	const struct dataflow_plan_report report = {.plan = plan,
						    .engine = dataflow_engine(settings),
						    .latency = settings->latency,
						    .advice = advice,
						    .bound_MBps = bound_MBps};

	if (settings->json)
		return command_print_json(dataflow_plan_to_json(&report));
	dataflow_plan_print(&report, stdout);
	fflush(stdout);
	return COMMAND_OK;
}

/* Writes the pod templates of the jobs that were placed. Returns 0, or -errno with err set. */
static int write_pods(const struct dataflow_plan *plan, const char *folder, struct error *err)
{
	char path[PATH_MAX];
	int code = 0;

	for (uint32_t j = 0; j < plan->job_count && code == 0; j++) {
		const char *name = plan->jobs[j].job->name;

		if (!plan->jobs[j].placed_here)
			continue;
		if (strchr(name, '/') || name[0] == '.')
			return error_set(err, EINVAL, "job '%s': not a name of a file in %s", name, folder);
		if (snprintf(path, sizeof path, "%s/%s.json", folder, name) >= (int)sizeof path)
			return error_set(err, ENAMETOOLONG, "%s: the path is too long", folder);
		file_make_folder_of(path);
		code = json_write_file_new(path, dataflow_plan_to_pod(plan, &plan->jobs[j]), err);
	}
	return code;
}

static int plan_jobs(struct dataflow_settings *settings, struct dataflow *dataflow, struct error *err)
{
	const struct engine_options options = dataflow_engine_options(settings);
	const char *engine = dataflow_engine(settings);
	struct dataflow_advice advice = {0};
	struct dataflow_plan *plan = dataflow_make_plan(settings, dataflow, engine, settings->random_runs, err);
	double bound_MBps = NAN;
	int code;

	if (!plan || (settings->bound && dataflow_bound(plan->network, &bound_MBps, err) < 0))
		code = dataflow_fail(err);
	else if (settings->pods && write_pods(plan, settings->pods, err) < 0)
		code = COMMAND_FAILED;
	else if (settings->plot && dataflow_plan_plot(plan, engine, settings->plot, err) < 0)
		code = COMMAND_FAILED;
	else if (settings->advise_moves && dataflow_advise(plan, engine_find(engine), &options, &advice, err) < 0)
		code = dataflow_fail(err);
	else
		code = dataflow_print_plan(settings, plan, settings->advise_moves ? &advice : NULL, bound_MBps);
	dataflow_advice_clear(&advice);
	dataflow_plan_destroy(plan);
	return code;
}

static int body(struct dataflow_settings *settings, struct dataflow *dataflow, struct error *err)
{
	if (settings->scenario)
		return json_write_file_new(settings->scenario, dataflow_to_json(dataflow), err);
	return settings->compare ? compare(settings, dataflow, err) : plan_jobs(settings, dataflow, err);
}

int command_dataflow_plan(int argc, char **argv)
{
	static const struct option_usage usage = {
		.command = "nomora dataflow plan",
		.operands = "[FILE]",
		.summary =
			"Print a placement of dataflow jobs, the routes of their data, and the rates that they allow.",
		.teach = teach,
		.rows = dataflow_plan_rows,
		.operands_maximum = 1,
	};

	return dataflow_command(&usage, NULL, body, argc, argv);
}
