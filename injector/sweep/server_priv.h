/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan's server process. */
#ifndef SWEEP_SERVER_PRIV_H
#define SWEEP_SERVER_PRIV_H

#include "sweeper_priv.h"

/* Starts the server and waits until server-ready succeeds. 0 or -errno with err set; the server is stopped then. */
int server_start(struct sweeper *sweeper, struct error *err);
/* Asks it to end, kills it after a grace period, and waits for its end, at the other end of ssh too. */
void server_stop(struct sweeper *sweeper);

#endif
