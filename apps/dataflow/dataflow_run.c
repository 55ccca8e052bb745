/* SPDX-License-Identifier: BSD-3-Clause */
/* nomora dataflow run: the plan on a routed lab, with real processes. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/json.h>
#include <base/stop.h>
#include <lab/dataflow/run.h>

#include "../command.h"
#include "dataflow.h"

static json_t *real_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static void print_line(json_t *json)
{
	char *line = json ? json_dumps(json, JSON_REAL_PRECISION(6)) : NULL;

	if (line)
		puts(line);
	free(line);
	json_decref(json);
	fflush(stdout);
}

static void print_second(void *context, const struct run_second *second)
{
	const struct dataflow_settings *settings = context;

	if (!settings->json) {
		printf("%7.1f %10.3f %10.3f %12.0f %8llu %8llu %6u %9u %10.2f\n", second->s, second->source_MBps,
		       second->sink_MBps, second->latency_p99_us, (unsigned long long)second->lost,
		       (unsigned long long)second->duplicated, second->links_down, second->rerouted,
		       second->reroute_ms);
		fflush(stdout);
		return;
	}
	print_line(json_pack("{s:s, s:f, s:f, s:f, s:o, s:I, s:I, s:I, s:I, s:f}", "schema",
			     "nomora.dataflow-run-second/1", "s", second->s, "source_MBps", second->source_MBps,
			     "sink_MBps", second->sink_MBps, "latency_p99_us", real_or_null(second->latency_p99_us),
			     "lost", (json_int_t)second->lost, "duplicated", (json_int_t)second->duplicated,
			     "links_down", (json_int_t)second->links_down, "rerouted", (json_int_t)second->rerouted,
			     "reroute_ms", second->reroute_ms));
}

static json_t *print_flows(const struct dataflow_settings *settings, const struct run_result *result)
{
	json_t *flows = json_array();

	if (!settings->json && result->flow_count > 0)
		printf("\n%-16s %-16s %11s %5s\n", "FROM", "TO", "SOURCE PORT", "PORT");
	for (size_t i = 0; i < result->flow_count; i++) {
		const struct run_flow *flow = &result->flows[i];

		if (!settings->json)
			printf("%-16s %-16s %11u %5u\n", flow->from, flow->to, flow->source_port, flow->port);
		json_array_append_new(flows,
				      json_pack("{s:s, s:s, s:i, s:i}", "from_host", flow->from, "to_host", flow->to,
						"source_port", (int)flow->source_port, "port", (int)flow->port));
	}
	return flows;
}

static void print_result(const struct dataflow_settings *settings, const struct dataflow *dataflow,
			 const struct run_result *result)
{
	json_t *sinks = json_array(), *flows = print_flows(settings, result);
	char task[2 * DATAFLOW_NAME_BYTES];

	if (!settings->json)
		printf("\n%-12s %-16s %14s %14s\n", "JOB", "SINK", "PREDICTED MB/s", "MEASURED MB/s");
	for (uint32_t i = 0; i < result->sink_count; i++) {
		const struct run_sink *sink = &result->sinks[i];

		for (uint32_t j = 0; j < dataflow->job_count; j++)
			if (sink->job == dataflow->jobs[j].name)
				dataflow_task_name(&dataflow->jobs[j], sink->task, task);
		if (!settings->json)
			printf("%-12s %-16s %14.3f %14.3f\n", sink->job, task, sink->predicted_MBps,
			       sink->measured_MBps);
		json_array_append_new(sinks, json_pack("{s:s, s:s, s:f, s:f}", "job", sink->job, "task", task,
						       "predicted_MBps", sink->predicted_MBps, "measured_MBps",
						       sink->measured_MBps));
	}
	if (settings->json)
		print_line(json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:O, s:O}", "schema", "nomora.dataflow-run/1",
				     "complete", (int)result->complete, "sent", (json_int_t)result->sent, "received",
				     (json_int_t)result->received, "lost", (json_int_t)result->lost, "duplicated",
				     (json_int_t)result->duplicated, "sinks", sinks, "flows", flows));
	else
		printf("\n%llu tuples sent, %llu received, %llu lost, %llu duplicated\n",
		       (unsigned long long)result->sent, (unsigned long long)result->received,
		       (unsigned long long)result->lost, (unsigned long long)result->duplicated);
	json_decref(sinks);
	json_decref(flows);
}

static int run(const struct dataflow_settings *settings, const struct lab *lab, struct dataflow *dataflow,
	       struct dataflow_plan *plan, struct run_options *options, struct error *err)
{
	struct run_result result;
	int code;

	stop_catch_signals();
	options->stop = stop_flag();
	if (!settings->json)
		printf("%7s %10s %10s %12s %8s %8s %6s %9s %10s\n", "S", "SENT MB/s", "SINKS MB/s", "P99 us", "LOST",
		       "DOUBLED", "DOWN", "REROUTED", "IN ms");
	code = run_plan(lab, dataflow, plan, options, &result, err);
	if (code == 0)
		print_result(settings, dataflow, &result);
	if (code == 0 && (!result.complete || result.lost + result.duplicated > 0))
		code = error_set(err, EIO, "tuples were lost or doubled");
	run_result_clear(&result);
	return code;
}

int dataflow_run(const struct dataflow_settings *settings, struct dataflow *dataflow, struct dataflow_plan *plan,
		 struct error *err)
{
	struct simulate_fault faults[OPTION_LIST_MAXIMUM];
	char program[PATH_MAX];
	struct run_options options = {.program = program,
				      .seconds = settings->seconds,
				      .local_MBps = settings->local_MBps,
				      .tuple_bytes = (uint32_t)settings->tuple_bytes,
				      .keep_routes = settings->keep_routes,
				      .ports = settings->routes == DATAFLOW_PORTS,
				      .faults = faults,
				      .fault_count = (uint32_t)settings->faults.count,
				      .each_second = print_second,
				      .context = (void *)settings};
	struct lab *lab = malloc(sizeof *lab);
	int code = lab ? dataflow_read_lab(settings->lab, lab, err) : error_set(err, ENOMEM, "out of memory");

	if (code == 0 && command_own_program(program, err) < 0)
		code = error_code(err, EIO);
	for (uint32_t f = 0; f < options.fault_count && code == 0; f++) {
		code = simulate_fault_parse(settings->faults.items[f], dataflow->topology, &faults[f], err);
		if (code < 0)
			error_prefix(err, "--fail");
	}
	if (code == 0)
		code = run(settings, lab, dataflow, plan, &options, err);
	free(lab);
	return code;
}
