/* SPDX-License-Identifier: BSD-3-Clause */
/* The report lines and the result of a run, as text and as lines of JSON. */
#include <lab/dataflow/run.h>

#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>

static json_t *real_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static void print_line(json_t *json, FILE *out)
{
	char *line = json ? json_dumps(json, JSON_REAL_PRECISION(6)) : NULL;

	if (line)
		fprintf(out, "%s\n", line);
	free(line);
	json_decref(json);
	fflush(out);
}

void run_report_second(void *context, const struct run_second *second)
{
	const struct run_report *report = context;

	/* If memory is short, the chart lacks this second. */
	if (report->history)
		run_history_add(report->history, second);
	if (!report->json) {
		fprintf(report->out, "%7.1f %10.3f %10.3f %12.0f %8.0f %8llu %8llu %6u %6u %9u %10.2f\n", second->s,
			second->source_MBps, second->sink_MBps, second->latency_p99_us, second->gap_ms,
			(unsigned long long)second->lost, (unsigned long long)second->duplicated, second->links_down,
			second->links_lossy, second->rerouted, second->reroute_ms);
		fflush(report->out);
		return;
	}
	print_line(json_pack("{s:s, s:f, s:f, s:f, s:o, s:f, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "schema",
			     "nomora.dataflow-run-second/1", "s", second->s, "source_MBps", second->source_MBps,
			     "sink_MBps", second->sink_MBps, "latency_p99_us", real_or_null(second->latency_p99_us),
			     "gap_ms", second->gap_ms, "lost", (json_int_t)second->lost, "duplicated",
			     (json_int_t)second->duplicated, "links_down", (json_int_t)second->links_down,
			     "links_lossy", (json_int_t)second->links_lossy, "rerouted", (json_int_t)second->rerouted,
			     "reroute_ms", second->reroute_ms, "notice_windows", second->notice_windows),
		   report->out);
}

static void print_cause(const struct run_failure *failure, char cause[64])
{
	if (WIFSIGNALED(failure->status))
		snprintf(cause, 64, "killed by signal %d", WTERMSIG(failure->status));
	else
		snprintf(cause, 64, "exit status %d before its end", WEXITSTATUS(failure->status));
}

static void name_task(const struct dataflow *dataflow, const char *job, uint32_t task,
		      char name[2 * DATAFLOW_NAME_BYTES])
{
	for (uint32_t j = 0; j < dataflow->job_count; j++)
		if (job == dataflow->jobs[j].name)
			dataflow_task_name(&dataflow->jobs[j], task, name);
}

static json_t *print_failures(const struct run_report *report, const struct dataflow *dataflow,
			      const struct run_result *result)
{
	json_t *failures = json_array();
	char task[2 * DATAFLOW_NAME_BYTES], cause[64];

	for (uint32_t i = 0; i < result->failure_count; i++) {
		const struct run_failure *failure = &result->failures[i];

		name_task(dataflow, failure->job, failure->task, task);
		print_cause(failure, cause);
		if (!report->json)
			fprintf(report->out, "%sjob %s ended at %.1f s: task %s on host %s: %s\n", i == 0 ? "\n" : "",
				failure->job, failure->s, task, failure->host, cause);
		json_array_append_new(failures,
				      json_pack("{s:s, s:s, s:s, s:f, s:s}", "job", failure->job, "task", task, "host",
						failure->host, "s", failure->s, "cause", cause));
	}
	return failures;
}

static json_t *print_flows(const struct run_report *report, const struct run_result *result)
{
	json_t *flows = json_array();

	if (!report->json && result->flow_count > 0)
		fprintf(report->out, "\n%-16s %-16s %11s %5s\n", "FROM", "TO", "SOURCE PORT", "PORT");
	for (size_t i = 0; i < result->flow_count; i++) {
		const struct run_flow *flow = &result->flows[i];

		if (!report->json)
			fprintf(report->out, "%-16s %-16s %11u %5u\n", flow->from, flow->to, flow->source_port,
				flow->port);
		json_array_append_new(flows,
				      json_pack("{s:s, s:s, s:i, s:i}", "from_host", flow->from, "to_host", flow->to,
						"source_port", (int)flow->source_port, "port", (int)flow->port));
	}
	return flows;
}

void run_report_result(const struct run_report *report, const struct dataflow *dataflow,
		       const struct run_result *result)
{
	json_t *failures = print_failures(report, dataflow, result), *sinks = json_array(),
	       *flows = print_flows(report, result);
	char task[2 * DATAFLOW_NAME_BYTES];

	if (!report->json)
		fprintf(report->out, "\n%-12s %-16s %14s %14s\n", "JOB", "SINK", "PREDICTED MB/s", "MEASURED MB/s");
	for (uint32_t i = 0; i < result->sink_count; i++) {
		const struct run_sink *sink = &result->sinks[i];

		name_task(dataflow, sink->job, sink->task, task);
		if (!report->json)
			fprintf(report->out, "%-12s %-16s %14.3f %14.3f\n", sink->job, task, sink->predicted_MBps,
				sink->measured_MBps);
		json_array_append_new(sinks, json_pack("{s:s, s:s, s:f, s:f}", "job", sink->job, "task", task,
						       "predicted_MBps", sink->predicted_MBps, "measured_MBps",
						       sink->measured_MBps));
	}
	if (report->json)
		print_line(json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:O, s:O, s:O}", "schema", "nomora.dataflow-run/1",
				     "complete", (int)result->complete, "sent", (json_int_t)result->sent, "received",
				     (json_int_t)result->received, "lost", (json_int_t)result->lost, "duplicated",
				     (json_int_t)result->duplicated, "failures", failures, "sinks", sinks, "flows",
				     flows),
			   report->out);
	else
		fprintf(report->out, "\n%llu tuples sent, %llu received, %llu lost, %llu duplicated\n",
			(unsigned long long)result->sent, (unsigned long long)result->received,
			(unsigned long long)result->lost, (unsigned long long)result->duplicated);
	json_decref(failures);
	json_decref(sinks);
	json_decref(flows);
}

void run_report_heading(const struct run_report *report)
{
	if (!report->json)
		fprintf(report->out, "%7s %10s %10s %12s %8s %8s %8s %6s %6s %9s %10s\n", "S", "SENT MB/s",
			"SINKS MB/s", "P99 us", "GAP ms", "LOST", "DOUBLED", "DOWN", "LOSSY", "REROUTED", "IN ms");
}
