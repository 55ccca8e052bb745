/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the preparation of a sweep: runs on their way to levels. */
#ifndef FITTING_PREPARE_PRIV_H
#define FITTING_PREPARE_PRIV_H

#include <fitting/observations/observations.h>

/* Delays closer than this, µs, are the same level: an injector sets nanoseconds. */
#define PREPARE_SAME_LEVEL_US 1e-3

struct run {
	double x_us, value, y; /* y: normalised */
	double deviation;      /* plain form */
	double drift; /* share of an operation's time that the machine took more than usual just then; 0 = not known */
	double score; /* robust deviations from the level's median */
	long runs, line;
	int64_t pass; /* number of the run */
	bool outlier;
};

struct preparation {
	const struct sweep *sweep;
	const struct observation_settings *settings;
	struct observations *out;
	struct run *runs; /* in the file's order, which is that of time; from take_runs() on by rising x, then value */
	size_t count;
	struct error *err;
};

/* Runs from `from` on that were made at the same delay: the first that was not. */
size_t prepare_level_end(const struct preparation *preparation, size_t from);

/* Finds the runs' drift, where the sweep has references; the runs are in the file's order. */
int prepare_references(struct preparation *preparation);
/* Scores the runs, flags the outlying ones and lists them in out->outliers. 0 or -ENOMEM with err set, as below. */
int prepare_outliers(struct preparation *preparation);
/* Gathers the runs to out->levels; then weighs the levels. */
int prepare_levels(struct preparation *preparation);
int prepare_weights(struct preparation *preparation);
/* Gathers the complete passes. */
int prepare_passes(struct preparation *preparation);

#endif
