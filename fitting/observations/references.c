/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Corrects drift by reference runs (model/sweep.h): runs at delay 0 between the others. The references before and after
 * a run show how slow the machine was at that time. A slow machine adds the same time to an operation at every delay.
 * So a time is subtracted from the time of an operation (the metric, or its inverse if it is a rate). Division by a
 * ratio would correct too much at long delays, where the added time is a small part. A run at delay 0 is not its own
 * reference, so that the corrected runs at delay 0 still scatter by the drift that references do not show.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "prepare_priv.h"

/* Largest share of a run's time that counts as drift; the rest must stay positive. */
static const double share_most = 0.5;

static bool has_references(const struct preparation *preparation)
{
	for (size_t i = 0; i < preparation->count; i++)
		if (preparation->runs[i].block >= SWEEP_REFERENCE_RUN)
			return true;
	return false;
}

/* Returns the time of an operation, in the metric's unit or its inverse; not finite for a rate of 0. */
static double time_of(const struct preparation *preparation, size_t run)
{
	double value = preparation->runs[run].value;

	return preparation->out->metric.better == SWEEP_LOWER ? value : 1 / value;
}

static bool is_reference(const struct preparation *preparation, size_t run)
{
	return preparation->runs[run].x_us <= PREPARE_SAME_LEVEL_US && isfinite(time_of(preparation, run));
}

/* Sets neighbour[i] to the time of the nearest reference before (or after) run i, or to NAN if there is none. */
static void find_neighbours(const struct preparation *preparation, bool after, double *neighbour)
{
	double latest = NAN;

	for (size_t k = 0; k < preparation->count; k++) {
		size_t i = after ? preparation->count - 1 - k : k;

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
	find_neighbours(preparation, false, before);
	find_neighbours(preparation, true, behind);
	usual = mean_time(preparation);
	for (size_t i = 0; i < preparation->count; i++) {
		double took = time_of(preparation, i);
		double drift = mean_known(before[i], behind[i]) - usual;

		/* The drift is not known if the rate is 0, or if there is no other run at delay 0. */
		if (isfinite(took) && isfinite(drift) && took > 0)
			preparation->runs[i].drift = fmin(drift / took, share_most);
	}
	free(before);
	preparation->out->drift_taken_off = true;
	return 0;
}
