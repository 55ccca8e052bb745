/* SPDX-License-Identifier: BSD-3-Clause */
/* The load of this machine during a run. */
#ifndef SWEEP_MACHINE_PRIV_H
#define SWEEP_MACHINE_PRIV_H

#include <stddef.h>

struct machine_state {
	double total_ticks, steal_ticks;  /* time of all processors since boot; the stolen part of it */
	double our_ticks, our_free_ticks; /* time of our processors (those that this process may use) since boot; the
					     idle or niced part of it */
	int our_processors;               /* number of those processors */
	double load;                      /* 1-minute average */
};

/* Fills *state; values that cannot be read from /proc are 0. */
void machine_state_read(struct machine_state *state);

/* Returns the share of the processors' time that the hypervisor took between two states, percent. */
double machine_steal_percent(const struct machine_state *before, const struct machine_state *after);

#endif
