/* SPDX-License-Identifier: BSD-3-Clause */
/* Flags outliers. The later steps leave them out if the settings say so. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <base/quantile.h>

#include "prepare_priv.h"

/*
 * Runs are outliers if they are more than this many robust deviations from their level's median: 1 in 150,000 runs of
 * normal noise.
 */
static const double outlier_deviations = 4.5;
/* Standard deviation divided by median absolute deviation, for normal noise. */
static const double mad_to_deviation = 1.4826;
/*
 * Returns the middle value of a level's runs. It is their median, because they are sorted by value, and normalisation
 * keeps or reverses this order. If drift was corrected, it is only close to the median: the correction differs between
 * runs.
 */
static double level_median(const struct run *runs, size_t count)
{
	return count % 2 ? runs[count / 2].y : (runs[count / 2 - 1].y + runs[count / 2].y) / 2;
}

/*
 * Flags the outliers of a level, unless half of its runs or more would be flagged: such a level is bimodal and has no
 * outliers.
 */
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
	quantile_sort(distances, count);
	return mad_to_deviation * distances[count / 2];
}

/*
 * Scores each run by its distance from its level's median, in robust deviations that are pooled over all levels (a
 * single level has too few runs). In a level with an odd number of runs, the middle run is the median itself, so it is
 * not counted. Noise may be constant or proportional to performance; a run must be an outlier under both assumptions.
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

		to = prepare_level_end(preparation, from);
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

		to = prepare_level_end(preparation, from);
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

int prepare_outliers(struct preparation *preparation)
{
	int rc = flag_outliers(preparation);

	return rc ? rc : list_outliers(preparation);
}
