/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sweep made ready for fitting: one metric, normalised to the baseline at delay 0 (a time becomes baseline/time),
 * gathered by delay level. Outlying runs are flagged by the median absolute deviation, never dropped unless asked.
 * Weights come from the scatter within levels: constant or proportional to performance, whichever is likelier; single
 * levels' deviations, noisy when a level has a few runs, are not used as they stand unless they are all there is.
 * Runs of one number were made in one pass over the levels: what they have in common is drift. Where the sweep has
 * references (model/sweep.h), what the runs at delay 0 beside a run took more than usual is taken off it first.
 * Performance is dimensionless, x is the added round trip in µs. Not shared between threads.
 */
#ifndef FITTING_OBSERVATIONS_H
#define FITTING_OBSERVATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>
#include <model/sweep.h>

enum observation_noise {
	NOISE_CONSTANT,
	NOISE_PROPORTIONAL, /* deviation goes with performance */
	NOISE_GIVEN,        /* the file's deviations */
};

struct observation_level {
	double x_us;
	double mean;      /* of the runs, normalised */
	double deviation; /* of one run; 0 with a single run */
	double weight;    /* runs / variance of one run: what the mean is worth */
	long runs, outliers;
	long line; /* of the level's first row */
};

struct observation_outlier {
	long line;
	double x_us, value, normalised, deviations; /* how many robust deviations from its level's median */
};

struct observations {
	struct sweep_metric metric;
	bool baseline_known; /* plain form: performance is normalised already, 1 is the baseline exactly */
	double baseline_value, baseline_deviation; /* of the metric, in its unit */
	bool drift_taken_off;                      /* by references */
	enum observation_noise noise;
	double run_deviation; /* typical deviation of one run, normalised; 0 = not known */
	size_t count;
	struct observation_level *levels; /* by rising x */
	size_t outlier_count;
	struct observation_outlier *outliers;
	/* Complete passes, runs of one number that every level has: pass_count rows of count, normalised. */
	size_t block_count;
	double *blocks;
	long runs;             /* all of them */
	double scatter;        /* weighted sum of squares of the runs about their levels' means */
	double scatter_dof;    /* runs - levels, where several runs were made */
	bool without_outliers; /* were left out */
};

struct observation_settings {
	const char *metric;    /* NULL = the sweep's first */
	bool without_outliers; /* leave flagged runs out of the fit */
	bool absolute_sigma;   /* the file's deviations are taken at their word */
};

/* 0 or -errno with err set (file, line, field). Free with observations_free(). */
int observations_prepare(const struct sweep *sweep, const struct observation_settings *settings,
			 struct observations *observations, struct error *err);
void observations_free(struct observations *observations); /* of a zeroed or filled one */

#endif
