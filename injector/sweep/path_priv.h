/* SPDX-License-Identifier: BSD-3-Clause */
/* The path through the injector: its delays. */
#ifndef SWEEP_PATH_PRIV_H
#define SWEEP_PATH_PRIV_H

#include "sweeper_priv.h"

/* The delays of both directions for a run at `delay_us`, by the plan's direction. Pure. */
struct delay_pair path_split_delay(const struct sweep_plan *plan, double delay_us);

/* Sets the injector's delays, and notes them in the lock's file. 0 or -errno with err set. */
int path_set_delay(struct sweeper *sweeper, struct delay_pair delay, struct error *err);

/*
 * Notes the injector's delays, which path_restore() sets again. If they are left from a sweep that was killed, sets and
 * notes the ones that that sweep found. 0 or -errno with err set.
 */
int path_find_delays(struct sweeper *sweeper, struct error *err);
void path_restore(struct sweeper *sweeper);

#endif
