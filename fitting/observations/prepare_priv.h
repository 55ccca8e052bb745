/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of preparing a sweep: from runs to levels. */
#ifndef FITTING_PREPARE_PRIV_H
#define FITTING_PREPARE_PRIV_H

#include <fitting/observations/observations.h>

/* Delays that differ by less than this, µs, are the same level; an injector sets delays in nanoseconds. */
#define PREPARE_SAME_LEVEL_US 1e-3

struct run {
	double x_us, value, y; /* y: normalised */
	double deviation;      /* standard deviation of y; only in the plain form */
	/* share of the run's time that was caused by drift of the machine, from the references; 0 = not known */
	double drift;
	double score;    /* distance from the level's median, in robust deviations */
	long runs, line; /* number of runs in the row (plain form; else 1); line of the row in the file */
	int64_t block;   /* number of the run, which is its replicate block */
	bool outlier;
};

struct preparation {
	const struct sweep *sweep;
	const struct observation_settings *settings;
	struct observations *out;
	struct run *runs; /* first in the order of the file, which is that of time; later by ascending x and value */
	size_t count;
	struct error *err;
};

/* Returns the end of the level that starts at run `from`. */
static inline size_t prepare_level_end(const struct preparation *preparation, size_t from)
{
	size_t to = from + 1;

	while (to < preparation->count &&
	       preparation->runs[to].x_us <= preparation->runs[from].x_us + PREPARE_SAME_LEVEL_US)
		to++;
	return to;
}

/* If the sweep has references, sets the runs' drift; the runs must be in the file's order. */
int prepare_references(struct preparation *preparation);
/*
 * Call these after normalisation, in the order below. They return 0, or -ENOMEM with err set.
 * - prepare_outliers() scores the runs, flags outliers and lists them in out->outliers.
 * - prepare_levels() collects the runs in out->levels.
 * - prepare_weights() computes the levels' weights.
 * - prepare_blocks() collects the complete replicate blocks.
 */
int prepare_outliers(struct preparation *preparation);
int prepare_levels(struct preparation *preparation);
int prepare_weights(struct preparation *preparation);
int prepare_blocks(struct preparation *preparation);

#endif
