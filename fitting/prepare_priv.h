/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the preparation of a sweep: runs on their way to levels. */
#ifndef FITTING_PREPARE_PRIV_H
#define FITTING_PREPARE_PRIV_H

#include <fitting/observations.h>

struct run {
	double x_us, value, y; /* y: normalised */
	double deviation;      /* plain form */
	double score;          /* robust deviations from the level's median */
	long runs, line;
	int64_t pass; /* number of the run */
	bool outlier;
};

struct preparation {
	const struct sweep *sweep;
	const struct observation_settings *settings;
	struct observations *out;
	struct run *runs; /* by rising x, then value */
	size_t count;
	struct error *err;
};

/* Runs from `from` on that were made at the same delay: the first that was not. */
size_t prepare_level_end(const struct preparation *preparation, size_t from);

/* Scores the runs, flags the outlying ones and lists them in out->outliers. 0 or -ENOMEM with err set, as below. */
int prepare_outliers(struct preparation *preparation);
/* Gathers the runs to out->levels; then weighs the levels. */
int prepare_levels(struct preparation *preparation);
int prepare_weights(struct preparation *preparation);
/* Gathers the complete passes. */
int prepare_passes(struct preparation *preparation);

#endif
