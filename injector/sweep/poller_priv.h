/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds other processes on the processor that the injector polls on. */
#ifndef SWEEP_POLLER_PRIV_H
#define SWEEP_POLLER_PRIV_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Watches the processor of the injector with this control socket for half a second. If another process takes 5 % of it
 * or more, returns true and a text such as "nomora-injector 2653 of lab usrx uses 49 % of CPU 1, which the injector
 * polls on".
 */
bool poller_find_rival(const char *control, char *text, size_t bytes);

#endif
