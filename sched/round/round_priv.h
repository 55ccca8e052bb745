/* SPDX-License-Identifier: BSD-3-Clause */
/* Gangs (round.h). Private. */
#ifndef ROUND_PRIV_H
#define ROUND_PRIV_H

#include <sched/round/round.h>

/* Before the first solve: adds the tasks of the gangs for which there are free slots. 0 or -errno. */
int round_gangs_try(struct flownet *net, const struct round_options *options);
/*
 * After the last solve: takes out the tasks of the gangs that did not get enough slots, and their moves of the outcome.
 * failed: of all gangs that were tried. 0 or -errno.
 */
int round_gangs_settle(struct flownet *net, const struct round_options *options, bool failed,
		       struct round_outcome *outcome);

#endif
