/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes one run: makes attempts until the gates (plan.h) accept one, or the plan allows no more attempts. */
#ifndef SWEEP_RUN_PRIV_H
#define SWEEP_RUN_PRIV_H

#include "sweeper_priv.h"

/*
 * Returns 0 if the run's rows are on the disk or the run was left out (on-failure); -EINTR if stopped, or another
 * -errno, with err set.
 */
int run_make(struct sweeper *sweeper, const struct sweep_schedule_run *run, struct error *err);

#endif
