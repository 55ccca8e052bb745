/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora dataflow: places the tasks of dataflow jobs and chooses the routes of their data. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <base/json.h>
#include <base/program.h>
#include <model/worker.h>
#include <sched/dataflow/bound.h>

#include "../command.h"
#include "../commands.h"
#include "dataflow.h"

static const char teach[] =
	"FILE is a scenario (nomora.dataflow/1, man nomora-dataflow), - is stdin:\n"
	"  {\"schema\": \"nomora.dataflow/1\", \"topology\": \"fattree:4\", \"MBps\": 100, \"slots\": 2,\n"
	"   \"jobs\": [{\"name\": \"count\",\n"
	"     \"components\": [{\"name\": \"words\", \"tasks\": 2}, {\"name\": \"sum\", \"tasks\": 4}],\n"
	"     \"edges\": [{\"from\": \"words\", \"to\": \"sum\", \"grouping\": \"key\"}]}]}\n"
	"\n"
	"'run' runs the jobs on a routed lab: sets routes, starts a process for each task, and routes around links "
	"that fail. "
	"'worker' is one such process.\n"
	"Exit status: 0 placed, 1 the file is bad, 2 usage, 3 no placement: too few slots, or hosts that are not "
	"connected.\n";

static struct dataflow_plan *make_plan(const struct dataflow_settings *settings, struct dataflow *dataflow,
				       const char *engine, uint32_t random_runs, struct error *err)
{
	struct engine_options options = dataflow_engine_options(settings);
	struct topology_paths_options paths = dataflow_paths_options(settings);
	struct dataflow_plan *plan =
		dataflow_plan_create(dataflow, engine_find(engine), &options, &paths, random_runs, err);

	/*
	 * The scenario's reader does not check whether the rates of a cycle have a solution; planning finds out. The
	 * scenario is then wrong, so the message begins with its file.
	 */
	if (!plan && err->code == EINVAL && settings->file)
		error_prefix(err, "%s", settings->file);
	return plan;
}

/* Prints one line per engine. */
static int compare(struct dataflow_settings *settings, struct dataflow *dataflow, struct error *err)
{
	printf("%-12s %12s %12s %12s %10s\n", "ENGINE", "SUM MB/s", "MEAN MB/s", "WORST MB/s", "MS A JOB");
	for (size_t e = 0; engine_name(e); e++) {
		struct dataflow_plan *plan = make_plan(settings, dataflow, engine_name(e), 0, err);
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

static int print_plan(const struct dataflow_settings *settings, const struct dataflow_plan *plan,
		      const struct dataflow_advice *advice, double bound_MBps)
{
	const struct dataflow_plan_report report = {.plan = plan,
						    .engine = engine_name((size_t)settings->engine),
						    .latency = settings->latency,
						    .advice = settings->advise_moves ? advice : NULL,
						    .bound_MBps = bound_MBps};

	if (settings->json)
		return command_print_json(dataflow_plan_to_json(&report));
	dataflow_plan_print(&report, stdout);
	fflush(stdout);
	return COMMAND_OK;
}

static int fail_openflow(const struct error *err)
{
	return err->code == EINVAL ? COMMAND_USAGE : COMMAND_FAILED;
}

static int place(const struct dataflow_settings *settings, struct dataflow *dataflow, struct error *err)
{
	const struct engine_options options = dataflow_engine_options(settings);
	struct dataflow_advice advice = {0};
	const char *engine = engine_name((size_t)settings->engine);
	struct dataflow_plan *plan = make_plan(settings, dataflow, engine, (uint32_t)settings->random_runs, err);
	double bound_MBps = NAN;
	int code;

	if (!plan || (settings->bound && dataflow_bound(plan->network, &bound_MBps, err) < 0))
		code = dataflow_fail(err);
	else if (settings->plot && dataflow_plan_plot(plan, engine, settings->plot, err) < 0)
		code = COMMAND_FAILED;
	else if (settings->advise_moves && dataflow_advise(plan, engine_find(engine), &options, &advice, err) < 0)
		code = dataflow_fail(err);
	else if (settings->openflow && !settings->openflow_keep && dataflow_set_openflow(settings, plan, err) < 0)
		code = fail_openflow(err);
	else if (settings->run)
		code = dataflow_run(settings, dataflow, plan, err) < 0 ? dataflow_fail(err) : COMMAND_OK;
	else if (settings->apply)
		code = dataflow_apply(settings, plan, err);
	else
		code = print_plan(settings, plan, &advice, bound_MBps);
	if (code == COMMAND_OK && settings->openflow_keep && dataflow_set_openflow(settings, plan, err) < 0)
		code = fail_openflow(err);
	dataflow_advice_clear(&advice);
	dataflow_plan_destroy(plan);
	return code;
}

static int load_and_place(struct dataflow_settings *settings, struct error *err)
{
	struct dataflow *dataflow = dataflow_load(settings, settings->file, err);
	int code;

	if (!dataflow)
		return strncmp(err->text, "--", 2) == 0 ? COMMAND_USAGE : dataflow_fail(err);
	if (settings->latency_file)
		settings->latency = dataflow_open_latency(settings, dataflow, err);
	if (settings->latency_file && !settings->latency)
		code = COMMAND_FAILED;
	else if (settings->scenario)
		code = json_write_file_new(settings->scenario, dataflow_to_json(dataflow), err);
	else if (settings->simulate)
		code = dataflow_run_simulation(settings, dataflow, err);
	else
		code = settings->compare ? compare(settings, dataflow, err) : place(settings, dataflow, err);
	dataflow_latency_close(settings->latency);
	dataflow_destroy(dataflow);
	return code;
}

static int run(void *context, const struct option_operands *operands, struct error *err)
{
	struct dataflow_settings *settings = context;

	if (!settings->curves)
		settings->curves = program_curves();
	settings->file = operands->count ? operands->items[0] : NULL;
	if (dataflow_check_sources(settings, operands->count, err) < 0)
		return COMMAND_USAGE;
	return load_and_place(settings, err);
}

static const struct option_usage usage = {
	.command = "nomora dataflow",
	.operands = "[FILE] | run [FILE] | worker PLAN",
	.summary = "Place dataflow jobs and choose their routes.",
	.teach = teach,
	.rows = dataflow_option_rows,
	.operands_maximum = 1,
};

int command_dataflow(int argc, char **argv)
{
	struct dataflow_settings settings;

	if (argc > 1 && strcmp(argv[1], "worker") == 0)
		return command_dataflow_worker(argc - 1, argv + 1);
	dataflow_settings_default(&settings);
	settings.run = argc > 1 && strcmp(argv[1], "run") == 0;
	return command_run(&usage, argc - settings.run, argv + settings.run, &settings, run);
}
