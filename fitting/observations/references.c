/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sweep's references are runs at delay 0 between the others (model/sweep.h). How fast the machine was at a run is
 * told by those at delay 0 before and behind it. What a slow machine adds to an operation it adds at every delay alike,
 * while the delay itself is as long as ever: so it is the time of an operation that is mended, by a difference; a rate
 * is the inverse of one. (A ratio would carry all of the drift to long delays, where hardly any of it is.) A run at
 * delay 0 is no reference to itself, so that what these still deviate is what the references do not tell.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "prepare_priv.h"

/* Of a run's time no more than this share is taken for drift: what is left has to be a time. */
static const double share_most = 0.5;

static bool has_references(const struct preparation *preparation)
{
	for (size_t i = 0; i < preparation->count; i++)
		if (preparation->runs[i].block >= SWEEP_REFERENCE_RUN)
			return true;
	return false;
}

/* Of an operation, in the metric's unit or its inverse; not finite for a rate of 0. */
static double time_of(const struct preparation *preparation, size_t run)
{
	double value = preparation->runs[run].value;

	return preparation->out->metric.better == SWEEP_LOWER ? value : 1 / value;
}

static bool is_reference(const struct preparation *preparation, size_t run)
{
	return preparation->runs[run].x_us <= PREPARE_SAME_LEVEL_US && isfinite(time_of(preparation, run));
}

/* Fills neighbour[i] with the time of the last reference before run i, or behind it; NAN where there is none. */
static void find_beside(const struct preparation *preparation, bool behind, double *neighbour)
{
	double latest = NAN;

	for (size_t k = 0; k < preparation->count; k++) {
		size_t i = behind ? preparation->count - 1 - k : k;

		neighbour[i] = latest;
		if (is_reference(preparation, i))
			latest = time_of(preparation, i);
	}
}

static double mean_known(double one, double other)
{
	return isnan(one) ? other : isnan(other) ? one : (one + other) / 2;
}

static double mean_time(const struct preparation *preparation)
{
	double sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < preparation->count; i++) {
		if (!is_reference(preparation, i))
			continue;
		sum += time_of(preparation, i);
		count++;
	}
	return sum / (double)count;
}

int prepare_references(struct preparation *preparation)
{
	double *before, *behind, usual;

	if (preparation->sweep->plain || !has_references(preparation))
		return 0;
	before = calloc(2 * preparation->count, sizeof *before);
	if (!before)
		return error_set(preparation->err, ENOMEM, "out of memory");
	behind = before + preparation->count;
	find_beside(preparation, false, before);
	find_beside(preparation, true, behind);
	usual = mean_time(preparation);
	for (size_t i = 0; i < preparation->count; i++) {
		double took = time_of(preparation, i);
		double drift = mean_known(before[i], behind[i]) - usual;

		/* No time where the rate is 0, no drift where there is but one run at delay 0. */
		if (isfinite(took) && isfinite(drift) && took > 0)
			preparation->runs[i].drift = fmin(drift / took, share_most);
	}
	free(before);
	preparation->out->drift_taken_off = true;
	return 0;
}
