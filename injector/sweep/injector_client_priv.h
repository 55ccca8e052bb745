/* SPDX-License-Identifier: BSD-3-Clause */
/* The sweep's requests to a running injector, and the lock that keeps other sweeps from it. */
#ifndef SWEEP_INJECTOR_CLIENT_PRIV_H
#define SWEEP_INJECTOR_CLIENT_PRIV_H

#include <stdbool.h>

#include <base/error.h>
#include <model/injector_state.h>

/* Delays of both directions, µs. */
struct delay_pair {
	double ab_us, ba_us;
};

/* The state of the injector with this control socket. 0 or -errno with err set; -EBUSY if it sets its delay itself. */
int injector_client_read(const char *control, struct injector_state_totals *state, struct error *err);
int injector_client_set(const char *control, struct delay_pair delay, struct error *err);
bool injector_client_has_delay(const struct injector_state_totals *state, struct delay_pair delay);

/* From the answer to "stats". Pure; `control` is named in messages. */
int injector_client_parse(const char *control, const json_t *answer, struct injector_state_totals *state,
			  struct error *err);

/*
 * Locks out other sweeps from this injector, in any network namespace. 0 and a descriptor for injector_client_unlock()
 * and the delay notes, or -errno with err set: -EBUSY names the process that holds it.
 */
int injector_client_lock(const char *control, int *lock, struct error *err);
void injector_client_unlock(const char *control, int lock);

#endif
