/* SPDX-License-Identifier: BSD-3-Clause */
/* Preparation of a sweep: from runs to levels. */
#ifndef FITTING_PREPARE_PRIV_H
#define FITTING_PREPARE_PRIV_H

#include <fitting/observations/observations.h>

/* Delays closer than this, µs, are the same level; an injector sets nanoseconds. */
#define PREPARE_SAME_LEVEL_US 1e-3

struct run {
	double x_us, value, y; /* y: normalised */
	double deviation;      /* plain form */
	double drift;          /* relative slow-down of the machine at that time, from the references; 0 = not known */
	double score;          /* robust deviations from the level's median */
	long runs, line;
	int64_t block; /* number of the run: its replicate block */
	bool outlier;
};

struct preparation {
	const struct sweep *sweep;
	const struct observation_settings *settings;
	struct observations *out;
	struct run *runs; /* in the file's order (time) during take_runs(), then by ascending x and value */
	size_t count;
	struct error *err;
};

/* End of the level that starts at run `from`. */
static inline size_t prepare_level_end(const struct preparation *preparation, size_t from)
{
	size_t to = from + 1;

	while (to < preparation->count &&
	       preparation->runs[to].x_us <= preparation->runs[from].x_us + PREPARE_SAME_LEVEL_US)
		to++;
	return to;
}

/* Fills the runs' drift if the sweep has references; the runs are in the file's order. */
int prepare_references(struct preparation *preparation);
/* Scores the runs, flags outliers and lists them in out->outliers. 0 or -ENOMEM with err set, like the next two. */
int prepare_outliers(struct preparation *preparation);
/* Collects the runs in out->levels; then computes the levels' weights. */
int prepare_levels(struct preparation *preparation);
int prepare_weights(struct preparation *preparation);
/* Collects the complete replicate blocks. */
int prepare_blocks(struct preparation *preparation);

#endif
