/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/number.h>
#include <base/quantile.h>
#include <base/array.h>

#include "prepare_priv.h"

enum { LEVELS_MINIMUM = 3, LEVELS_MAXIMUM = 2000 };

/*
 * A run or a deviation that is larger than this multiple of the baseline is not a measurement, and its square could
 * overflow.
 */
static const double performance_most = 1e6;
/* Smallest deviation that the file may give, relative to the baseline; 0 means unknown. */
static const double deviation_least = 1e-12;
/*
 * Latency does not make an application this many times faster than its baseline: if a level's mean is larger, the data
 * are in percent or another unit.
 */
static const double level_most = 3;
/* Plain data must be relative to the baseline: the performance at the smallest x must be within these limits. */
static const double first_least = 0.5, first_most = 2;

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

/*
 * Sets out->baseline_rtt_us to the median over the rows: each invocation of the sweep measured the round trip once and
 * wrote it to its rows.
 */
static void take_baseline_rtt(struct preparation *preparation)
{
	const struct sweep *sweep = preparation->sweep;
	double *values = malloc((sweep->count + 1) * sizeof *values);
	size_t count = 0;

	preparation->out->baseline_rtt_us = NAN;
	for (size_t i = 0; values && i < sweep->count; i++)
		if (isfinite(sweep->rows[i].baseline_rtt_us))
			values[count++] = sweep->rows[i].baseline_rtt_us;
	if (count > 0)
		preparation->out->baseline_rtt_us = quantile_median(values, count);
	free(values);
}

/* Copies the metric's runs; refuses values that cannot be a performance. */
static int take_runs(struct preparation *preparation, size_t metric)
{
	const struct sweep *sweep = preparation->sweep;
	bool lower = sweep->metrics[metric].better == SWEEP_LOWER;
	int rc;

	preparation->runs = calloc(sweep->count, sizeof *preparation->runs);
	if (!preparation->runs)
		return error_set(preparation->err, ENOMEM, "out of memory");
	for (size_t i = 0; i < sweep->count; i++) {
		const struct sweep_row *row = &sweep->rows[i];

		if (row->metric != metric || (row->disturbed && preparation->settings->without_disturbed))
			continue;
		preparation->out->disturbed += row->disturbed;
		if (row->value < 0)
			return fail(preparation, row->line, "value", "a performance must not be negative");
		if (lower && row->value == 0)
			return fail(preparation, row->line, "value", "a time must be above 0");
		preparation->runs[preparation->count++] = (struct run){.x_us = sweep_row_added_rtt_us(sweep, row),
								       .value = row->value,
								       .deviation = row->deviation,
								       .runs = (long)row->runs,
								       .block = row->run,
								       .line = row->line};
	}
	if (preparation->count == 0)
		return error_at(preparation->err, (struct error_place){sweep->file, 0, "disturbed"}, EINVAL,
				"every run is disturbed: nothing is left to fit");
	take_baseline_rtt(preparation);
	rc = prepare_references(preparation);
	qsort(preparation->runs, preparation->count, sizeof *preparation->runs, compare_runs);
	return rc;
}

static bool has_level(const struct preparation *preparation, double x_us)
{
	size_t at;

	SEARCH_LOWER_BOUND(at, 0, preparation->count, preparation->runs[at].x_us < x_us - PREPARE_SAME_LEVEL_US);
	return at < preparation->count && preparation->runs[at].x_us <= x_us + PREPARE_SAME_LEVEL_US;
}

/* Refuses a delay that has rows of other metrics only: the benchmark failed there, and a fit would hide that. */
static int refuse_missing(const struct preparation *preparation)
{
	const struct sweep *sweep = preparation->sweep;
	char text[256];

	for (size_t i = 0; i < sweep->count; i++) {
		const struct sweep_row *row = &sweep->rows[i];

		if (has_level(preparation, sweep_row_added_rtt_us(sweep, row)) ||
		    (row->disturbed && preparation->settings->without_disturbed))
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
		levels += runs[i].x_us > runs[i - 1].x_us + PREPARE_SAME_LEVEL_US;
		different += runs[i].value != runs[0].value;
	}
	if (levels < LEVELS_MINIMUM) {
		snprintf(text, sizeof text, "found %zu delay%s, expected at least %d different delays", levels,
			 number_s(levels), LEVELS_MINIMUM);
		return fail(preparation, runs[preparation->count - 1].line,
			    preparation->sweep->plain ? "latency_us" : "delay_us", text);
	}
	if (levels > LEVELS_MAXIMUM) {
		snprintf(text, sizeof text, "found %zu different delays, expected at most %d: round them", levels,
			 LEVELS_MAXIMUM);
		return fail(preparation, runs[preparation->count - 1].line,
			    preparation->sweep->plain ? "latency_us" : "delay_us", text);
	}
	if (different)
		return 0;
	snprintf(text, sizeof text, "every value is %g: the benchmark did not measure anything", runs[0].value);
	return fail(preparation, runs[preparation->count - 1].line, field, text);
}

/* Refuses runs that cannot be measurements; each run's y must be set. */
static int refuse_absurd(const struct preparation *preparation)
{
	char text[160];

	for (size_t i = 0; i < preparation->count; i++) {
		const struct run *run = &preparation->runs[i];

		if (run->deviation > 0 && run->deviation < deviation_least) {
			snprintf(text, sizeof text, "found %g, expected 0 (not known) or at least %g", run->deviation,
				 deviation_least);
			return fail(preparation, run->line, "deviation", text);
		}
		if (run->y <= performance_most && run->deviation <= performance_most)
			continue;
		snprintf(text, sizeof text, "%.3g times the baseline: expected at most %g times",
			 fmax(run->y, run->deviation), performance_most);
		return fail(preparation, run->line, run->y <= performance_most ? "deviation" : "value", text);
	}
	return 0;
}

/* Refuses data that are not performance relative to the baseline: percent, a wrong unit, swapped columns. */
static int refuse_not_relative(const struct preparation *preparation)
{
	const struct observations *out = preparation->out;
	const struct observation_level *first = &out->levels[0];
	const char *field = preparation->sweep->plain ? "performance" : "value";
	char text[200];

	if (preparation->sweep->plain && !(first->mean >= first_least && first->mean <= first_most)) {
		snprintf(text, sizeof text,
			 "expected performance relative to the baseline, about 1 at the smallest x (%g us), found %g%s",
			 first->x_us, first->mean, first->mean > 50 && first->mean < 200 ? ": percent?" : "");
		return fail(preparation, first->line, field, text);
	}
	for (size_t i = 0; i < out->count; i++) {
		if (out->levels[i].mean <= level_most)
			continue;
		snprintf(text, sizeof text, "%.3g times the baseline at %g us: expected at most %g%s",
			 out->levels[i].mean, out->levels[i].x_us, level_most,
			 preparation->sweep->plain ? "; are the columns swapped?" : "; is 'better' right?");
		return fail(preparation, out->levels[i].line, field, text);
	}
	return 0;
}

/*
 * Computes the baseline from the runs at x = 0, and the performance of each run relative to it (higher is better),
 * corrected for drift. Plain data are relative already; their baseline is 1.
 */
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
	for (; (size_t)count < preparation->count && preparation->runs[count].x_us <= PREPARE_SAME_LEVEL_US; count++)
		sum += preparation->runs[count].value;
	if (count == 0)
		return fail(preparation, preparation->runs[0].line, "delay_us",
			    "no row at delay 0: it is needed as the baseline");
	out->baseline_value = sum / (double)count;
	if (!(out->baseline_value > 0))
		return fail(preparation, preparation->runs[0].line, "value", "the baseline at delay 0 must be above 0");
	for (long i = 0; i < count; i++)
		squares += pow(preparation->runs[i].value - out->baseline_value, 2);
	out->baseline_deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
	for (size_t i = 0; i < preparation->count; i++) {
		const struct run *run = &preparation->runs[i];
		double performance = lower ? out->baseline_value / run->value : run->value / out->baseline_value;

		preparation->runs[i].y = performance / (1 - run->drift);
	}
	return 0;
}

static int refuse_metric(const struct sweep *sweep, const char *metric, struct error *err)
{
	char known[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < sweep->metric_count && used < sizeof known; i++)
		used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
					 sweep->metrics[i].name);
	return error_at(err, (struct error_place){sweep->file, 0, "metric"}, EINVAL, "unknown metric '%s'; known: %s%s",
			metric, known, used >= sizeof known ? "..." : "");
}

int observations_prepare(const struct sweep *sweep, const struct observation_settings *settings,
			 struct observations *observations, struct error *err)
{
	struct preparation preparation = {.sweep = sweep, .settings = settings, .out = observations, .err = err};
	int metric = settings->metric ? sweep_find_metric(sweep, settings->metric) : 0;
	int rc;

	memset(observations, 0, sizeof *observations);
	if (metric < 0)
		return refuse_metric(sweep, settings->metric, err);
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
		rc = refuse_absurd(&preparation);
	if (rc == 0)
		rc = prepare_outliers(&preparation);
	if (rc == 0)
		rc = prepare_levels(&preparation);
	if (rc == 0)
		rc = refuse_not_relative(&preparation);
	if (rc == 0)
		rc = prepare_weights(&preparation);
	if (rc == 0)
		rc = prepare_blocks(&preparation);
	free(preparation.runs);
	if (rc != 0)
		observations_free(observations);
	return rc;
}

void observations_free(struct observations *observations)
{
	free(observations->levels);
	free(observations->outliers);
	free(observations->blocks);
	memset(observations, 0, sizeof *observations);
}
