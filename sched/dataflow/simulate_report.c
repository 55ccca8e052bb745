/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated jobs' results as text and as JSON. */
#include <sched/dataflow/simulate.h>

#include <math.h>
#include <stdlib.h>

#include <base/number.h>
#include <base/quantile.h>

static double end_of(const struct dataflow_simulate_result *result)
{
	return result->rates[result->rate_count - 1].time_s;
}

/*
 * Returns the median time from arrival to end of the jobs that have ended, or NAN if none has. Sets *ended to the
 * number of jobs that have ended.
 */
static double median_completion_s(const struct dataflow_simulate_result *result, uint32_t *ended)
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

void simulate_result_print(const struct dataflow *dataflow, const struct dataflow_simulate_result *result, FILE *out)
{
	uint32_t ended;
	double median = median_completion_s(result, &ended), end_s = end_of(result);

	fprintf(out, "%-24s %12s %12s %12s %12s %10s\n", "JOB", "ARRIVAL s", "START s", "END s", "MB", "MB/s");
	for (uint32_t j = 0; j < result->job_count; j++) {
		const struct simulate_job *job = &result->jobs[j];
		double until = isfinite(job->end_s) ? job->end_s : end_s;

		fprintf(out, "%-24s %12.3f %12.3f %12.3f %12.2f %10.2f", dataflow->jobs[j].name, job->arrival_s,
			job->start_s, job->end_s, job->MB,
			until > job->start_s ? job->MB / (until - job->start_s) : NAN);
		if (job->moved_tasks > 0)
			fprintf(out, "  %u task%s moved", job->moved_tasks, number_s(job->moved_tasks));
		fputc('\n', out);
	}
	fprintf(out, "%u of %u job%s ended", ended, result->job_count, number_s(result->job_count));
	if (ended > 0)
		fprintf(out, ", half of them within %.3f s of their arrival", median);
	fprintf(out, "; all jobs together sent %.2f MB/s on average over %.3f s; %u route%s replaced after failures\n",
		end_s > 0 ? simulate_mean_MBps(result, 0, end_s) : 0, end_s, result->rerouted,
		number_s(result->rerouted));
}

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *simulate_result_to_json(const struct dataflow *dataflow, const struct dataflow_simulate_result *result,
				const char *engine)
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
