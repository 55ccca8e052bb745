/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A note in the injector's lock file: the delays found at the start, the ones set last, and the ones before, which the
 * injector still has if the sweep is killed before it sets the new ones.
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
/* False: there is none, it is garbage, or it is about an earlier injector at this socket. */
bool delay_note_read(int lock, const char *control, struct delay_note *note);

#endif
