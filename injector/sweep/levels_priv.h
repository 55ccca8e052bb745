/* SPDX-License-Identifier: BSD-3-Clause */
/* The agreement of the runs at each delay, from the rows on the disk, which include those of earlier sessions. */
#ifndef SWEEP_LEVELS_PRIV_H
#define SWEEP_LEVELS_PRIV_H

#include "sweeper_priv.h"

/* The file's values of the first metric at one delay. */
struct sweep_level {
	double delay_us;
	int64_t runs, next_run; /* their number, and the number after the highest */
	int64_t next_reference; /* among references made for precision: the number after the highest */
	double mean, deviation; /* standard deviation of a run */
};

/* True if OUTPUT has more than its header. */
bool levels_has_rows(const struct sweeper *sweeper);

/* Standard error of the mean, in percent of it; INFINITY where it is not known. Pure. */
double level_error_percent(const struct sweep_level *level);
bool level_is_repeatable(const struct sweep_plan *plan, const struct sweep_level *level);
/*
 * Schedules one more run for each delay that is not precise enough, unless it has twice the plan's repetitions. Returns
 * their number, or -errno with err set.
 */
int levels_schedule_extra(struct sweeper *sweeper, struct error *err);
/* Writes each level to the journal, and reports those that are not repeatable. 0 or -errno with err set. */
int levels_conclude(struct sweeper *sweeper, struct error *err);

#endif
