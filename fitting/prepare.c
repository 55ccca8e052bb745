/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fitting/monotone.h>
#include <fitting/observations.h>

enum { LEVELS_MINIMUM = 3, LEVELS_MAXIMUM = 2000 };

/* Runs this many robust deviations from their level's median are flagged: one in 150,000 of normal ones. */
static const double outlier_deviations = 4.5;
/* Median absolute deviation to standard deviation, for normal noise. */
static const double mad_to_deviation = 1.4826;
/* Delays closer than this, µs, are the same level: an injector sets nanoseconds. */
static const double same_level_us = 1e-3;

struct run {
	double x_us, value, y; /* y: normalised */
	double deviation;      /* plain form */
	double score;          /* robust deviations from the level's median */
	long runs, line;
	bool outlier;
};

struct preparation {
	const struct sweep *sweep;
	const struct observation_settings *settings;
	struct observations *out;
	struct run *runs; /* by rising x, then value */
	size_t count;
	struct error *err;
};

static int fail(const struct preparation *preparation, long line, const char *field, const char *text)
{
	return error_at(preparation->err, (struct error_place){preparation->sweep->file, line, field}, EINVAL, "%s",
			text);
}

static int compare_runs(const void *left, const void *right)
{
	const struct run *a = left, *b = right;

	if (a->x_us != b->x_us)
		return a->x_us < b->x_us ? -1 : 1;
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

/* The runs of the metric; values that cannot be a performance are refused. */
static int take_runs(struct preparation *preparation, size_t metric)
{
	const struct sweep *sweep = preparation->sweep;
	bool lower = sweep->metrics[metric].better == SWEEP_LOWER;

	preparation->runs = calloc(sweep->count, sizeof *preparation->runs);
	if (!preparation->runs)
		return error_set(preparation->err, ENOMEM, "out of memory");
	for (size_t i = 0; i < sweep->count; i++) {
		const struct sweep_row *row = &sweep->rows[i];

		if (row->metric != metric)
			continue;
		if (row->value < 0)
			return fail(preparation, row->line, "value", "a performance must not be negative");
		if (lower && row->value == 0)
			return fail(preparation, row->line, "value", "a time must be above 0");
		preparation->runs[preparation->count++] = (struct run){.x_us = sweep_row_added_rtt_us(sweep, row),
								       .value = row->value,
								       .deviation = row->deviation,
								       .runs = (long)row->runs,
								       .line = row->line};
	}
	qsort(preparation->runs, preparation->count, sizeof *preparation->runs, compare_runs);
	return 0;
}

static bool has_level(const struct preparation *preparation, double x_us)
{
	size_t low = 0, high = preparation->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (preparation->runs[middle].x_us < x_us - same_level_us)
			low = middle + 1;
		else
			high = middle;
	}
	return low < preparation->count && preparation->runs[low].x_us <= x_us + same_level_us;
}

/* A delay at which only other metrics were measured: the benchmark failed there, and a fit would hide it. */
static int refuse_missing(const struct preparation *preparation)
{
	const struct sweep *sweep = preparation->sweep;
	char text[256];

	for (size_t i = 0; i < sweep->count; i++) {
		const struct sweep_row *row = &sweep->rows[i];

		if (has_level(preparation, sweep_row_added_rtt_us(sweep, row)))
			continue;
		snprintf(text, sizeof text, "'%s' has no row at delay %g us, where '%s' has one",
			 preparation->out->metric.name, row->delay_us, sweep->metrics[row->metric].name);
		return fail(preparation, row->line, "metric", text);
	}
	return 0;
}

static int refuse_shapeless(const struct preparation *preparation)
{
	const struct run *runs = preparation->runs;
	const char *field = preparation->sweep->plain ? "performance" : "value";
	size_t levels = 1, different = 0;
	char text[160];

	for (size_t i = 1; i < preparation->count; i++) {
		levels += runs[i].x_us > runs[i - 1].x_us + same_level_us;
		different += runs[i].value != runs[0].value;
	}
	if (levels < LEVELS_MINIMUM) {
		snprintf(text, sizeof text, "%zu delay%s only: at least %d different delays expected", levels,
			 levels == 1 ? "" : "s", LEVELS_MINIMUM);
		return fail(preparation, runs[preparation->count - 1].line,
			    preparation->sweep->plain ? "latency_us" : "delay_us", text);
	}
	if (levels > LEVELS_MAXIMUM) {
		snprintf(text, sizeof text, "%zu different delays: at most %d expected; round them to fewer", levels,
			 LEVELS_MAXIMUM);
		return fail(preparation, runs[preparation->count - 1].line,
			    preparation->sweep->plain ? "latency_us" : "delay_us", text);
	}
	if (different)
		return 0;
	snprintf(text, sizeof text, "every value is %g: the benchmark did not measure anything", runs[0].value);
	return fail(preparation, runs[preparation->count - 1].line, field, text);
}

/* Baseline from the runs at x = 0; performance relative to it, higher is better. */
static int normalise(struct preparation *preparation)
{
	struct observations *out = preparation->out;
	bool lower = out->metric.better == SWEEP_LOWER;
	double sum = 0, squares = 0;
	long count = 0;

	if (preparation->sweep->plain) {
		out->baseline_known = true;
		out->baseline_value = 1;
		for (size_t i = 0; i < preparation->count; i++)
			preparation->runs[i].y = preparation->runs[i].value;
		return 0;
	}
	for (; (size_t)count < preparation->count && preparation->runs[count].x_us <= same_level_us; count++)
		sum += preparation->runs[count].value;
	if (count == 0)
		return fail(preparation, preparation->runs[0].line, "delay_us",
			    "no row at delay 0: the baseline to normalise to is missing");
	out->baseline_value = sum / (double)count;
	if (!(out->baseline_value > 0))
		return fail(preparation, preparation->runs[0].line, "value", "the baseline at delay 0 must be above 0");
	for (long i = 0; i < count; i++)
		squares += pow(preparation->runs[i].value - out->baseline_value, 2);
	out->baseline_deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
	for (size_t i = 0; i < preparation->count; i++)
		preparation->runs[i].y = lower ? out->baseline_value / preparation->runs[i].value
					       : preparation->runs[i].value / out->baseline_value;
	return 0;
}

static size_t level_end(const struct preparation *preparation, size_t from)
{
	size_t to = from + 1;

	while (to < preparation->count && preparation->runs[to].x_us <= preparation->runs[from].x_us + same_level_us)
		to++;
	return to;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

/* Runs of a level are sorted by value, and normalising keeps or reverses that order: the middle one is the median. */
static double level_median(const struct run *runs, size_t count)
{
	return count % 2 ? runs[count / 2].y : (runs[count / 2 - 1].y + runs[count / 2].y) / 2;
}

/* A level torn into two heaps has no outliers: it would have nothing left. */
static void flag_level(struct preparation *preparation, size_t from, size_t to)
{
	size_t flagged = 0;

	for (size_t i = from; i < to; i++)
		flagged += fabs(preparation->runs[i].score) > outlier_deviations;
	if (2 * flagged >= to - from)
		return;
	for (size_t i = from; i < to; i++)
		preparation->runs[i].outlier = fabs(preparation->runs[i].score) > outlier_deviations;
	preparation->out->outlier_count += flagged;
}

static double robust_deviation(double *distances, size_t count)
{
	qsort(distances, count, sizeof *distances, compare_doubles);
	return mad_to_deviation * distances[count / 2];
}

/*
 * Scores each run by its distance from its level's median, in pooled robust deviations: a level's own three runs say
 * nothing about scatter, all levels together do. An odd level's middle run is its median and says nothing either.
 * Scatter may be even or grow with performance; a run is flagged only if it stands out either way.
 */
static int flag_outliers(struct preparation *preparation)
{
	double *even = malloc(2 * preparation->count * sizeof *even), *proportional;
	double even_scale, proportional_scale;
	size_t used = 0, to;

	if (!even)
		return error_set(preparation->err, ENOMEM, "out of memory");
	proportional = even + preparation->count;
	for (size_t from = 0; from < preparation->count; from = to) {
		double median;

		to = level_end(preparation, from);
		median = level_median(&preparation->runs[from], to - from);
		for (size_t i = from; i < to; i++) {
			preparation->runs[i].score = preparation->runs[i].y - median;
			if (to - from < 3 || median <= 0 || ((to - from) % 2 && i == from + (to - from) / 2))
				continue;
			even[used] = fabs(preparation->runs[i].score);
			proportional[used++] = fabs(preparation->runs[i].score) / median;
		}
	}
	even_scale = used >= 12 ? robust_deviation(even, used) : 0;
	proportional_scale = used >= 12 ? robust_deviation(proportional, used) : 0;
	free(even);
	for (size_t from = 0; even_scale > 0 && from < preparation->count; from = to) {
		double median;

		to = level_end(preparation, from);
		median = level_median(&preparation->runs[from], to - from);
		for (size_t i = from; i < to; i++)
			preparation->runs[i].score /= fmax(even_scale, proportional_scale * median);
		if (to - from >= 3)
			flag_level(preparation, from, to);
	}
	return 0;
}

static int list_outliers(struct preparation *preparation)
{
	struct observations *out = preparation->out;
	size_t at = 0;

	if (out->outlier_count == 0)
		return 0;
	out->outliers = calloc(out->outlier_count, sizeof *out->outliers);
	if (!out->outliers)
		return error_set(preparation->err, ENOMEM, "out of memory");
	for (size_t i = 0; i < preparation->count; i++) {
		const struct run *run = &preparation->runs[i];

		if (run->outlier)
			out->outliers[at++] =
				(struct observation_outlier){run->line, run->x_us, run->value, run->y, run->score};
	}
	return 0;
}

/* Mean and deviation of the runs [from, to), their own deviations (plain form) included. */
static struct observation_level gather_level(const struct preparation *preparation, size_t from, size_t to)
{
	struct observation_level level = {.x_us = preparation->runs[from].x_us, .line = preparation->runs[from].line};
	double sum = 0, squares = 0;

	for (size_t i = from; i < to; i++) {
		const struct run *run = &preparation->runs[i];

		level.outliers += run->outlier;
		if (run->outlier && preparation->settings->without_outliers)
			continue;
		sum += (double)run->runs * run->y;
		level.runs += run->runs;
	}
	level.mean = sum / (double)level.runs;
	for (size_t i = from; i < to; i++) {
		const struct run *run = &preparation->runs[i];

		if (run->outlier && preparation->settings->without_outliers)
			continue;
		squares += (double)run->runs * pow(run->y - level.mean, 2);
		squares += (double)(run->runs - 1) * run->deviation * run->deviation;
		/* A deviation without a count of runs: all that is known of this level's scatter. */
		if (run->runs == 1 && to - from == 1)
			level.deviation = run->deviation;
	}
	if (level.runs > 1)
		level.deviation = sqrt(squares / (double)(level.runs - 1));
	return level;
}

static int gather_levels(struct preparation *preparation)
{
	struct observations *out = preparation->out;
	size_t to;

	out->levels = calloc(preparation->count, sizeof *out->levels);
	if (!out->levels)
		return error_set(preparation->err, ENOMEM, "out of memory");
	for (size_t from = 0; from < preparation->count; from = to) {
		to = level_end(preparation, from);
		out->levels[out->count] = gather_level(preparation, from, to);
		out->runs += out->levels[out->count].runs;
		out->scatter_dof += (double)(out->levels[out->count].runs - 1);
		out->count++;
	}
	return 0;
}

/*
 * Log-likelihood of the levels' deviations if a run's variance is factor * shape_i (shape 1 or mean^2), with the best
 * factor; that goes to *factor.
 */
static double noise_likelihood(const struct observations *out, const double *shape, double *factor)
{
	double sum = 0, likelihood = 0;

	for (size_t i = 0; i < out->count; i++)
		sum += (double)(out->levels[i].runs - 1) * pow(out->levels[i].deviation, 2) / shape[i];
	*factor = sum / out->scatter_dof;
	for (size_t i = 0; i < out->count; i++)
		likelihood -= 0.5 * (double)(out->levels[i].runs - 1) * log(*factor * shape[i]);
	return likelihood;
}

static void weigh_by_scatter(struct observations *out, const double *smooth, double *shape)
{
	double constant, proportional, likelihood;

	for (size_t i = 0; i < out->count; i++)
		shape[i] = 1;
	likelihood = noise_likelihood(out, shape, &constant);
	for (size_t i = 0; i < out->count; i++)
		shape[i] = fmax(smooth[i] * smooth[i], 1e-6);
	if (out->scatter_dof >= 10 && noise_likelihood(out, shape, &proportional) > likelihood) {
		out->noise = NOISE_PROPORTIONAL;
		constant = proportional;
	} else {
		for (size_t i = 0; i < out->count; i++)
			shape[i] = 1;
	}
	out->run_deviation = sqrt(constant);
	/* Repeats that agree to the last digit are copies, not measurements: they say nothing about noise. */
	if (!(constant > 0)) {
		constant = 1;
		out->scatter_dof = 0;
	}
	for (size_t i = 0; i < out->count; i++) {
		struct observation_level *level = &out->levels[i];

		level->weight = (double)level->runs / (constant * shape[i]);
		out->scatter += (double)(level->runs - 1) * pow(level->deviation, 2) / (constant * shape[i]);
	}
}

/* Levels' own deviations as they stand; those without one get the typical variance of the others. */
static void weigh_as_given(struct observations *out)
{
	double sum = 0;
	size_t given = 0;

	for (size_t i = 0; i < out->count; i++)
		if (out->levels[i].deviation > 0) {
			sum += pow(out->levels[i].deviation, 2);
			given++;
		}
	out->noise = 2 * given >= out->count ? NOISE_GIVEN : NOISE_CONSTANT;
	for (size_t i = 0; i < out->count; i++) {
		struct observation_level *level = &out->levels[i];
		double variance = 1;

		if (out->noise == NOISE_GIVEN)
			variance = level->deviation > 0 ? pow(level->deviation, 2) : sum / (double)given;
		level->weight = (double)level->runs / variance;
		if (out->noise == NOISE_GIVEN)
			out->scatter += (double)(level->runs - 1);
	}
	if (out->noise == NOISE_GIVEN)
		out->run_deviation = sqrt(sum / (double)given);
	else
		out->scatter_dof = 0;
}

static int weigh(struct preparation *preparation)
{
	struct observations *out = preparation->out;
	double *work = malloc(6 * out->count * sizeof *work);

	if (!work)
		return error_set(preparation->err, ENOMEM, "out of memory");
	for (size_t i = 0; i < out->count; i++) {
		work[i] = out->levels[i].mean;
		work[out->count + i] = (double)out->levels[i].runs;
	}
	if (out->scatter_dof >= 1 && !preparation->settings->absolute_sigma) {
		/* Smoothed means: a level that happened to come out low must not gain weight by it. */
		monotone_pool(work, work + out->count, out->count, work, work + 3 * out->count);
		weigh_by_scatter(out, work, work + 2 * out->count);
	} else {
		weigh_as_given(out);
	}
	free(work);
	return 0;
}

int observations_prepare(const struct sweep *sweep, const struct observation_settings *settings,
			 struct observations *observations, struct error *err)
{
	struct preparation preparation = {.sweep = sweep, .settings = settings, .out = observations, .err = err};
	int metric = settings->metric ? sweep_find_metric(sweep, settings->metric) : 0;
	int rc;

	memset(observations, 0, sizeof *observations);
	if (metric < 0)
		return error_at(err, (struct error_place){sweep->file, 0, "metric"}, EINVAL,
				"there is no metric '%s'; the first one is '%s'", settings->metric,
				sweep->metrics[0].name);
	observations->metric = sweep->metrics[metric];
	observations->without_outliers = settings->without_outliers;
	rc = take_runs(&preparation, (size_t)metric);
	if (rc == 0)
		rc = refuse_missing(&preparation);
	if (rc == 0)
		rc = refuse_shapeless(&preparation);
	if (rc == 0)
		rc = normalise(&preparation);
	if (rc == 0)
		rc = flag_outliers(&preparation);
	if (rc == 0)
		rc = list_outliers(&preparation);
	if (rc == 0)
		rc = gather_levels(&preparation);
	if (rc == 0)
		rc = weigh(&preparation);
	free(preparation.runs);
	if (rc != 0)
		observations_free(observations);
	return rc;
}

void observations_free(struct observations *observations)
{
	free(observations->levels);
	free(observations->outliers);
	memset(observations, 0, sizeof *observations);
}
