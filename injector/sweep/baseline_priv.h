/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The round trip of the application's path without added delay, by our own STAMP prober (nomora reflect, nomora probe),
 * so that it compares with the round trips of a mesh that the same prober measured.
 */
#ifndef SWEEP_BASELINE_PRIV_H
#define SWEEP_BASELINE_PRIV_H

#include "sweeper_priv.h"

/*
 * Measures the median round trip between the client's and the server's address while the injector adds no delay, into
 * sweeper->baseline_rtt_us: NAN, with a line for people, where it cannot be measured. -EINTR when stopped, else 0.
 */
int baseline_measure(struct sweeper *sweeper, struct error *err);

/* The interface in the output of "ip -o route get"; false if there is none, or it is the loopback. Pure. */
bool baseline_parse_route(const char *output, char *interface, size_t bytes);

#endif
