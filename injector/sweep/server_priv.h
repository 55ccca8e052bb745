/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan's server process. */
#ifndef SWEEP_SERVER_PRIV_H
#define SWEEP_SERVER_PRIV_H

#include "sweeper_priv.h"

/*
 * Starts the server and waits until server-ready succeeds. Returns 0, or -errno with err set; the server is then
 * stopped.
 */
int server_start(struct sweeper *sweeper, struct error *err);
/* Asks the server to end, kills it after a grace period, and waits for its end, also on an ssh host. */
void server_stop(struct sweeper *sweeper);

#endif
