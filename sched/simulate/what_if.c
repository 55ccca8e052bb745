/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --what-if: runs both sets of options with the same seeds, and prints the differences of the metrics with 95 %
 * confidence intervals, computed from the pairs of runs with the same seed.
 */
#include "simulate_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/quantile.h>

static double area(const struct sim_result *result)
{
	return 100 * result->area;
}

static double area_worst(const struct sim_result *result)
{
	return 100 * result->area_worst;
}

static double task_mean(const struct sim_result *result)
{
	return 100 * result->task_mean;
}

static double placement_p50(const struct sim_result *result)
{
	return (double)histogram_percentile(result->placement_us, 50) / 1e6;
}

static double placement_p99(const struct sim_result *result)
{
	return (double)histogram_percentile(result->placement_us, 99) / 1e6;
}

static double response_p50(const struct sim_result *result)
{
	return (double)histogram_percentile(result->response_us, 50) / 1e6;
}

static double migrations(const struct sim_result *result)
{
	return (double)result->migrations / result->task_hours;
}

static double waiting(const struct sim_result *result)
{
	return result->waiting_mean;
}

static double utilisation(const struct sim_result *result)
{
	return 100 * result->utilisation_mean;
}

static const struct metric {
	const char *name;
	double (*of)(const struct sim_result *result);
} metrics[] = {
	{"area, %", area},
	{"area of the worst task, %", area_worst},
	{"mean over tasks, %", task_mean},
	{"placement latency p50, s", placement_p50},
	{"placement latency p99, s", placement_p99},
	{"response time p50, s", response_p50},
	{"migrations per task-hour", migrations},
	{"waiting tasks, mean", waiting},
	{"utilisation, %", utilisation},
};
enum { METRICS = sizeof metrics / sizeof metrics[0] };

/* The metrics of all policies with each seed, without and with the changes of --what-if. */
struct samples {
	double *before, *after; /* [policies][METRICS][seeds] */
	size_t seeds;
};

static size_t place(const struct samples *samples, size_t policy, size_t metric, size_t seed)
{
	return (policy * METRICS + metric) * samples->seeds + seed;
}

/* Runs every policy with the seed options->seed + seed, and stores the metrics in values[]. */
static int sample(const struct simulate_options *options, size_t seed, const struct samples *samples, double *values,
		  char (*names)[SIMULATE_NAME_BYTES], size_t *policy_count, struct error *err)
{
	struct simulate_options seeded = *options;
	struct simulate simulate;
	int code;

	seeded.seed = options->seed + (int64_t)seed;
	code = simulate_whole(&simulate, &seeded, err);
	for (size_t p = 0; p < simulate.policy_count && code == 0; p++) {
		snprintf(names[p], SIMULATE_NAME_BYTES, "%s", simulate.policies[p].name);
		for (size_t m = 0; m < METRICS; m++)
			values[place(samples, p, m, seed)] = metrics[m].of(&simulate.policies[p].result);
	}
	*policy_count = simulate.policy_count;
	simulate_free(&simulate);
	return code;
}

static double mean(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return sum / (double)count;
}

/* Half the width of the 95 % confidence interval of the mean of the paired differences. */
static double half_width(const double *before, const double *after, size_t count)
{
	double difference = mean(after, count) - mean(before, count), squares = 0;

	for (size_t i = 0; i < count; i++)
		squares += pow(after[i] - before[i] - difference, 2);
	return quantile_student(0.05, (double)count - 1) * sqrt(squares / (double)(count - 1) / (double)count);
}

/* "-" for NAN, as of a workload whose jobs all have one task. */
static void print_number(FILE *out, const char *format, double number)
{
	if (isnan(number))
		fprintf(out, " %12s", "-");
	else
		fprintf(out, format, number);
}

static void print_differences(const struct samples *samples, char (*names)[SIMULATE_NAME_BYTES], size_t policy_count,
			      FILE *out)
{
	fprintf(out, "Difference with 95 %% confidence interval, %zu paired seeds\n", samples->seeds);
	for (size_t p = 0; p < policy_count; p++) {
		fprintf(out, "\n%s\n  %-28s %12s %12s %12s %12s\n", names[p], "", "BEFORE", "AFTER", "DIFFERENCE",
			"+-");
		for (size_t m = 0; m < METRICS; m++) {
			const double *before = &samples->before[place(samples, p, m, 0)];
			const double *after = &samples->after[place(samples, p, m, 0)];

			fprintf(out, "  %-28s", metrics[m].name);
			print_number(out, " %12.3f", mean(before, samples->seeds));
			print_number(out, " %12.3f", mean(after, samples->seeds));
			print_number(out, " %+12.3f", mean(after, samples->seeds) - mean(before, samples->seeds));
			print_number(out, " %12.3f", half_width(before, after, samples->seeds));
			fputc('\n', out);
		}
	}
}

int simulate_what_if(const struct simulate_options *options, const struct simulate_options *changed, FILE *out,
		     struct error *err)
{
	struct samples samples = {.seeds = (size_t)options->seeds};
	char names[SIMULATE_POLICIES_MAXIMUM][SIMULATE_NAME_BYTES];
	size_t policy_count = 0, count_after = 0, count = SIMULATE_POLICIES_MAXIMUM * METRICS * samples.seeds;
	int code = simulate_check(changed, err);

	samples.before = calloc(count, sizeof *samples.before);
	samples.after = calloc(count, sizeof *samples.after);
	if (code == 0 && (!samples.before || !samples.after))
		code = error_set(err, ENOMEM, "out of memory");
	for (size_t seed = 0; seed < samples.seeds && code == 0; seed++) {
		code = sample(options, seed, &samples, samples.before, names, &policy_count, err);
		if (code == 0)
			code = sample(changed, seed, &samples, samples.after, names, &count_after, err);
	}
	if (code == 0 && policy_count != count_after)
		code = error_set(err, EINVAL, "--what-if: the change must not alter the number of policies");
	if (code == 0)
		print_differences(&samples, names, policy_count, out);
	free(samples.before);
	free(samples.after);
	return code;
}
