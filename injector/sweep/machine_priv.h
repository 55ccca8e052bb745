/* SPDX-License-Identifier: BSD-3-Clause */
/* The load of this machine during a run, and who makes it. */
#ifndef SWEEP_MACHINE_PRIV_H
#define SWEEP_MACHINE_PRIV_H

#include <stdbool.h>
#include <stddef.h>

#include <base/error.h>

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

struct awake;

/*
 * Keeps every processor that this process may use awake, until awake_stop() is called or this process ends. Returns
 * NULL with err set on failure.
 */
struct awake *awake_start(struct error *err);
void awake_stop(struct awake *awake); /* NULL is legal */

/* ---- poller.c ---- */

/*
 * Watches the processor of the injector with this control socket for half a second. If another process takes 5 % of it
 * or more, returns true and a text such as "nomora-injector 2653 of lab usrx uses 49 % of CPU 1, which the injector
 * polls on".
 */
bool poller_find_rival(const char *control, char *text, size_t bytes);

#endif
