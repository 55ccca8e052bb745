/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prepares one metric of a sweep for fitting: normalises it to the baseline at delay 0 (a time becomes baseline/time)
 * and collects the runs by delay level. Flags outliers by the median absolute deviation; leaves them out only if the
 * settings say so.
 *
 * Weights come from the scatter within levels, pooled over all levels: the deviation is constant or proportional to
 * performance, whichever is more likely. The deviations of the single levels are used only if no level has repeated
 * runs, or if the settings say so (absolute_sigma).
 *
 * Runs of the same number form a replicate block: they were made in one pass over the levels and share the machine's
 * drift. If the sweep has references (model/sweep.h), each run is first corrected for drift: the references before and
 * after it show how much slower than usual the machine was. Performance is dimensionless; x is the added round trip in
 * µs. One thread per object.
 */
#ifndef FITTING_OBSERVATIONS_H
#define FITTING_OBSERVATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>
#include <model/sweep.h>

enum observation_noise {
	NOISE_CONSTANT,
	NOISE_PROPORTIONAL, /* the deviation is proportional to performance */
	NOISE_GIVEN,        /* each level has its own deviation */
};

struct observation_level {
	double x_us;
	double mean;      /* mean of the runs, normalised */
	double deviation; /* standard deviation of one run; 0 = not known */
	double weight;    /* number of runs / variance of one run: the inverse variance of the mean */
	long runs, outliers;
	long line; /* line of the level's first row in the file */
};

struct observation_outlier {
	long line;
	/* deviations: distance from the level's median, in robust standard deviations */
	double x_us, value, normalised, deviations;
};

struct observations {
	struct sweep_metric metric;
	bool baseline_known;                       /* plain form (sweep.h): the baseline is exactly 1 */
	double baseline_value, baseline_deviation; /* of the metric at delay 0, in its unit */
	bool drift_taken_off;                      /* the runs were corrected by references */
	enum observation_noise noise;
	double run_deviation; /* typical deviation of one run, normalised; 0 = not known */
	size_t count;
	struct observation_level *levels; /* in ascending order of x */
	size_t outlier_count;
	struct observation_outlier *outliers;
	/*
	 * Complete replicate blocks. A block is the runs with the same number; it is complete if every level has such a
	 * run. block_count rows of `count` values, normalised.
	 */
	size_t block_count;
	double *blocks;
	long runs;              /* number of runs used */
	long disturbed;         /* number of used runs that failed a check of the sweep (disturbed runs) */
	double baseline_rtt_us; /* round trip of the testbed, measured by the sweep; NAN = not known */
	double scatter;         /* weighted sum of squares of the runs about their levels' means */
	double scatter_dof;     /* degrees of freedom of `scatter`: runs - levels; 0 without repeated runs */
	bool without_outliers;  /* outliers were left out */
};

struct observation_settings {
	const char *metric;     /* NULL = the sweep's first */
	bool without_outliers;  /* leave outliers out of the fit */
	bool without_disturbed; /* leave out disturbed runs, which failed a check of the sweep */
	bool absolute_sigma;    /* use the file's deviations as they are */
};

/* Returns 0 or -errno with err set (file, line, field). Free with observations_free(). */
int observations_prepare(const struct sweep *sweep, const struct observation_settings *settings,
			 struct observations *observations, struct error *err);
void observations_free(struct observations *observations); /* zeroed or filled */

/* Isotonic regression and monotone interpolation. Pure functions; the arrays belong to the caller. */

/*
 * Weighted least squares with fitted[0] >= fitted[1] >= ...: pool adjacent violators (Barlow et al. 1972), in linear
 * time.
 * Weights must be positive. `fitted` may be the same array as y; work has 3 * count elements. Returns the number of
 * pools.
 */
size_t isotonic_regression(const double *y, const double *weight, size_t count, double *fitted, double *work);

/*
 * Computes the slopes of a monotone piecewise cubic Hermite interpolant through (x, y), with x strictly ascending
 * (Fritsch & Butland 1984): the curve is monotone where y is, without overshoot.
 */
void monotone_slopes(const double *x, const double *y, size_t count, double *slopes);

/* Returns the interpolant at x = `at`; it is constant outside x[0]..x[count - 1]. count >= 1. */
double monotone_interpolate(const double *x, const double *y, const double *slopes, size_t count, double at);

#endif
