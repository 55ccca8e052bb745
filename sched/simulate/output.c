/* SPDX-License-Identifier: BSD-3-Clause */
/* Results as nomora.simulate/1, CSV and a table. */
#include <sched/simulate/simulate.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <base/file.h>
#include <base/json.h>
#include <base/number.h>

#include "simulate_priv.h"

/* Returns count, mean, quantiles and maximum, in seconds, of a histogram in microseconds. */
static json_t *seconds_json(const struct histogram *histogram)
{
	return json_pack("{s:I,s:f,s:f,s:f,s:f,s:f,s:f}", "count", (json_int_t)histogram_count(histogram), "mean_s",
			 histogram_mean(histogram) / 1e6, "p50_s", (double)histogram_percentile(histogram, 50) / 1e6,
			 "p90_s", (double)histogram_percentile(histogram, 90) / 1e6, "p99_s",
			 (double)histogram_percentile(histogram, 99) / 1e6, "p999_s",
			 (double)histogram_percentile(histogram, 99.9) / 1e6, "maximum_s",
			 (double)histogram_maximum(histogram) / 1e6);
}

/* The numbers of proposed moves that the rules refused, by reason. */
static json_t *refused_json(const struct sim_result *result)
{
	json_t *object = json_object();

	for (int r = MIGRATION_ALLOWED + 1; r < MIGRATION_REFUSALS; r++)
		json_object_set_new(object, migration_refusal_name((enum migration_refusal)r),
				    json_integer((json_int_t)result->refused[r]));
	return object;
}

static json_t *moves_json(const struct simulate_options *options)
{
	const struct migration_settings *moves = &options->moves;

	return json_pack("{s:s,s:f,s:f,s:I,s:I,s:I,s:s?,s:f,s:f}", "when", migration_mode_names[moves->mode], "gain",
			 moves->gain, "hold_s", moves->hold_s, "rate", (json_int_t)moves->rate, "per_machine",
			 (json_int_t)moves->per_machine, "per_job", (json_int_t)moves->per_job, "window",
			 options->windows, "restart_s", moves->restart_s, "no_return_s", moves->no_return_s);
}

static void add_moves(json_t *object, const struct simulate_policy *policy)
{
	const struct sim_result *result = &policy->result;

	json_object_set_new(object, "moves",
			    json_pack("{s:I,s:I,s:I,s:I,s:o}", "migrations", (json_int_t)result->migrations,
				      "preemptions", (json_int_t)result->preemptions, "evictions",
				      (json_int_t)result->evictions, "ping_pongs", (json_int_t)result->ping_pongs,
				      "migrations_per_task_hour",
				      json_number_or_null((double)result->migrations / result->task_hours)));
	if (policy->settings.moves.mode != MIGRATION_OFF)
		json_object_update_new(json_object_get(object, "moves"),
				       json_pack("{s:I, s:o}", "allowed",
						 (json_int_t)result->refused[MIGRATION_ALLOWED], "refused",
						 refused_json(result)));
	json_object_set_new(object, "migrated_share_of_running",
			    json_pack("{s:f,s:f,s:f}", "mean", histogram_mean(result->migrated_ppm) / 1e6, "p99",
				      (double)histogram_percentile(result->migrated_ppm, 99) / 1e6, "maximum",
				      (double)histogram_maximum(result->migrated_ppm) / 1e6));
}

static void add_times(json_t *object, const struct sim_result *result)
{
	json_object_set_new(object, "rounds", json_integer((json_int_t)result->rounds));
	json_object_set_new(object, "solves", json_integer((json_int_t)result->solves));
	json_object_set_new(object, "round_virtual", seconds_json(result->took_us));
	json_object_set_new(object, "placement_latency", seconds_json(result->placement_us));
	json_object_set_new(object, "wait_for_root", seconds_json(result->wait_root_us));
	json_object_set_new(object, "wait_for_slot", seconds_json(result->wait_slot_us));
	json_object_set_new(object, "wait_for_solver", seconds_json(result->wait_solver_us));
	json_object_set_new(object, "response_time", seconds_json(result->response_us));
}

static json_t *policy_json(const struct simulate_policy *policy)
{
	const struct sim_result *result = &policy->result;
	const struct policy_settings *settings = &policy->settings.policy_settings;
	json_t *object = json_pack("{s:s,s:b,s:s,s:i,s:i,s:b,s:f,s:f}", "name", policy->name, "complete",
				   policy->done && result->complete, "policy", policy->settings.policy->name, "p_m",
				   (int)settings->machine_threshold, "p_r", (int)settings->rack_threshold, "preemption",
				   settings->flow.preemption, "beta_per_s", settings->flow.beta_per_s, "round_s",
				   (double)policy->settings.round_us / 1e6);

	if (!policy->done)
		return object;
	json_object_set_new(object, "simulated_s", json_real((double)result->end_us / 1e6));
	json_object_set_new(object, "performance",
			    json_pack("{s:I,s:o,s:o,s:o,s:o,s:o,s:o}", "jobs", (json_int_t)result->job_count, "area",
				      json_number_or_null(result->area), "area_worst_task",
				      json_number_or_null(result->area_worst), "area_best_other",
				      json_number_or_null(result->area_other), "task_mean",
				      json_number_or_null(result->task_mean), "area_first_second",
				      json_number_or_null(result->start_area), "task_mean_first_second",
				      json_number_or_null(result->start_task_mean)));
	json_object_set_new(object, "tasks",
			    json_pack("{s:I,s:I,s:I,s:I,s:f}", "submitted", (json_int_t)result->submitted, "finished",
				      (json_int_t)result->finished, "running", (json_int_t)result->running, "waiting",
				      (json_int_t)result->waiting, "task_hours", result->task_hours));
	add_moves(object, policy);
	add_times(object, result);
	if (policy->settings.bound && result->cost_bound > 0)
		json_object_set_new(object, "gap",
				    json_pack("{s:I,s:I,s:f,s:f}", "cost", (json_int_t)result->cost, "cost_bound",
					      (json_int_t)result->cost_bound, "mean",
					      (double)result->cost / (double)result->cost_bound - 1, "maximum",
					      result->gap_maximum));
	json_object_set_new(
		object, "utilisation",
		json_pack("{s:f,s:f}", "mean", result->utilisation_mean, "maximum", result->utilisation_maximum));
	json_object_set_new(
		object, "waiting_tasks",
		json_pack("{s:f,s:I}", "mean", result->waiting_mean, "maximum", (json_int_t)result->waiting_maximum));
	json_object_set_new(object, "machines",
			    json_pack("{s:I,s:I}", "added", (json_int_t)result->machines_added, "removed",
				      (json_int_t)result->machines_removed));
	/*
	 * Wall clock and CPU times. Without --solver-time measured, only these figures differ between two runs with the
	 * same options.
	 */
	json_object_set_new(object, "wall",
			    json_pack("{s:f,s:f,s:f,s:f,s:o,s:o}", "total_s", result->wall_s, "solver_s",
				      result->solver_wall_s, "cpu_s", result->cpu_s, "solver_cpu_s",
				      result->solver_cpu_s, "round", seconds_json(result->runtime_us), "round_cpu",
				      seconds_json(result->cpu_us)));
	return object;
}

static json_t *problems_json(const struct google_trace_report *report, const struct batch_report *batch)
{
	json_t *object = json_object();

	for (int k = 0; k < BATCH_PROBLEMS; k++) {
		if (batch->problems[k])
			json_object_set_new(object, batch_problem_name((enum batch_problem)k),
					    json_pack("{s:I,s:s}", "count", (json_int_t)batch->problems[k], "first",
						      batch->first[k]));
	}

	for (int k = 0; k < GOOGLE_TRACE_PROBLEMS; k++) {
		if (report->problems[k])
			json_object_set_new(object, google_trace_problem_name((enum google_trace_problem)k),
					    json_pack("{s:I,s:s}", "count", (json_int_t)report->problems[k], "first",
						      report->first[k]));
	}
	return object;
}

static const char *source_name(const struct simulate_options *options)
{
	if (options->trace)
		return "trace";
	if (options->journal)
		return "journal";
	return options->swf ? "swf" : options->sacct ? "sacct" : options->csv ? "csv" : "synthetic";
}

static json_t *workload_json(const struct simulate *simulate)
{
	const struct workload *workload = simulate->workload;
	const struct workload_left_out *left_out = &workload->left_out;

	return json_pack("{s:s,s:I,s:I,s:I,s:I,s:o,s:{s:I,s:I,s:I,s:I,s:I,s:I}}", "source",
			 source_name(simulate->options), "rows",
			 (json_int_t)(simulate->trace_report.rows + simulate->journal_counts.events +
				      simulate->batch_report.rows),
			 "machines", (json_int_t)workload->machine_count, "jobs", (json_int_t)workload->job_count,
			 "tasks", (json_int_t)workload->task_count, "problems",
			 problems_json(&simulate->trace_report, &simulate->batch_report), "left_out",
			 "tasks_that_never_ran", (json_int_t)left_out->never_ran, "tasks_that_ended_too_early",
			 (json_int_t)left_out->too_early, "tasks_submitted_too_late", (json_int_t)left_out->too_late,
			 "tasks_outside_fraction", (json_int_t)left_out->not_drawn, "single_task_jobs",
			 (json_int_t)left_out->single_jobs, "machines_outside_fraction",
			 (json_int_t)left_out->machines_not_drawn);
}

bool simulate_complete(const struct simulate *simulate)
{
	for (size_t i = 0; i < simulate->policy_count; i++) {
		if (!simulate->policies[i].done || !simulate->policies[i].result.complete)
			return false;
	}
	return true;
}

static json_t *settings_json(const struct simulate *simulate)
{
	const struct simulate_options *options = simulate->options;
	const double *level_us = simulate->policies[0].settings.latency.level_us;
	json_t *object = json_pack(
		"{s:f,s:f,s:f,s:b,s:I,s:s,s:s,s:f,s:f,s:b,s:s,s:s,s:I,s:I,s:f,s:{s:f,s:f,s:f,s:f,"
		"s:f,s:f,s:f},s:s,s:I}",
		"hours", (double)simulate->end_us / 3.6e9, "fraction", options->fraction, "speed_up", options->speed_up,
		"keep_single", options->keep_single, "slots", (json_int_t)simulate->slots, "topology",
		options->topology, "solver_time", options->solver_time, "round_s", options->round_s, "migration_cost_s",
		options->migration_cost_s, "lose_work", options->lose_work, "roots", simulate_roots[options->roots],
		"spill", options->spill == 0 ? "any" : "best", "unscheduled_capacity",
		(json_int_t)options->unscheduled_capacity, "gamma", (json_int_t)options->gamma, "omega_per_s",
		options->omega_per_s, "latency", "rack_us", level_us[SIM_SAME_RACK], "pod_us", level_us[SIM_SAME_POD],
		"across_us", level_us[SIM_OTHER_POD], "spread", options->spread, "drift", options->drift, "noise",
		options->noise, "spike_chance", options->spike_chance, "curve_mix", options->curve_mix, "seed",
		(json_int_t)options->seed);

	json_object_set_new(object, "workers", json_string(simulate_workers[options->workers]));
	json_object_set_new(object, "weights", json_string(policy_weights_names[options->weights]));
	json_object_set_new(object, "machine_arcs", json_integer(options->machine_arcs));
	if (options->two_digits)
		json_object_set_new(object, "two_significant_digits", json_true());
	if (options->moves.mode != MIGRATION_OFF)
		json_object_set_new(object, "migrate", moves_json(options));
	if (options->job_curves)
		json_object_set_new(object, "job_curves", json_string(options->job_curves));
	if (options->latency_age_s > 0)
		json_object_set_new(json_object_get(object, "latency"), "age_s", json_integer(options->latency_age_s));
	if (options->measurement_error > 0)
		json_object_set_new(json_object_get(object, "latency"), "error", json_real(options->measurement_error));
	if (options->series)
		json_object_set_new(json_object_get(object, "latency"), "series", json_string(options->series));
	return object;
}

static json_t *summary_json(const struct simulate *simulate)
{
	json_t *results = json_array();

	for (size_t i = 0; i < simulate->policy_count; i++)
		json_array_append_new(results, policy_json(&simulate->policies[i]));
	return json_pack("{s:s,s:b,s:o,s:o,s:o}", "schema", "nomora.simulate/1", "complete",
			 simulate_complete(simulate), "workload", workload_json(simulate), "settings",
			 settings_json(simulate), "policies", results);
}

int simulate_write_summary(const struct simulate *simulate, const char *folder, struct error *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/summary.json", folder);
	return json_write_file_new(path, summary_json(simulate), err);
}

int simulate_print_summary(const struct simulate *simulate, FILE *out)
{
	json_t *root = summary_json(simulate);
	char *text = root ? json_to_text(root) : NULL;
	int code = text && fprintf(out, "%s\n", text) > 0 ? 0 : -EIO;

	free(text);
	json_decref(root);
	return code;
}

int simulate_write_jobs(const struct simulate *simulate, const char *folder, struct error *err)
{
	struct file_writer *writer;
	char path[PATH_MAX];
	FILE *out;

	snprintf(path, sizeof path, "%s/jobs.csv", folder);
	writer = file_writer_open(path, err);
	if (!writer)
		return error_code(err, EIO);
	out = file_writer_stream(writer);
	fputs("policy,job,tasks,curve,seconds,average,worst_task,average_best_other,task_mean\n", out);
	for (size_t i = 0; i < simulate->policy_count; i++) {
		const struct simulate_policy *policy = &simulate->policies[i];

		for (size_t j = 0; j < policy->result.job_count; j++) {
			const struct sim_job_result *job = &policy->result.jobs[j];

			fprintf(out, "%zu,%" PRIu64 ",%u,%s,%" PRIu64 ",%.6f,%.6f,%.6f,%.6f\n", i + 1, job->id,
				job->tasks, policy->settings.curves[job->curve]->application,
				job->performance.intervals, performance_average(&job->performance),
				performance_worst(&job->performance), performance_average_other(&job->performance),
				job->task_sum / job->task_samples);
		}
	}
	return file_writer_commit(writer, err);
}

void simulate_print_share(FILE *out, double share)
{
	if (isnan(share))
		fprintf(out, " %6s", "-");
	else
		fprintf(out, " %5.1f%%", 100 * share);
}

static void print_percentile(FILE *out, const struct histogram *durations_us, double percent)
{
	double seconds = (double)histogram_percentile(durations_us, percent) / 1e6;

	if (histogram_count(durations_us) == 0)
		fprintf(out, " %10s", "-");
	else if (seconds < 1)
		fprintf(out, " %7.1f ms", seconds * 1e3);
	else
		fprintf(out, " %8.1f s", seconds);
}

static void print_left_out(uint64_t count, const char *noun, const char *what, FILE *out)
{
	if (count > 0)
		fprintf(out, ", %" PRIu64 " %s%s %s", count, noun, number_s(count), what);
}

/* Prints the rows that the readers left out, by reason. */
static void print_rows_left_out(const struct simulate *simulate, FILE *out)
{
	const struct batch_report *batch = &simulate->batch_report;
	const struct google_trace_report *trace = &simulate->trace_report;
	const uint64_t counts[] = {batch->problems[BATCH_COLUMNS],        batch->problems[BATCH_NUMBER],
				   batch->problems[BATCH_ORDER],          batch->problems[BATCH_TASKS],
				   trace->problems[GOOGLE_TRACE_COLUMNS], trace->problems[GOOGLE_TRACE_NUMBER],
				   trace->problems[GOOGLE_TRACE_EVENT],   batch->partial};
	static const char *const reasons[] = {
		"with too few columns",           "with a bad number or time",
		"of jobs out of order",           "of jobs without processors or with over 1,000,000",
		"with a wrong number of columns", "with a bad number",
		"with an unknown event",          "of partial executions"};

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		print_left_out(counts[i], "row", reasons[i], out);
}

/* With --gap. */
static void print_gaps(const struct simulate *simulate, FILE *out)
{
	for (size_t i = 0; i < simulate->policy_count; i++) {
		const struct simulate_policy *policy = &simulate->policies[i];
		const struct sim_result *result = &policy->result;

		if (policy->done && result->cost_bound > 0)
			fprintf(out,
				"%s%s: the tasks that the rounds placed cost %.1f %% more than is proved to be least, "
				"in "
				"one round at most %.1f %%\n",
				i == 0 ? "\n" : "", policy->name,
				100 * ((double)result->cost / (double)result->cost_bound - 1),
				100 * result->gap_maximum);
	}
}

void simulate_print_table(const struct simulate *simulate, FILE *out)
{
	const struct workload *workload = simulate->workload;

	fprintf(out,
		"%zu machine%s, %zu job%s, %zu task%s; left out: %" PRIu64 " task%s that never ran, %" PRIu64
		" job%s of one task",
		workload->machine_count, number_s(workload->machine_count), workload->job_count,
		number_s(workload->job_count), workload->task_count, number_s(workload->task_count),
		workload->left_out.never_ran, number_s(workload->left_out.never_ran), workload->left_out.single_jobs,
		number_s(workload->left_out.single_jobs));
	print_left_out(workload->left_out.too_early, "task", "that ended before the simulated time (--from)", out);
	print_left_out(workload->left_out.too_late, "task", "submitted after the simulated time (--until, --hours)",
		       out);
	print_left_out(workload->left_out.not_drawn, "task", "outside --fraction", out);
	print_left_out(workload->left_out.machines_not_drawn, "machine", "outside --fraction", out);
	print_rows_left_out(simulate, out);
	fputc('\n', out);
	simulate_print_window(simulate, out);
	fputc('\n', out);
	fprintf(out, "%-38s %6s %6s %6s %10s %10s %10s %10s %9s %7s\n", "POLICY", "AREA", "WORST", "TASKS",
		"PLACED p50", "p99", "ROUND p50", "p99", "MIGRATED", "WAITING");
	for (size_t i = 0; i < simulate->policy_count; i++) {
		const struct simulate_policy *policy = &simulate->policies[i];
		const struct sim_result *result = &policy->result;

		if (!policy->done) {
			fprintf(out, "%-38s not run\n", policy->name);
			continue;
		}
		fprintf(out, "%-38s", policy->name);
		simulate_print_share(out, result->area);
		simulate_print_share(out, result->area_worst);
		simulate_print_share(out, result->task_mean);
		print_percentile(out, result->placement_us, 50);
		print_percentile(out, result->placement_us, 99);
		print_percentile(out, result->cpu_us, 50);
		print_percentile(out, result->cpu_us, 99);
		fprintf(out, " %9" PRIu64 " %7.0f%s\n", result->migrations, result->waiting_mean,
			result->complete ? "" : "  (stopped)");
	}
	print_gaps(simulate, out);
	fprintf(out, "\nAREA is the mean over jobs of the average application performance, WORST the same of each "
		     "job's worst "
		     "task, TASKS\nthe mean over tasks. The times of rounds are CPU time.\n");
}
