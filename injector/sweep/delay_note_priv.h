/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A note of an injector's delays in the injector's lock file, for the case that the sweep is killed:
 * - found: the delays at the start of the sweep
 * - set: the delays that the sweep set last
 * - before: the delays that the injector had before the sweep set those
 * The note is written before the delays are set. If the sweep is killed in between, the injector still has the delays
 * in `before`.
 */
#ifndef SWEEP_DELAY_NOTE_PRIV_H
#define SWEEP_DELAY_NOTE_PRIV_H

#include <stdbool.h>

#include "injector_client_priv.h"

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
