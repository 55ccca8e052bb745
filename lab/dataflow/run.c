/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <lab/lab.h>

static int clean(const struct run *run, struct error *err)
{
	struct routes *routes;
	int code;

	run_return_links(run);
	if (run->options->keep_routes)
		return 0;
	routes = routes_open(run->lab, err);
	code = routes ? routes_set(routes, NULL, 0, NULL, err) : error_code(err, EIO);
	routes_close(routes);
	return code;
}

static void clean_for_dead(void *context)
{
	clean(context, NULL);
}

static int sum_up(struct run *run, struct run_result *result)
{
	const double MB = run->options->tuple_bytes / 1e6;

	for (uint32_t f = 0; f < run->fault_count; f++)
		result->faults_missed += run->faults[f].state == RUN_FAULT_AHEAD;
	result->sinks = calloc(run->task_count + 1u, sizeof *result->sinks);
	if (!result->sinks)
		return -ENOMEM;
	result->complete = true;
	for (uint32_t t = 0; t < run->task_count; t++) {
		const struct task_process *task = &run->tasks[t];
		double seconds = task->report.s - task->first_s;

		result->sent += task->report.sent;
		result->received += task->report.received;
		result->lost += task->report.lost;
		result->duplicated += task->report.duplicated;
		result->complete &= task->report.done;
		if (!run_is_sink(task))
			continue;
		result->sinks[result->sink_count++] = (struct run_sink){
			.job = task->job->job->name,
			.task = task->task,
			.predicted_MBps =
				task->predicted_s > 0 ? task->predicted_MB / task->predicted_s : task->predicted_MBps,
			.measured_MBps =
				seconds > 0 ? (double)(task->report.received - task->first_received) * MB / seconds : 0,
		};
	}
	result->complete &= result->sent == result->received;
	return 0;
}

static int set_routes(struct run *run, struct error *err)
{
	int code = routes_set(run->routes, run->fabric.routes, run->fabric.route_count, NULL, err);

	return code == 0 ? routes_check(run->routes, run->fabric.routes, run->fabric.route_count, err) : code;
}

/*
 * Removes the routes that another run has left in the switches, because they would take precedence over equal-cost
 * routes; then chooses source ports.
 */
static int take_ports(struct run *run, struct error *err)
{
	int code = routes_set(run->routes, NULL, 0, NULL, err);

	return code == 0 ? run_choose_ports(run, err) : code;
}

static int run_guarded(struct run *run, struct error *err)
{
	int code;

	run->routes = routes_open(run->lab, err);
	run->watch = run->routes ? watch_open(run->lab, err) : NULL;
	run->probes = run->watch ? probes_open(run->lab, err) : NULL;
	if (!run->probes)
		return error_code(err, EIO);
	code = fabric_list_routes(&run->fabric, run->plan->network, err);
	if (code == 0)
		code = run->options->ports ? take_ports(run, err) : set_routes(run, err);
	return code == 0 ? run_control(run, err) : code;
}

int run_plan(const struct lab *lab, struct dataflow *dataflow, struct dataflow_plan *plan,
	     const struct run_options *options, struct run_result *result, struct error *err)
{
	struct run run = {.lab = lab, .dataflow = dataflow, .plan = plan, .options = options};
	int code = run_draw_faults(&run, err);
	struct guard *guard = NULL;

	*result = (struct run_result){0};
	run.failures = calloc(plan->job_count + 1, sizeof *run.failures);
	if (code == 0 && !run.failures)
		code = error_set(err, ENOMEM, "out of memory");
	if (code == 0)
		code = fabric_init(&run.fabric, lab, plan->network, err);
	if (code == 0)
		code = run_make_tasks(&run, err);
	if (code == 0) {
		guard = guard_start(clean_for_dead, &run, err);
		code = guard ? run_guarded(&run, err) : error_code(err, EAGAIN);
	}
	if (code == 0 && sum_up(&run, result) < 0)
		code = error_set(err, ENOMEM, "out of memory");
	result->flows = run.flows;
	result->flow_count = run.flow_count;
	result->failures = run.failures;
	result->failure_count = run.failure_count;
	run_end_tasks(&run);
	if (guard && clean(&run, code == 0 ? err : NULL) < 0 && code == 0)
		code = error_code(err, EIO);
	guard_release(guard);
	probes_close(run.probes);
	watch_close(run.watch);
	routes_close(run.routes);
	fabric_clear(&run.fabric);
	free(run.faults);
	return code;
}

int run_result_check(const struct run_result *result, struct error *err)
{
	if (result->failure_count > 0)
		return error_set(err, EIO, "%u job%s not run to the end, because the process of a task failed",
				 result->failure_count, result->failure_count == 1 ? " was" : "s were");
	if (!result->complete || result->lost + result->duplicated > 0)
		return error_set(err, EIO, "tuples were lost or duplicated");
	if (result->faults_missed > 0)
		return error_set(err, EIO, "the run ended before its fault: %u link%s not taken down",
				 result->faults_missed, result->faults_missed == 1 ? " was" : "s were");
	return 0;
}

void run_result_clear(struct run_result *result)
{
	free(result->failures);
	free(result->sinks);
	free(result->flows);
}
