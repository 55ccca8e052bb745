/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweeper_priv.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <base/file.h>

/*
 * Extra runs are made to reach the plan's precision. This is the run number of the first reference between extra runs;
 * all references between the plan's repetitions have lower numbers.
 */
static const int64_t extra_references = INT64_C(1000) * SWEEP_REFERENCE_RUN;

bool levels_has_rows(const struct sweeper *sweeper)
{
	struct file_lines *lines = file_lines_open(sweeper->plan->output, NULL);
	char *line;
	int count = 0;

	while (count < 2 && lines && file_lines_next(lines, &line, NULL) > 0)
		count += line[0] != '\0' && line[0] != '#';
	file_lines_close(lines);
	return count == 2;
}

static void add_value(struct sweep_level *level, const struct sweep_row *row)
{
	double step = row->value - level->mean;

	/* Welford's recurrence. Until the last value was added, `deviation` holds the sum of squared deviations. */
	level->runs++;
	level->mean += step / (double)level->runs;
	level->deviation += step * (row->value - level->mean);
	if (row->run >= level->next_run && row->run < SWEEP_REFERENCE_RUN)
		level->next_run = row->run + 1;
	if (row->run >= level->next_reference)
		level->next_reference = row->run + 1;
}

/* Computes one level for each delay of the plan, in the plan's order. Returns 0, or -errno with err set. */
static int read_levels(const struct sweeper *sweeper, struct sweep_level *levels, struct error *err)
{
	struct sweep *sweep;
	int metric;

	for (size_t i = 0; i < sweeper->delay_count; i++)
		levels[i] = (struct sweep_level){.delay_us = sweeper->delays_us[i], .next_reference = extra_references};
	if (!levels_has_rows(sweeper))
		return 0;
	sweep = sweep_read(file_lines_open(sweeper->plan->output, err), err);
	if (!sweep)
		return error_code(err, EINVAL);
	metric = sweep_find_metric(sweep, sweeper->metrics[0].name);
	for (size_t i = 0; i < sweeper->delay_count; i++) {
		struct sweep_level *level = &levels[i];

		for (size_t k = 0; k < sweep->count; k++) {
			const struct sweep_row *row = &sweep->rows[k];

			if ((int)row->metric == metric && row->delay_us == level->delay_us &&
			    (int)row->direction == sweeper->plan->direction)
				add_value(level, row);
		}
		level->deviation = level->runs > 1 ? sqrt(level->deviation / (double)(level->runs - 1)) : 0;
	}
	sweep_destroy(sweep);
	return 0;
}

double level_error_percent(const struct sweep_level *level)
{
	if (level->runs < 2 || level->mean == 0)
		return INFINITY;
	return 100 * level->deviation / sqrt((double)level->runs) / fabs(level->mean);
}

bool level_is_repeatable(const struct sweep_plan *plan, const struct sweep_level *level)
{
	return plan->precision_percent <= 0 || level_error_percent(level) <= plan->precision_percent;
}

/*
 * Copies the extra runs to sweeper->runs and inserts references. The first number for a reference is next_reference of
 * the level of the smallest delay, because references are runs at this delay.
 */
static size_t add_references(struct sweeper *sweeper, const struct sweep_level *levels,
			     const struct sweep_schedule_run *runs, size_t count)
{
	double smallest_us = sweep_schedule_smallest(sweeper->delays_us, sweeper->delay_count);
	int64_t number = 0;

	for (size_t i = 0; i < sweeper->delay_count; i++)
		if (levels[i].delay_us == smallest_us)
			number = levels[i].next_reference;
	return sweep_schedule_add_references(runs, count, smallest_us, sweeper->plan->reference_every, number,
					     sweeper->runs);
}

int levels_schedule_extra(struct sweeper *sweeper, struct error *err)
{
	const struct sweep_plan *plan = sweeper->plan;
	struct sweep_level levels[SWEEP_SCHEDULE_DELAYS_MAXIMUM];
	struct sweep_schedule_run runs[SWEEP_SCHEDULE_DELAYS_MAXIMUM];
	size_t count = 0;
	int code;

	if (plan->precision_percent <= 0)
		return 0;
	code = read_levels(sweeper, levels, err);
	if (code)
		return code;
	for (size_t i = 0; i < sweeper->delay_count; i++)
		if (!level_is_repeatable(plan, &levels[i]) && levels[i].runs < 2 * plan->repetitions)
			runs[count++] =
				(struct sweep_schedule_run){.delay_us = levels[i].delay_us, .run = levels[i].next_run};
	if (count > 0 && plan->reference_every > 0)
		count = add_references(sweeper, levels, runs, count);
	else
		memcpy(sweeper->runs, runs, count * sizeof *runs);
	sweeper->run_count = count;
	sweeper->summary->extra += count;
	return (int)count;
}

static void write_level(const struct sweeper *sweeper, const struct sweep_level *level)
{
	struct sweep_log_level entry = {.delay_us = level->delay_us,
					.direction = (enum sweep_direction)sweeper->plan->direction,
					.metric = sweeper->metrics[0].name,
					.runs = level->runs,
					.mean = level->mean,
					.deviation = level->deviation,
					.standard_error_percent = level_error_percent(level),
					.repeatable = level_is_repeatable(sweeper->plan, level)};

	journal_level(sweeper, &entry);
}

int levels_conclude(struct sweeper *sweeper, struct error *err)
{
	struct sweep_level levels[SWEEP_SCHEDULE_DELAYS_MAXIMUM];
	int code = read_levels(sweeper, levels, err);

	for (size_t i = 0; i < sweeper->delay_count && !code; i++) {
		const struct sweep_level *level = &levels[i];

		if (level->runs == 0) /* all runs at this delay were left out and reported as such */
			continue;
		write_level(sweeper, level);
		if (level_is_repeatable(sweeper->plan, level))
			continue;
		sweeper->summary->unrepeatable++;
		sweeper_say(sweeper,
			    "%g us is not repeatable: %s %.4g, standard deviation %.2g, the standard error of the mean "
			    "of %lld runs is over %g %%",
			    level->delay_us, sweeper->metrics[0].name, level->mean, level->deviation,
			    (long long)level->runs, sweeper->plan->precision_percent);
	}
	return code;
}
