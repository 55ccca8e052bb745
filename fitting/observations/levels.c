/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects runs in levels, and computes the levels' weights and the replicate blocks. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <fitting/observations/observations.h>

#include "prepare_priv.h"

/*
 * Returns the level of the runs [from, to), with their mean and deviation. In the plain form (sweep.h), a row can be
 * the mean of several runs and give their deviation; the deviation of the level then includes it.
 */
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
		/*
		 * A single row of one run: its deviation in the file, if any, is all that is known of this level's
		 * scatter.
		 */
		if (run->runs == 1 && to - from == 1)
			level.deviation = run->deviation;
	}
	if (level.runs > 1)
		level.deviation = sqrt(squares / (double)(level.runs - 1));
	return level;
}

int prepare_levels(struct preparation *preparation)
{
	struct observations *out = preparation->out;
	size_t to;

	out->levels = calloc(preparation->count, sizeof *out->levels);
	if (!out->levels)
		return error_set(preparation->err, ENOMEM, "out of memory");
	for (size_t from = 0; from < preparation->count; from = to) {
		to = prepare_level_end(preparation, from);
		out->levels[out->count] = gather_level(preparation, from, to);
		out->runs += out->levels[out->count].runs;
		out->scatter_dof += (double)(out->levels[out->count].runs - 1);
		out->count++;
	}
	return 0;
}

/*
 * Returns the log-likelihood of the levels' deviations under the assumption that a run at level i has the variance
 * factor * shape[i]; the factor is the most likely one and is stored in *factor.
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
	/* If all runs of each level are equal to the last digit, they are copies and say nothing about noise. */
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

/*
 * If at least half of the levels have a deviation, uses these deviations, and their mean variance for the other levels.
 * Otherwise assumes that all runs have the same variance.
 */
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

int prepare_weights(struct preparation *preparation)
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
		/* Smooth the means: a level that is low by chance must not gain weight. */
		isotonic_regression(work, work + out->count, out->count, work, work + 3 * out->count);
		weigh_by_scatter(out, work, work + 2 * out->count);
	} else {
		weigh_as_given(out);
	}
	free(work);
	return 0;
}

/*
 * Returns the mean of the runs of this block in [from, to), or NAN if there are none. There are several if the sweep
 * delayed each direction separately.
 */
static double block_value(const struct preparation *preparation, size_t from, size_t to, int64_t block)
{
	double sum = 0;
	size_t count = 0;

	for (size_t i = from; i < to; i++) {
		const struct run *run = &preparation->runs[i];

		if (run->block != block || (run->outlier && preparation->settings->without_outliers))
			continue;
		sum += run->y;
		count++;
	}
	return count ? sum / (double)count : NAN;
}

int prepare_blocks(struct preparation *preparation)
{
	struct observations *out = preparation->out;
	size_t first_end = prepare_level_end(preparation, 0), to;

	if (preparation->sweep->plain)
		return 0;
	out->blocks = malloc(first_end * out->count * sizeof *out->blocks);
	if (!out->blocks)
		return error_set(preparation->err, ENOMEM, "out of memory");
	for (size_t k = 0; k < first_end; k++) {
		double *row = out->blocks + out->block_count * out->count;
		int64_t block = preparation->runs[k].block;
		size_t level = 0;
		bool complete = true;

		for (size_t earlier = 0; earlier < k && complete; earlier++)
			complete = preparation->runs[earlier].block != block;
		for (size_t from = 0; from < preparation->count && complete; from = to) {
			to = prepare_level_end(preparation, from);
			row[level] = block_value(preparation, from, to, block);
			complete = isfinite(row[level++]);
		}
		out->block_count += complete;
	}
	return 0;
}
