/* SPDX-License-Identifier: BSD-3-Clause */
/* The delays of the path through the injector. */
#ifndef SWEEP_PATH_PRIV_H
#define SWEEP_PATH_PRIV_H

#include "sweeper_priv.h"

/* Returns the delays of both directions for a run at `delay_us`, by the plan's direction. Pure. */
struct delay_pair path_split_delay(const struct sweep_plan *plan, double delay_us);

/* Sets the injector's delays, and notes them in the lock file. Returns 0, or -errno with err set. */
int path_set_delay(struct sweeper *sweeper, struct delay_pair delay, struct error *err);

/*
 * Remembers the injector's delays, so that path_restore() can set them again. If the injector has delays that a killed
 * sweep set, first restores the delays that the killed sweep had found, and remembers those. Returns 0, or -errno with
 * err set.
 */
int path_find_delays(struct sweeper *sweeper, struct error *err);
void path_restore(struct sweeper *sweeper);

#endif
