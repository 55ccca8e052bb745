/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the processors from idling. */
#ifndef SWEEP_AWAKE_PRIV_H
#define SWEEP_AWAKE_PRIV_H

#include <base/error.h>

struct awake;

/*
 * Keeps every processor that this process may use awake, until awake_stop() is called or this process ends. Returns
 * NULL with err set on failure.
 */
struct awake *awake_start(struct error *err);
void awake_stop(struct awake *awake); /* NULL is legal */

#endif
