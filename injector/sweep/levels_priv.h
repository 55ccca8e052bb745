/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes how well the runs at each delay agree, from the rows on the disk, which include those of earlier sessions. A
 * level is the set of all runs at one delay; it is repeatable if the standard error of the mean is within the plan's
 * precision.
 */
#ifndef SWEEP_LEVELS_PRIV_H
#define SWEEP_LEVELS_PRIV_H

#include "sweeper_priv.h"

/* Statistics of the first metric's values at one delay, over all rows of the file. */
struct sweep_level {
	double delay_us;
	int64_t runs, next_run; /* number of runs; the next free run number */
	int64_t next_reference; /* the next free run number for a reference between extra runs */
	double mean, deviation; /* deviation: standard deviation of the values */
};

/* Returns true if the plan's OUTPUT file has rows after its header. */
bool levels_has_rows(const struct sweeper *sweeper);

/* Returns the standard error of the mean, in percent of the mean; INFINITY if it is not known. Pure. */
double level_error_percent(const struct sweep_level *level);
bool level_is_repeatable(const struct sweep_plan *plan, const struct sweep_level *level);
/*
 * Schedules one more run for each delay that is not precise enough, unless it already has twice the plan's repetitions,
 * and references between these runs. Returns the number of runs scheduled, or -errno with err set.
 */
int levels_schedule_extra(struct sweeper *sweeper, struct error *err);
/* Writes each level to the journal, and reports those that are not repeatable. Returns 0, or -errno with err set. */
int levels_conclude(struct sweeper *sweeper, struct error *err);

#endif
