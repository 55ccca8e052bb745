/* SPDX-License-Identifier: BSD-3-Clause */
/* --simulate: the jobs' lives in virtual time, as text and as JSON. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include <base/json.h>
#include <base/quantile.h>
#include <sched/dataflow/simulate.h>

#include "../command.h"
#include "dataflow.h"

static double end_of(const struct simulate_result *result)
{
	return result->rates[result->rate_count - 1].time_s;
}

/* Median seconds from arrival to end of the jobs that have ended; NAN without. */
static double median_completion_s(const struct simulate_result *result, uint32_t *ended)
{
	double *times = malloc(result->job_count * sizeof *times + 1), median;

	*ended = 0;
	if (!times)
		return NAN;
	for (uint32_t j = 0; j < result->job_count; j++)
		if (isfinite(result->jobs[j].end_s))
			times[(*ended)++] = result->jobs[j].end_s - result->jobs[j].arrival_s;
	median = quantile_median(times, *ended);
	free(times);
	return median;
}

static void print(const struct dataflow *dataflow, const struct simulate_result *result)
{
	uint32_t ended;
	double median = median_completion_s(result, &ended), end_s = end_of(result);

	printf("%-24s %12s %12s %12s %12s %10s\n", "JOB", "ARRIVAL s", "START s", "END s", "MB", "MB/s");
	for (uint32_t j = 0; j < result->job_count; j++) {
		const struct simulate_job *job = &result->jobs[j];
		double until = isfinite(job->end_s) ? job->end_s : end_s;

		printf("%-24s %12.3f %12.3f %12.3f %12.2f %10.2f", dataflow->jobs[j].name, job->arrival_s, job->start_s,
		       job->end_s, job->MB, until > job->start_s ? job->MB / (until - job->start_s) : NAN);
		if (job->moved_tasks > 0)
			printf("  %u tasks moved", job->moved_tasks);
		putchar('\n');
	}
	printf("%u of %u jobs ended", ended, result->job_count);
	if (ended > 0)
		printf(", half of them within %.3f s of their arrival", median);
	printf("; %.2f MB/s in all over %.3f s; %u routes replaced after failures\n",
	       end_s > 0 ? simulate_mean_MBps(result, 0, end_s) : 0, end_s, result->rerouted);
}

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *to_json(const struct dataflow *dataflow, const struct simulate_result *result, const char *engine)
{
	json_t *jobs = json_array(), *rates = json_array();

	for (uint32_t j = 0; j < result->job_count; j++) {
		const struct simulate_job *job = &result->jobs[j];

		json_array_append_new(jobs, json_pack("{s:s, s:f, s:o, s:o, s:f, s:I}", "name", dataflow->jobs[j].name,
						      "arrival_s", job->arrival_s, "start_s", number(job->start_s),
						      "end_s", number(job->end_s), "MB", job->MB, "moved_tasks",
						      (json_int_t)job->moved_tasks));
	}
	for (size_t i = 0; i < result->rate_count; i++)
		json_array_append_new(rates, json_pack("[f, f]", result->rates[i].time_s, result->rates[i].MBps));
	return json_pack("{s:s, s:s, s:o, s:o, s:I}", "schema", "nomora.dataflow-simulation/1", "engine", engine,
			 "jobs", jobs, "rates", rates, "rerouted", (json_int_t)result->rerouted);
}

static int show(const struct dataflow_settings *settings, const struct dataflow *dataflow,
		const struct simulate_result *result, struct error *err)
{
	json_t *root;
	char *text;

	if (!settings->json) {
		print(dataflow, result);
		return command_flush(err);
	}
	root = to_json(dataflow, result, engine_name((size_t)settings->engine));
	text = root ? json_to_text(root) : NULL;
	json_decref(root);
	if (!text)
		return error_set(err, ENOMEM, "out of memory");
	puts(text);
	free(text);
	return command_flush(err);
}

int dataflow_run_simulation(const struct dataflow_settings *settings, struct dataflow *dataflow)
{
	struct simulate_fault faults[OPTION_LIST_MAXIMUM];
	struct simulate_options options = {.engine = engine_find(engine_name((size_t)settings->engine)),
					   .engine_options = dataflow_engine_options(settings),
					   .paths = dataflow_paths_options(settings),
					   .faults = faults,
					   .fault_count = (uint32_t)settings->faults.count,
					   .until_s = settings->until_s > 0 ? settings->until_s : INFINITY};
	struct simulate_result result;
	struct error err = {0};
	int code;

	for (uint32_t f = 0; f < options.fault_count; f++)
		if (simulate_fault_parse(settings->faults.items[f], dataflow->topology, &faults[f], &err) < 0) {
			error_prefix(&err, "--fail");
			return command_fail(&err, COMMAND_USAGE);
		}
	if (dataflow_simulate(dataflow, &options, &result, &err) < 0)
		return dataflow_fail(&err);
	code = show(settings, dataflow, &result, &err) < 0 ? command_fail(&err, COMMAND_FAILED) : COMMAND_OK;
	simulate_result_clear(&result);
	return code;
}
