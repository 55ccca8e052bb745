/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A note of delays in the injector's lock file: `found` at the start of the sweep; `set`, the last ones that it set;
 * and `before`, the ones before those, which the injector still has if the sweep is killed before it sets the new ones.
 */
#ifndef SWEEP_DELAY_NOTE_PRIV_H
#define SWEEP_DELAY_NOTE_PRIV_H

#include <stdbool.h>

#include "injector_client_priv.h"

struct delay_note {
	struct delay_pair found, set, before;
};

/* `lock` is injector_client_lock()'s descriptor. */
void delay_note_write(int lock, const char *control, const struct delay_note *note);
/* Returns false if there is no note, it is garbage, or it is about an earlier injector at this socket. */
bool delay_note_read(int lock, const char *control, struct delay_note *note);

#endif
