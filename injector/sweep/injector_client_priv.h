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

/*
 * Reads the state of the injector with this control socket. Returns 0, or -errno with err set; -EBUSY if one of the
 * injector's modes sets the delay.
 */
int injector_client_read(const char *control, struct injector_state_totals *state, struct error *err);
int injector_client_set(const char *control, struct delay_pair delay, struct error *err);
bool injector_client_has_delay(const struct injector_state_totals *state, struct delay_pair delay);

/* Parses the answer to "stats". Pure; `control` is only for messages. */
int injector_client_parse(const char *control, const json_t *answer, struct injector_state_totals *state,
			  struct error *err);

/*
 * Locks this injector against other sweeps, in all network namespaces. Returns 0 and in *lock a descriptor for
 * injector_client_unlock() and the delay notes, or -errno with err set; with -EBUSY, err names the process that holds
 * the lock.
 */
int injector_client_lock(const char *control, int *lock, struct error *err);
void injector_client_unlock(const char *control, int lock);

/*
 * A note of an injector's delays in the injector's lock file, for the case that the sweep is killed:
 * - found: the delays at the start of the sweep
 * - set: the delays that the sweep set last
 * - before: the delays that the injector had before the sweep set those
 * The note is written before the delays are set. If the sweep is killed in between, the injector still has the delays
 * in `before`.
 */

struct delay_note {
	struct delay_pair found, set, before;
};

/* Writes the note. `lock` is the descriptor from injector_client_lock(), `control` the injector's control socket. */
void delay_note_write(int lock, const char *control, const struct delay_note *note);
/*
 * Reads the note. Returns false if there is no valid note, or it was written for an earlier injector with this control
 * socket.
 */
bool delay_note_read(int lock, const char *control, struct delay_note *note);

#endif
