/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched/sim/generate.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/array.h>
#include <base/quantile.h>
#include <base/rng.h>
#include <model/batch_trace.h>
#include <model/google_trace.h>

static const double hour_us = 3.6e9, second_us = 1e6;

/* Returns the task-seconds of the job's tasks with an end. */
static double weight_of(const struct workload *workload, const struct workload_job *job)
{
	double sum_us = 0;

	for (uint32_t t = 0; t < job->task_count; t++) {
		int64_t run_us = workload->tasks[job->first_task + t].run_us;

		sum_us += run_us == WORKLOAD_TO_THE_END ? 0 : (double)run_us;
	}
	return sum_us / second_us;
}

static int read_trace(struct sim_like *like, const char *path, struct error *err)
{
	struct google_trace_options options = {.until_us = INT64_MAX};
	struct google_trace_report google;
	struct batch_report batch = {0};
	struct file_lines *lines;
	struct stat status;
	int code;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
		code = google_trace_read(like->workload, path, &options, &google, err);
		like->machines = like->workload->machine_count;
		return code;
	}
	lines = file_lines_open(path, err);
	code = lines ? batch_trace_read(like->workload, BATCH_CSV, lines, true, &batch, err) : error_code(err, ENOENT);
	file_lines_close(lines);
	like->peak_tasks = batch.peak_tasks;
	return code;
}

/* Hours of the first `hours` that are the given hour of a day. */
static double time_in_hour(double hours, int hour)
{
	double days = floor(hours / SIM_LIKE_HOURS), rest = hours - days * SIM_LIKE_HOURS - hour;

	return days + fmin(fmax(rest, 0), 1);
}

static void fit(struct sim_like *like)
{
	const struct workload *workload = like->workload;
	double last_us = 0;

	for (size_t j = 0; j < workload->job_count; j++) {
		const struct workload_job *job = &workload->jobs[j];
		int64_t at_us = workload_first_submission(workload, job);

		like->initial_jobs += at_us == 0;
		like->single_jobs += job->task_count == 1;
		like->task_hours += weight_of(workload, job) / 3600;
		last_us = fmax(last_us, (double)at_us);
		if (at_us > 0)
			like->jobs_per_hour[(int)fmod((double)at_us / hour_us, SIM_LIKE_HOURS)]++;
	}
	for (size_t t = 0; t < workload->task_count; t++)
		like->endless_tasks += workload->tasks[t].run_us == WORKLOAD_TO_THE_END;
	like->hours = (last_us + 1) / hour_us;
	for (int hour = 0; hour < SIM_LIKE_HOURS; hour++)
		like->jobs_per_hour[hour] /= fmax(time_in_hour(like->hours, hour), 1 / hour_us);
}

int sim_like_create(struct sim_like *like, const char *path, struct error *err)
{
	struct workload_filter all = {.end_us = INT64_MAX, .fraction = 1, .speed_up = 1, .keep_single = true};
	int code;

	*like = (struct sim_like){.workload = workload_create()};
	if (!like->workload)
		return error_set(err, ENOMEM, "out of memory");
	code = read_trace(like, path, err);
	if (code == 0 && workload_finish(like->workload, &all) != 0)
		code = error_set(err, ENOMEM, "out of memory");
	if (code == 0)
		fit(like);
	return code;
}

void sim_like_free(struct sim_like *like)
{
	workload_destroy(like->workload);
	*like = (struct sim_like){0};
}

static double quantile(const double *sorted, size_t count, double share)
{
	return count ? sorted[(size_t)(share * (double)(count - 1))] : NAN;
}

static void print_quantiles(const char *what, double *values, size_t count, FILE *out)
{
	quantile_sort(values, count);
	fprintf(out, "%s p10/p50/p90/p99/max: %g/%g/%g/%g/%g\n", what, quantile(values, count, 0.1),
		quantile(values, count, 0.5), quantile(values, count, 0.9), quantile(values, count, 0.99),
		quantile(values, count, 1));
}

int sim_like_print(const struct sim_like *like, FILE *out)
{
	const struct workload *workload = like->workload;
	double *values = malloc((workload->task_count + 1) * sizeof *values);
	size_t count = 0;

	if (!values)
		return -ENOMEM;
	fprintf(out,
		"taken: %zu jobs (%zu of one task, %zu at the start), %zu tasks (%zu without an end), %.1f "
		"task-hours, in %.2f hours\n",
		workload->job_count, like->single_jobs, like->initial_jobs, workload->task_count, like->endless_tasks,
		like->task_hours, like->hours);
	fputs("jobs submitted per hour, by hour of the day:", out);
	for (int hour = 0; hour < SIM_LIKE_HOURS; hour++)
		fprintf(out, " %.4g", like->jobs_per_hour[hour]);
	fputc('\n', out);
	for (size_t j = 0; j < workload->job_count; j++)
		values[j] = workload->jobs[j].task_count;
	print_quantiles("tasks of a job", values, workload->job_count, out);
	for (size_t t = 0; t < workload->task_count; t++)
		if (workload->tasks[t].run_us != WORKLOAD_TO_THE_END)
			values[count++] = (double)workload->tasks[t].run_us / second_us;
	print_quantiles("run time of a task, s,", values, count, out);
	free(values);
	return 0;
}

struct weighed {
	double weight;
	size_t job;
};

static int compare_weighed(const void *left, const void *right)
{
	const struct weighed *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? -1 : 1;
	return a->job < b->job ? -1 : a->job > b->job;
}

struct arrivals {
	double *at_us;
	size_t count, capacity;
};

/* Draws the times of submissions: in each hour the number that its rate gives, rounded so that the sum is right. */
static int draw_arrivals(const struct sim_like *like, double hours, struct rng *rng, struct arrivals *arrivals)
{
	double due = 0;

	for (int64_t hour = 0; (double)hour < hours; hour++) {
		double part = fmin(hours - (double)hour, 1);

		due += like->jobs_per_hour[hour % SIM_LIKE_HOURS] * part;
		while ((double)arrivals->count < round(due)) {
			double *larger =
				array_grow(arrivals->at_us, arrivals->count, &arrivals->capacity, sizeof *larger);

			if (!larger)
				return -ENOMEM;
			arrivals->at_us = larger;
			larger[arrivals->count++] = ((double)hour + part * rng_uniform(rng)) * hour_us;
		}
	}
	return 0;
}

static int add_job(struct workload *workload, const struct sim_like *like, size_t number, uint64_t id, int64_t at_us)
{
	const struct workload_job *job = &like->workload->jobs[number];
	int64_t first_us = workload_first_submission(like->workload, job);
	int code = 0;

	for (uint32_t t = 0; t < job->task_count && code == 0; t++) {
		const struct workload_task *task = &like->workload->tasks[job->first_task + t];

		code = workload_add_task(workload, id, t, at_us + task->submit_us - first_us, task->run_us);
	}
	return code;
}

/* Adds a job for each arrival, drawn from the jobs that the trace submits after time 0. */
static int add_drawn(struct workload *workload, const struct sim_like *like, struct rng *rng,
		     const struct arrivals *arrivals)
{
	size_t count = like->workload->job_count - like->initial_jobs, *drawn;
	struct weighed *jobs = calloc(count + 1, sizeof *jobs);
	int code = 0;

	drawn = calloc(arrivals->count + 1, sizeof *drawn);
	if (!jobs || !drawn)
		code = -ENOMEM;
	for (size_t i = 0; i < count && code == 0; i++) {
		size_t job = like->initial_jobs + i;

		jobs[i] = (struct weighed){weight_of(like->workload, &like->workload->jobs[job]), job};
	}
	if (code == 0)
		qsort(jobs, count, sizeof *jobs, compare_weighed);
	for (size_t i = 0; i < arrivals->count && code == 0; i++) {
		double at = ((double)i + rng_uniform(rng)) / (double)arrivals->count * (double)count;

		drawn[i] = jobs[at < (double)count ? (size_t)at : count - 1].job;
	}
	if (code == 0)
		rng_shuffle(rng, drawn, arrivals->count, sizeof *drawn);
	for (size_t i = 0; i < arrivals->count && code == 0; i++)
		code = add_job(workload, like, drawn[i], like->initial_jobs + i + 1, (int64_t)arrivals->at_us[i] + 1);
	free(jobs);
	free(drawn);
	return code;
}

struct workload *sim_like_generate(const struct sim_like *like, const struct sim_like_settings *settings)
{
	double hours = settings->hours > 0 ? settings->hours : like->hours;
	uint64_t machines = settings->machines ? settings->machines : like->machines;
	struct workload *workload = workload_create();
	struct arrivals arrivals = {0};
	struct rng rng;
	int code = workload ? 0 : -ENOMEM;

	if (machines == 0)
		machines = (like->peak_tasks + settings->slots - 1) / settings->slots;
	rng_seed(&rng, settings->seed);
	for (uint64_t m = 0; m < machines && code == 0; m++)
		code = workload_add_machine_event(workload, 0, 1000 + m, WORKLOAD_MACHINE_ADDED, 0.5F);
	for (size_t j = 0; j < like->initial_jobs && code == 0; j++)
		code = add_job(workload, like, j, j + 1, 0);
	if (code == 0)
		code = draw_arrivals(like, hours, &rng, &arrivals);
	if (code == 0)
		code = add_drawn(workload, like, &rng, &arrivals);
	free(arrivals.at_us);
	if (code == 0)
		return workload;
	workload_destroy(workload);
	return NULL;
}
