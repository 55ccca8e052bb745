/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the round trip of the application's path without added delay. It uses our own STAMP prober (nomora reflect,
 * nomora probe), so that the result is comparable with a mesh, which the same prober measures.
 */
#ifndef SWEEP_BASELINE_PRIV_H
#define SWEEP_BASELINE_PRIV_H

#include "sweeper_priv.h"

/*
 * Sets sweeper->baseline_rtt_us to the median round trip between the client's and the server's address while the
 * injector adds no delay. Sets NAN if the plan lacks an address or has no-baseline; also if the measurement fails, and
 * then reports the reason. Returns 0, or -EINTR with err set if stopped.
 */
int baseline_measure(struct sweeper *sweeper, struct error *err);

/*
 * Finds the interface in the output of "ip -o route get". Returns false if there is none, or it is the loopback. Pure.
 */
bool baseline_parse_route(const char *output, char *interface, size_t bytes);

#endif
